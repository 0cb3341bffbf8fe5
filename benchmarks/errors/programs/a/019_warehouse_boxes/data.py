import json
import pathlib

import cv2
import keras
import numpy as np


class PalletDataset(keras.utils.PyDataset):
    """Images named in the annotation file, with one pallet box each."""

    def __init__(self, root, batch_size, image_size=72, **kwargs):
        super().__init__(**kwargs)
        self.root = pathlib.Path(root)
        self.batch_size = batch_size
        self.image_size = image_size
        self.labels = json.loads((self.root / "labels.json").read_text())
        self.names = sorted(self.labels)

    def __len__(self):
        return int(np.ceil(len(self.names) / self.batch_size))

    def _load(self, name):
        path = self.root / "frames" / f"{name}.jpg"
        image = cv2.imread(str(path))
        image = cv2.cvtColor(image, cv2.COLOR_BGR2RGB)
        image = cv2.resize(image, (self.image_size, self.image_size))
        return image.astype("float32") / 255.0

    def __getitem__(self, index):
        names = self.names[index * self.batch_size:(index + 1) * self.batch_size]
        images = np.stack([self._load(name) for name in names])
        boxes = np.array([self.labels[name] for name in names], "float32")
        return images, boxes
