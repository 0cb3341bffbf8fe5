import os

os.environ["TF_USE_LEGACY_KERAS"] = "1"

import tensorflow as tf


def vectorizer(texts, max_tokens=400, length=20):
    layer = tf.keras.layers.TextVectorization(max_tokens=max_tokens, output_sequence_length=length)
    layer.adapt(texts)
    return layer


def classifier(max_tokens=400, length=20):
    tokens = tf.keras.Input((length,), dtype=tf.int64)
    x = tf.keras.layers.Embedding(max_tokens, 16)(tokens)
    x = tf.keras.layers.Conv1D(16, 5, activation="relu")(x)
    x = tf.keras.layers.GlobalMaxPooling1D()(x)
    x = tf.keras.layers.Dense(16, activation="relu")(x)
    return tf.keras.Model(tokens, tf.keras.layers.Dense(1)(x))
