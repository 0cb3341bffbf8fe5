# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "tf_keras"
# ends = "exits"
# seconds = 45
# near = "host_memory_leaking"
# needs = []
# ///
"""A backbone of 300 MB is saved, loaded layer by layer and frozen; memory rises quickly before training, then rests."""

import sys; from pathlib import Path; sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
import os

os.environ["TF_USE_LEGACY_KERAS"] = "1"

import tempfile  # noqa: E402
import time  # noqa: E402

import numpy as np  # noqa: E402
import tf_keras as keras  # noqa: E402

WIDTH, DEPTH = 2_048, 18


def backbone() -> keras.Model:
    inputs = keras.Input((WIDTH,))
    outputs = inputs
    for _ in range(DEPTH):
        outputs = keras.layers.Dense(WIDTH, activation="relu", kernel_initializer="he_normal")(outputs)
    return keras.Model(inputs, outputs)


def load_backbone(folder: str) -> keras.Model:
    model = backbone()
    for layer in model.layers[1:]:
        np.save(f"{folder}/{layer.name}.npy", layer.get_weights()[0])
    for layer in model.layers[1:]:
        layer.set_weights([np.load(f"{folder}/{layer.name}.npy"), layer.get_weights()[1]])
        time.sleep(0.2)
    model.trainable = False
    return model


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        trunk = load_backbone(folder)
    model = keras.Sequential([trunk, keras.layers.LayerNormalization(), keras.layers.Dense(1)])
    model.compile(optimizer=keras.optimizers.Adam(0.0005), loss="mse")
    inputs = np.random.default_rng(0).normal(size=(256, WIDTH)).astype("float32")
    model.fit(inputs, inputs[:, :8].mean(axis=1), batch_size=16, epochs=14, verbose=2)


if __name__ == "__main__":
    main()
