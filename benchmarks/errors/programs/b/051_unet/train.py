#!/usr/bin/env python
# coding: utf-8

# # Cell segmentation with a small U-Net

# In[ ]:


import os

os.environ["KERAS_BACKEND"] = "jax"

import cv2
import keras
import numpy as np
from keras import layers

SIZE = 90
BATCH = 8


# In[ ]:


def draw_cells(n, seed=0):
    rng = np.random.default_rng(seed)
    images = np.zeros((n, SIZE, SIZE, 1), "float32")
    masks = np.zeros_like(images)
    for i in range(n):
        canvas = np.zeros((SIZE, SIZE), np.uint8)
        for _ in range(rng.integers(2, 6)):
            centre = tuple(int(v) for v in rng.integers(10, SIZE - 10, 2))
            cv2.circle(canvas, centre, int(rng.integers(4, 10)), 255, -1)
        masks[i, ..., 0] = canvas / 255
        images[i, ..., 0] = masks[i, ..., 0] * 0.6 + rng.normal(0.2, 0.1, (SIZE, SIZE))
    return images, masks


x_train, y_train = draw_cells(48)
x_val, y_val = draw_cells(16, seed=1)


# In[ ]:


def double_conv(x, filters):
    for _ in range(2):
        x = layers.Conv2D(filters, 3, padding="same", activation="relu")(x)
    return x


def unet(filters=(8, 16, 32)):
    inputs = keras.Input((SIZE, SIZE, 1))
    x, skips = inputs, []
    for f in filters:
        x = double_conv(x, f)
        skips.append(x)
        x = layers.MaxPooling2D(2)(x)
    x = double_conv(x, filters[-1] * 2)
    for f, skip in zip(reversed(filters), reversed(skips)):
        x = layers.Conv2DTranspose(f, 2, strides=2, padding="same")(x)
        x = layers.Concatenate()([x, skip])
        x = double_conv(x, f)
    outputs = layers.Conv2D(1, 1, activation="sigmoid")(x)
    return keras.Model(inputs, outputs)


# In[ ]:


model = unet()
model.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])
model.fit(x_train, y_train, validation_data=(x_val, y_val), epochs=2, batch_size=BATCH, verbose=2)
