import os

import keras
from keras import layers


def export_backbone(folder):
    """What the pretraining job leaves in the model store."""
    backbone = keras.Sequential([
        layers.Input((64, 64, 4)),
        layers.Conv2D(16, 3, strides=2, padding="same", activation="relu"),
        layers.Conv2D(32, 3, strides=2, padding="same", activation="relu"),
        layers.Conv2D(64, 3, strides=2, padding="same", activation="relu"),
    ], name="satellite_backbone")
    path = os.path.join(folder, "satellite_backbone", "1")
    backbone.export(path, verbose=False)
    return path


def load_backbone(path):
    if not os.path.isdir(path):
        raise FileNotFoundError(path)
    backbone = keras.models.load_model(path)
    backbone.trainable = False
    return backbone
