# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 90
# near = "ids_out_of_range"
# needs = []
# ///
"""Ids from 1 on, 0 for padding, and a row for each of them."""

import os

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras
import numpy as np

if __name__ == "__main__":
    ids = np.arange(64 * 16).reshape(64, 16) % 101
    rows = keras.layers.Embedding(101, 8, mask_zero=True)
    model = keras.Sequential([rows, keras.layers.GlobalAveragePooling1D(), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(ids, np.ones((64, 1)), verbose=0)
