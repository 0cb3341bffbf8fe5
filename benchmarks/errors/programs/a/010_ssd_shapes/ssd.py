import keras
import tensorflow as tf
from keras import layers

from anchors import ASPECT_RATIOS, FEATURE_MAPS

BOXES_PER_CELL = len(ASPECT_RATIOS)


def build_ssd(image_size):
    inputs = keras.Input((image_size, image_size, 3))
    x = inputs
    outputs = []
    for filters in (16, 24, 32, 48):
        x = layers.Conv2D(filters, 3, strides=2, padding="same", activation="relu")(x)
        if x.shape[1] in FEATURE_MAPS:
            head = layers.Conv2D(BOXES_PER_CELL * 5, 3, padding="same")(x)
            outputs.append(layers.Reshape((-1, 5))(head))
    return keras.Model(inputs, layers.Concatenate(axis=1)(outputs), name="ssd_tiny")


def ssd_loss(y_true, y_pred):
    positive = y_true[..., 4]
    confidence = tf.nn.sigmoid_cross_entropy_with_logits(labels=positive, logits=y_pred[..., 4])
    distance = tf.reduce_sum(tf.abs(y_true[..., :4] - y_pred[..., :4]), axis=-1)
    return tf.reduce_mean(confidence) + tf.reduce_mean(distance * positive)
