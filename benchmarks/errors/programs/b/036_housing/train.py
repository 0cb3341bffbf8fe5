#!/usr/bin/env python
# coding: utf-8

# In[1]:


import os
import tempfile

import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

np.random.seed(0)
torch.manual_seed(0)


# In[2]:


csv_path = os.path.join(tempfile.mkdtemp(), "housing.csv")
n = 600
pd.DataFrame({
    "rooms": np.random.randint(1, 8, n),
    "area": np.random.normal(90, 25, n).round(1),
    "age": np.random.randint(0, 80, n),
    "dist_center": np.random.exponential(5, n).round(2),
    "price": np.random.normal(250, 60, n).round(1),
}).to_csv(csv_path, index=False)


# In[3]:


df = pd.read_csv(csv_path)
df.describe()


# In[4]:


cols = ["rooms", "area", "age", "dist_center"]
X = df[cols].values.astype("float32")
y = (df["price"].values / 100).astype("float32").reshape(-1, 1)

mu, sd = df[cols].mean().values, df[cols].std().values
X = (X - mu) / sd


# In[5]:


train_ds = TensorDataset(torch.from_numpy(X[:480]), torch.from_numpy(y[:480]))
val_ds = TensorDataset(torch.from_numpy(X[480:]), torch.from_numpy(y[480:]))
train_loader = DataLoader(train_ds, batch_size=64, shuffle=True)
val_loader = DataLoader(val_ds, batch_size=64)


# In[6]:


class Regressor(nn.Module):
    def __init__(self, d_in):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d_in, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x):
        return self.net(x)


model = Regressor(len(cols))
loss_fn = nn.MSELoss()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)


# In[7]:


history = []
for epoch in range(10):
    for xb, yb in train_loader:
        pred = model(xb)
        loss = loss_fn(pred, yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
    history.append(loss.item())
print(history)
