import tempfile

import keras
from keras import layers, ops

import data


def build_detector():
    inputs = keras.Input((data.IMG_SIZE, data.IMG_SIZE, 3))
    x = inputs
    for filters in (16, 32, 48):
        x = layers.Conv2D(filters, 3, strides=2, padding="same", activation="relu")(x)
    x = layers.GlobalAveragePooling2D()(x)
    x = layers.Dense(64, activation="relu")(x)
    x = layers.Dense(data.MAX_BOXES * 4, activation="sigmoid")(x)
    return keras.Model(inputs, layers.Reshape((data.MAX_BOXES, 4))(x), name="fruit_detector")


def box_loss(y_true, y_pred):
    present = ops.cast(ops.any(y_true > 0, axis=-1), "float32")
    error = ops.sum(ops.abs(y_true - y_pred), axis=-1)
    return ops.sum(error * present) / ops.maximum(ops.sum(present), 1.0)


def main():
    root = tempfile.mkdtemp(prefix="fruit_")
    data.write_sample_data(root, count=64)
    train_ds = data.make_dataset(root, batch_size=8)

    model = build_detector()
    model.compile(optimizer=keras.optimizers.Adam(1e-3), loss=box_loss)
    model.summary()
    model.fit(train_ds, epochs=3)
    model.save(root + "/fruit_detector.keras")


if __name__ == "__main__":
    main()
