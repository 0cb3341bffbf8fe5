"""Reads annotations as lines of path,x1,y1,x2,y2,class_name."""
import csv
import os

import cv2
import numpy as np
import tf_keras as keras


class CSVGenerator(keras.utils.Sequence):
    def __init__(self, csv_file, classes, batch_size=4, size=64):
        self.base_dir = os.path.dirname(csv_file)
        self.classes = {name: i for i, name in enumerate(classes)}
        self.batch_size = batch_size
        self.size = size
        self.image_data = {}
        with open(csv_file, newline="") as f:
            self._read_annotations(csv.reader(f))
        self.image_names = list(self.image_data)

    def _read_annotations(self, rows):
        for row in rows:
            path, coords, class_name = row[0], row[1:5], row[5]
            x1, y1, x2, y2 = (int(v) for v in coords)
            if x2 <= x1 or y2 <= y1:
                raise ValueError(f"bad box in {path}: {coords}")
            self.image_data.setdefault(path, []).append((x1, y1, x2, y2, self.classes[class_name]))

    def __len__(self):
        return len(self.image_names) // self.batch_size

    def __getitem__(self, index):
        group = self.image_names[index * self.batch_size:(index + 1) * self.batch_size]
        images = np.zeros((len(group), self.size, self.size, 3), np.float32)
        heat = np.zeros((len(group), self.size // 8, self.size // 8, len(self.classes)), np.float32)
        for i, name in enumerate(group):
            images[i] = cv2.imread(os.path.join(self.base_dir, name)) / 255.0
            for x1, y1, x2, y2, label in self.image_data[name]:
                heat[i, (y1 + y2) // 16, (x1 + x2) // 16, label] = 1.0
        return images, heat
