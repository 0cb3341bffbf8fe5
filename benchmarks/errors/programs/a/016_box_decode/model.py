import keras
from keras import layers

from boxes import decode_boxes, grid_anchors


def build_model(image_size, cells):
    anchors = grid_anchors(cells, 0.3)
    image = keras.Input((image_size, image_size, 3))
    x = image
    filters = 16
    while x.shape[1] > cells:
        x = layers.Conv2D(filters, 3, strides=2, padding="same", activation="relu")(x)
        filters *= 2
    deltas = layers.Conv2D(4, 1, name="deltas")(x)
    deltas = layers.Reshape((cells * cells, 4))(deltas)
    scores = layers.Conv2D(1, 1, activation="sigmoid", name="scores")(x)
    scores = layers.Reshape((cells * cells, 1))(scores)
    boxes = decode_boxes(deltas, anchors)
    outputs = layers.Concatenate(axis=-1, name="detections")([boxes, scores])
    return keras.Model(image, outputs)
