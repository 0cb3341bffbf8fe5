import argparse
import tempfile

import keras
from keras import layers

import voc


def detector(num_classes):
    image = keras.Input((80, 80, 3), name="image")
    x = layers.Conv2D(16, 3, activation="relu")(image)
    x = layers.MaxPooling2D()(x)
    x = layers.Conv2D(32, 3, activation="relu")(x)
    x = layers.MaxPooling2D()(x)
    x = layers.Flatten()(x)
    x = layers.Dense(64, activation="relu")(x)
    box = layers.Dense(4, activation="sigmoid", name="box")(x)
    label = layers.Dense(num_classes, activation="softmax", name="label")(x)
    return keras.Model(image, {"box": box, "label": label})


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--devkit", default=None)
    args = parser.parse_args()

    root = args.devkit
    if root is None:
        root = tempfile.mkdtemp(prefix="voc_")
        voc.make_devkit(root)

    images, boxes, labels = voc.load_split(root)
    print("loaded", images.shape, boxes.shape)
    model = detector(len(voc.LABELS))
    model.compile(
        optimizer="adam",
        loss={"box": "huber", "label": "sparse_categorical_crossentropy"},
        metrics={"label": "accuracy"},
    )
    model.fit(images, {"box": boxes, "label": labels}, batch_size=8, epochs=args.epochs)
