import argparse
import os

os.environ["KERAS_BACKEND"] = "jax"

import keras
from keras import layers

from windows import load_series, scale, sliding


def lstm_model(lookback, units):
    inputs = keras.Input((lookback, 1))
    x = layers.LSTM(units)(inputs)
    x = layers.Dropout(0.1)(x)
    outputs = layers.Dense(1)(x)
    model = keras.Model(inputs, outputs, name="forecaster")
    model.compile("adam", loss="mse", metrics=["mae"])
    return model


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lookback", type=int, default=24)
    parser.add_argument("--horizon", type=int, default=6)
    parser.add_argument("--units", type=int, default=16)
    parser.add_argument("--epochs", type=int, default=2)
    args = parser.parse_args()

    keras.utils.set_random_seed(0)
    series = load_series()
    cut = int(0.8 * len(series))
    series = scale(series, cut)
    x_train, y_train = sliding(series[:cut], args.lookback, args.horizon)
    x_test, y_test = sliding(series[cut:], args.lookback, args.horizon)

    model = lstm_model(args.lookback, args.units)
    model.fit(
        x_train,
        y_train,
        batch_size=64,
        epochs=args.epochs,
        validation_data=(x_test, y_test),
        callbacks=[keras.callbacks.ReduceLROnPlateau(patience=1)],
        verbose=2,
    )
    print("test:", model.evaluate(x_test, y_test, return_dict=True, verbose=0))


if __name__ == "__main__":
    main()
