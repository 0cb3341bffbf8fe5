"""Heat demand of a district with a stateful LSTM."""
import os
import tempfile

import numpy as np
import tf_keras as keras

BATCH_SIZE = 16
LOOKBACK = 24
TRAIN_WINDOWS = 160
TEST_WINDOWS = 40


def create_series(path):
    rng = np.random.default_rng(27)
    t = np.arange(TRAIN_WINDOWS + TEST_WINDOWS + LOOKBACK + 1)
    heat = 30 + 10 * np.cos(2 * np.pi * t / 24) + rng.normal(0, 1, len(t))
    np.savetxt(path, heat, fmt="%.3f")


def windows(values):
    x = np.stack([values[i:i + LOOKBACK] for i in range(len(values) - LOOKBACK)])
    return x[..., None], values[LOOKBACK:]


def build(batch_size):
    model = keras.Sequential()
    model.add(keras.layers.LSTM(12, stateful=True, batch_input_shape=(batch_size, LOOKBACK, 1)))
    model.add(keras.layers.Dense(1))
    model.compile(loss="mean_squared_error", optimizer="adam")
    return model


class ResetStates(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        self.model.reset_states()


def main():
    path = os.path.join(tempfile.mkdtemp(prefix="heat_"), "heat.txt")
    create_series(path)
    series = np.loadtxt(path, dtype="float32")
    series = (series - series.mean()) / series.std()
    x, y = windows(series)
    x_train, y_train = x[:TRAIN_WINDOWS], y[:TRAIN_WINDOWS]
    x_test, y_test = x[TRAIN_WINDOWS:], y[TRAIN_WINDOWS:]

    model = build(BATCH_SIZE)
    model.fit(x_train, y_train, epochs=2, batch_size=BATCH_SIZE, shuffle=False,
              callbacks=[ResetStates()], verbose=2)
    forecast = model.predict(x_test, batch_size=BATCH_SIZE, verbose=0)[:, 0]
    print("test rmse", float(np.sqrt(np.mean((forecast - y_test) ** 2))))


if __name__ == "__main__":
    main()
