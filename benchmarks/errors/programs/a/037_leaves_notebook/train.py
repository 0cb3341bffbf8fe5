#!/usr/bin/env python
# coding: utf-8

# # Leaf diseases
# Resize the photos in parallel, then train a small CNN.

# In[1]:

import multiprocessing
import os
import tempfile
from concurrent.futures import ProcessPoolExecutor

import cv2
import numpy as np

# In[2]:

SIZE = 48
photo_dir = tempfile.mkdtemp(prefix="leaves_")
rng = np.random.default_rng(0)
for i in range(60):
    photo = np.full((120, 160, 3), (40, 160, 60), np.uint8)
    if i % 2:
        for _ in range(6):
            spot = (int(rng.integers(160)), int(rng.integers(120)))
            cv2.circle(photo, spot, 9, (20, 60, 110), -1)
    cv2.imwrite(os.path.join(photo_dir, f"leaf_{i:03d}_{i % 2}.jpg"), photo)

# In[3]:


def load_photo(path):
    photo = cv2.imread(path)
    photo = cv2.resize(photo, (SIZE, SIZE), interpolation=cv2.INTER_AREA)
    return photo.astype("float32") / 255.0, int(path.rsplit("_", 1)[1][0])


# In[4]:

paths = sorted(os.path.join(photo_dir, f) for f in os.listdir(photo_dir))
context = multiprocessing.get_context("spawn")
with ProcessPoolExecutor(max_workers=2, mp_context=context) as pool:
    photos = list(pool.map(load_photo, paths, chunksize=10))

x = np.stack([p for p, _ in photos])
y = np.array([label for _, label in photos])
print(x.shape, y.mean())

# In[5]:

import keras
from keras import layers

model = keras.Sequential([
    layers.Input((SIZE, SIZE, 3)),
    layers.Conv2D(16, 3, activation="relu"),
    layers.MaxPooling2D(),
    layers.Conv2D(32, 3, activation="relu"),
    layers.GlobalAveragePooling2D(),
    layers.Dense(1, activation="sigmoid"),
])
model.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])

# In[6]:

history = model.fit(x, y, validation_split=0.2, epochs=3, batch_size=12)
