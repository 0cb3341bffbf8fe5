"""Next word model that can be interrupted with Ctrl-C and goes on where it stopped."""
import json
import os
import signal
import sys
import tempfile

import keras
import numpy as np
from keras import layers

STEPS, EPOCHS = 6, 4
LINES = ["the river runs below the quiet hill", "a quiet wind runs over the river",
         "below the hill a lantern burns all night", "all night the wind counts every lantern"] * 12


class Preempt(keras.callbacks.Callback):
    """The scheduler of the cluster asks for the machine in the second epoch."""

    def on_train_batch_end(self, batch, logs=None):
        marker = os.path.join(self.folder, "preempted")
        if self.epoch == 1 and batch == 3 and not os.path.exists(marker):
            open(marker, "w").close()
            signal.raise_signal(signal.SIGINT)

    def on_epoch_begin(self, epoch, logs=None):
        self.epoch = epoch

    def __init__(self, folder):
        super().__init__()
        self.folder = folder


def samples():
    words = sorted({w for line in LINES for w in line.split()})
    index = {w: i + 1 for i, w in enumerate(words)}
    x, y = [], []
    for line in LINES:
        ids = [index[w] for w in line.split()]
        for k in range(1, len(ids)):
            x.append(([0] * STEPS + ids[:k])[-STEPS:])
            y.append(ids[k])
    return np.array(x), np.array(y), len(words) + 1


def train(folder, x, y, vocab):
    checkpoint, state = os.path.join(folder, "model.keras"), os.path.join(folder, "state.json")
    epoch = 0
    try:
        with open(state) as f:
            epoch = json.load(f)["epoch"]
        model = keras.models.load_model(checkpoint)
    except FileNotFoundError:
        model = keras.Sequential([layers.Input((STEPS,)), layers.Embedding(vocab, 12),
                                  layers.GRU(16), layers.Dense(vocab, activation="softmax")])
        model.compile("adam", "sparse_categorical_crossentropy")
    callback = Preempt(folder)
    try:
        model.fit(x, y, batch_size=32, initial_epoch=epoch, epochs=EPOCHS, verbose=2, callbacks=[callback])
        return True
    except KeyboardInterrupt:
        print("interrupted in epoch", callback.epoch, file=sys.stderr)
        return False
    finally:
        model.save(checkpoint)
        with open(state, "w") as f:
            json.dump({"epoch": callback.epoch}, f)


if __name__ == "__main__":
    folder = tempfile.mkdtemp(prefix="poem_")
    data = samples()
    while not train(folder, *data):
        print("starting again from", folder)
