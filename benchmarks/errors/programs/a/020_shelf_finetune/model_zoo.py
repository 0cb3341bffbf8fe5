import os

os.environ["TF_USE_LEGACY_KERAS"] = "1"

import tensorflow as tf

ANCHORS = 3


def build_detector(num_classes, image_size=64):
    """Small YOLO style network: every cell predicts ANCHORS * (4 + 1 + classes) numbers."""
    inputs = tf.keras.Input((image_size, image_size, 3))
    x = inputs
    for i, filters in enumerate((8, 16, 32)):
        x = tf.keras.layers.Conv2D(filters, 3, strides=2, padding="same", name=f"stage{i}_conv")(x)
        x = tf.keras.layers.BatchNormalization(name=f"stage{i}_bn")(x)
        x = tf.keras.layers.LeakyReLU(0.1)(x)
    outputs = tf.keras.layers.Conv2D(ANCHORS * (5 + num_classes), 1, name="yolo_head")(x)
    return tf.keras.Model(inputs, outputs, name="shelf_yolo")


def fetch_pretrained(folder, num_classes=80):
    """The checkpoint of the public model (80 COCO classes)."""
    path = os.path.join(folder, "shelf_yolo_coco.h5")
    build_detector(num_classes).save_weights(path)
    return path
