"""Customer churn model."""
import os

os.environ["KERAS_BACKEND"] = "torch"

import keras
import numpy as np

from settings import Settings


def customers(n, seed):
    rng = np.random.default_rng(seed)
    months = rng.integers(1, 72, n)
    bill = rng.normal(60, 20, n)
    calls = rng.poisson(1.5, n)
    logit = 0.5 * calls + 0.02 * bill - 0.06 * months
    x = np.stack([months / 72, bill / 100, calls / 5], 1).astype("float32")
    return x, (logit + rng.logistic(size=n) > 0).astype("float32")


def churn_model(settings):
    model = keras.Sequential(
        [
            keras.Input((3,)),
            keras.layers.Dense(24, activation="gelu"),
            keras.layers.Dense(1, activation="sigmoid"),
        ]
    )
    model.compile(
        optimizer=keras.optimizers.AdamW(settings.learning_rate),
        loss="binary_crossentropy",
        metrics=["accuracy"],
    )
    return model


def make_callbacks(settings):
    return [
        keras.callbacks.EarlyStopping(monitor=settings.monitor, patience=2),
        keras.callbacks.ModelCheckpoint(
            settings.checkpoint,
            monitor=settings.monitor,
            save_best_only=True,
            save_weights_only=True,
        ),
    ]


def main():
    settings = Settings()
    keras.utils.set_random_seed(0)
    x, y = customers(500, seed=0)
    x_test, y_test = customers(120, seed=1)
    model = churn_model(settings)
    model.fit(
        x, y,
        validation_split=0.2,
        epochs=settings.epochs,
        batch_size=settings.batch_size,
        callbacks=make_callbacks(settings),
        verbose=2,
    )
    model.load_weights(settings.checkpoint)
    print(dict(zip(model.metrics_names, model.evaluate(x_test, y_test, verbose=0))))


if __name__ == "__main__":
    main()
