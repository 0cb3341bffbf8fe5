import math

import keras
import numpy as np


class ParkingLots(keras.utils.PyDataset):
    """Aerial patches with the occupancy of eight slots and one oriented box."""

    def __init__(self, file, batch_size=16, shuffle=True, **kwargs):
        super().__init__(**kwargs)
        with np.load(file) as arrays:
            self.images = arrays["images"]
            self.occupied = arrays["occupied"]
            self.boxes = arrays["boxes"]
        self.batch_size = batch_size
        self.order = np.arange(len(self.images))
        self.shuffle = shuffle
        self.on_epoch_end()

    def on_epoch_end(self):
        if self.shuffle:
            np.random.default_rng(0).shuffle(self.order)

    def __len__(self):
        return math.ceil(len(self.order) / self.batch_size)

    def __getitem__(self, idx):
        rows = self.order[idx * self.batch_size:(idx + 1) * self.batch_size]
        targets = {"slots": self.occupied[rows], "boxes": self.boxes[rows]}
        return self.images[rows].astype("float32") / 255.0, targets
