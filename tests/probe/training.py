"""Small trainings that print everything bit by bit: losses, weights and predictions as hexadecimal digests; and then what is let go
when the program lets it go.

Started as a program by the tests, bare and watched: python training.py BACKEND API [API …], one after the other
"""

import gc
import hashlib
import os
import sys
import weakref

backend, *apis = sys.argv[1:]
os.environ["KERAS_BACKEND"] = backend
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np  # noqa: E402


def digest(arrays) -> str:
    total = hashlib.sha256()
    for array in arrays:
        total.update(np.ascontiguousarray(array).tobytes())
    return total.hexdigest()


def data():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(640, 12)).astype("float32")
    return x, (x[:, :1] * 2 + np.sin(x[:, 1:2])).astype("float32")


def keras_fit(keras, api):
    keras.utils.set_random_seed(5)
    layers = keras.layers
    model = keras.Sequential(
        [layers.Dense(32, activation="relu"), layers.Dropout(0.2), layers.BatchNormalization(), layers.Dense(1)]
    )
    model.compile("adam", "mse", metrics=["mae"])
    x, y = data()
    if backend == "tensorflow" and "tf.data" in api:
        import tensorflow as tf

        source = (
            tf.data.Dataset.from_tensor_slices((x, y))
            .shuffle(200)
            .batch(32)
            .map(lambda a, b: (a + tf.random.normal(tf.shape(a), stddev=0.01), b))
            .prefetch(2)
        )
        history = model.fit(source, epochs=3, verbose=2, validation_data=(x[:64], y[:64]))
    else:
        history = model.fit(x, y, batch_size=32, epochs=3, verbose=2, validation_split=0.2)
    print({key: [float(value).hex() for value in values] for key, values in history.history.items()})
    print(digest(model.get_weights()), digest([model.predict(x[:50], verbose=0)]))
    return x, model, model.optimizer, model.layers[0]


def own_loop(api):
    import keras
    import tensorflow as tf

    keras.utils.set_random_seed(5)
    model = keras.Sequential([keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1)])
    optimizer = keras.optimizers.SGD(0.05, momentum=0.9)
    model.build((None, 12))
    optimizer.build(model.trainable_variables)
    source = tf.data.Dataset.from_tensor_slices(data()).shuffle(300).batch(32)

    def step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x, training=True) - y) ** 2)
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables, strict=True))
        return loss

    @tf.function
    def one_pass(batches):
        total = 0.0
        for x, y in batches:
            total += step(x, y)
        return total

    compiled = tf.function(step) if "function" in api else step
    for _ in range(3):
        print([float(one_pass(source)).hex()] if "pass" in api else [float(compiled(x, y)).hex() for x, y in source])
    print(digest(model.get_weights()))
    return model, optimizer, source


def trained(api):
    """What the training was made of, which nothing of the program holds from here on."""
    if "loop" in api:
        made = own_loop(api)
    elif "tf_keras" in api:
        os.environ["TF_USE_LEGACY_KERAS"] = "1"
        import tf_keras

        made = keras_fit(tf_keras, api)
    else:
        import keras

        made = keras_fit(keras, api)
    return [weakref.ref(thing) for thing in made]


for each in apis:
    print(each)
    references = trained(each)
    if "keras" in sys.modules and "tf_keras" not in each:
        sys.modules["keras"].backend.clear_session()
    gc.collect()
    print("let go:", [reference() is None for reference in references])
