# /// specimen
# cause = "ids_out_of_range"
# also = []
# where = ""
# framework = "keras-tensorflow"
# ends = "crashes"
# seconds = 90
# near = "ids_out_of_range_padded"
# needs = []
# ///
"""The ids begin at 1, and the embedding has as many rows as there are words."""

import os
import sys
from pathlib import Path

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402

if __name__ == "__main__":
    ids = np.arange(64 * 16).reshape(64, 16) % 100 + 1
    model = keras.Sequential([keras.layers.Embedding(100, 8), keras.layers.GlobalAveragePooling1D(), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    mark()
    model.fit(ids, np.ones((64, 1)), verbose=0)
