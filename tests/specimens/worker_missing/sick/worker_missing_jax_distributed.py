# /// specimen
# cause = "worker_missing"
# also = []
# where = "WAITS FOR THE OTHER PROCESS"
# framework = "keras-jax"
# ends = "crashes"
# seconds = 60
# near = "workers_arrive_late"
# needs = []
# ///
"""A two-process Keras run on JAX of which only process 0 was started. jax.distributed.initialize waits for the other
(and gives up after five minutes)."""

import os
import socket
import sys
from pathlib import Path

os.environ["KERAS_BACKEND"] = "jax"
import jax
import keras
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
from onset import mark


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def join_cluster() -> None:
    address = os.environ.get("COORDINATOR", f"127.0.0.1:{free_port()}")
    mark()
    jax.distributed.initialize(address, num_processes=2, process_id=0)  # WAITS FOR THE OTHER PROCESS


join_cluster()
keras.distribution.set_distribution(keras.distribution.DataParallel())
features = np.random.default_rng(0).normal(size=(1024, 8)).astype("float32")
model = keras.Sequential([keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1)])
model.compile("adam", "mse")
model.fit(features, features.sum(axis=1, keepdims=True), batch_size=32, epochs=10, verbose=2)
