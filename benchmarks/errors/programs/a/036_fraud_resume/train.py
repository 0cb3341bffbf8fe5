import contextlib
import os
import shutil
import tempfile

import keras
import numpy as np
from keras import layers

KEEP = 2


def transactions(path, n=700):
    rng = np.random.default_rng(70)
    x = rng.normal(0, 1, (n, 8)).astype("float32")
    y = (x[:, 0] + x[:, 3] ** 2 > 1.5).astype("float32")
    np.savez(path, x=x, y=y)


class RollingCheckpoints(keras.callbacks.Callback):
    def __init__(self, folder):
        super().__init__()
        self.folder = folder

    def path(self, epoch):
        return os.path.join(self.folder, f"epoch_{epoch:03d}.weights.h5")

    def on_epoch_end(self, epoch, logs=None):
        self.model.save_weights(self.path(epoch))
        with contextlib.suppress(FileNotFoundError):
            os.remove(self.path(epoch - KEEP))


def build():
    model = keras.Sequential([
        layers.Input((8,)),
        layers.Dense(16, activation="relu"),
        layers.Dense(1, activation="sigmoid"),
    ])
    model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
    return model


def resume(model, folder):
    latest = None
    with contextlib.suppress(IndexError):
        latest = sorted(f for f in os.listdir(folder) if f.endswith(".weights.h5"))[-1]
    try:
        model.load_weights(os.path.join(folder, latest))
    except TypeError:
        print("no checkpoint, starting from zero")
        return 0
    except (OSError, ValueError) as e:
        print(f"checkpoint {latest} is not usable ({type(e).__name__}), starting from zero")
        return 0
    return int(latest[6:9]) + 1


def main():
    root = tempfile.mkdtemp(prefix="fraud_")
    transactions(os.path.join(root, "transactions.npz"))
    data = np.load(os.path.join(root, "transactions.npz"))
    checkpoints = os.path.join(root, "checkpoints")
    os.makedirs(checkpoints)
    with contextlib.suppress(FileExistsError):
        os.makedirs(checkpoints)
    for last in (3, 6):
        model = build()
        start = resume(model, checkpoints)
        model.fit(data["x"], data["y"], initial_epoch=start, epochs=last, verbose=2,
                  callbacks=[RollingCheckpoints(checkpoints)])
    with open(os.path.join(checkpoints, "epoch_009.weights.h5"), "wb") as f:
        f.write(b"\x89HDF\r\n")
    resume(build(), checkpoints)
    shutil.rmtree(os.path.join(root, "old_runs"), ignore_errors=True)


if __name__ == "__main__":
    main()
