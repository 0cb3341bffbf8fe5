import os

os.environ["KERAS_BACKEND"] = "jax"

import pathlib
import tempfile
import zipfile

import keras
import numpy as np


def fresh(units):
    model = keras.Sequential([
        keras.Input((8,)),
        keras.layers.Dense(units, activation="relu", name="hidden"),
        keras.layers.Dense(3, activation="softmax", name="probs"),
    ])
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


def newest_usable(folder):
    """Checkpoints of crashed jobs may be half written: go back until one loads."""
    for path in sorted(folder.glob("*.keras"), reverse=True):
        try:
            model = keras.models.load_model(path)
        except (zipfile.BadZipFile, ValueError, OSError, KeyError) as err:
            print(f"{path.name} not usable: {type(err).__name__}: {str(err)[:70]}")
            continue
        print("continuing from", path.name)
        return model
    print("nothing to continue from")
    return fresh(16)


def warm_start(model, path):
    try:
        model.load_weights(path)
    except ValueError as err:
        print("weights do not fit, keeping the initial ones:", str(err).splitlines()[0][:80])
    return model


def main():
    keras.utils.set_random_seed(0)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 8)).astype("float32")
    y = x[:, :3].argmax(1)
    with tempfile.TemporaryDirectory() as tmp:
        folder = pathlib.Path(tmp)
        for run in range(3):
            model = newest_usable(folder)
            model.fit(x, y, epochs=2, batch_size=50, verbose=2)
            model.save(folder / f"run{run}.keras")
            if run == 1:
                whole = (folder / "run1.keras").read_bytes()
                (folder / "run1.keras").write_bytes(whole[: len(whole) // 3])
        model.save_weights(folder / "narrow.weights.h5")
        wide = warm_start(fresh(32), folder / "narrow.weights.h5")
        wide.fit(x, y, epochs=1, verbose=2)


if __name__ == "__main__":
    main()
