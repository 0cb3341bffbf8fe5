# %% [markdown]
# # Digit classifier
# Week 3 exercise. We train a small CNN on 28x28 grey images.

# %%
import gzip
import os
import tempfile

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from models import SmallCNN

torch.manual_seed(42)
BATCH = 32
EPOCHS = 2

# %%
# The images live in one idx-like gz file, as in the original distribution.
folder = tempfile.mkdtemp()
rng = np.random.default_rng(0)
with gzip.open(os.path.join(folder, "digits.gz"), "wb") as f:
    f.write(rng.integers(0, 256, (512, 28, 28), dtype=np.uint8).tobytes())
targets = rng.integers(0, 10, 512)

# %%
with gzip.open(os.path.join(folder, "digits.gz"), "rb") as f:
    raw = np.frombuffer(f.read(), dtype=np.uint8).reshape(-1, 1, 28, 28)
images = torch.tensor(raw, dtype=torch.float32) / 255.0
images = (images - images.mean()) / images.std()
labels = torch.tensor(targets, dtype=torch.long)
print("images", tuple(images.shape), "labels", tuple(labels.shape))

split = 400
train_dl = DataLoader(TensorDataset(images[:split], labels[:split]), batch_size=BATCH, shuffle=True)
test_dl = DataLoader(TensorDataset(images[split:], labels[split:]), batch_size=BATCH)

# %%
model = SmallCNN()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
n_params = sum(p.numel() for p in model.parameters())
print(f"{n_params:,} parameters")

# %%
for epoch in range(EPOCHS):
    model.train()
    for xb, yb in train_dl:
        optimizer.zero_grad()
        out = model(xb)
        loss = criterion(out, yb)
        loss.backward()
        optimizer.step()
    model.eval()
    correct = 0
    with torch.no_grad():
        for xb, yb in test_dl:
            correct += (model(xb).argmax(dim=1) == yb).sum().item()
    print(f"Epoch {epoch + 1}: loss={loss.item():.4f} test acc={correct / (512 - split):.3f}")
