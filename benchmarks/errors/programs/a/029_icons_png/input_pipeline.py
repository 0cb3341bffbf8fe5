import os

import numpy as np
from PIL import Image

SIDE = 48


def list_examples(root):
    classes = sorted(os.listdir(root))
    paths, labels = [], []
    for label, name in enumerate(classes):
        folder = os.path.join(root, name)
        for file in sorted(os.listdir(folder)):
            paths.append(os.path.join(folder, file))
            labels.append(label)
    return paths, labels, classes


def read(path):
    image = Image.open(path).resize((SIDE, SIDE))
    return np.asarray(image) / 255.0


def load(root):
    paths, labels, classes = list_examples(root)
    images = [read(path) for path in paths]
    x = np.array(images, dtype="float32")
    y = np.array(labels)
    order = np.random.default_rng(0).permutation(len(y))
    return x[order], y[order], classes
