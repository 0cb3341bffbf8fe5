"""A RetinaNet of KerasCV with random weights, fitted on images and boxes."""

import argparse
import json
import os

import keras
import keras_cv
import numpy as np
import tensorflow as tf

parser = argparse.ArgumentParser()
parser.add_argument("--images", required=True)
parser.add_argument("--labels", required=True)
parser.add_argument("--learning-rate", type=float, default=1e-3)
parser.add_argument("--epochs", type=int, default=4)

IMAGE_SIZE, MAX_BOXES = 128, 8


def read(path, boxes, classes):
    image = tf.image.decode_jpeg(tf.io.read_file(path), channels=3)
    image = tf.image.resize(image, (IMAGE_SIZE, IMAGE_SIZE))
    return image, {"boxes": boxes, "classes": classes}


def load(folder, labels):
    with open(labels) as file:
        rows = json.load(file)
    boxes = np.full((len(rows), MAX_BOXES, 4), -1.0, "float32")
    classes = np.full((len(rows), MAX_BOXES), -1.0, "float32")
    for number, row in enumerate(rows):
        count = len(row["boxes"])
        boxes[number, :count] = np.array(row["boxes"], "float32").reshape(count, 4) * IMAGE_SIZE / 160
        classes[number, :count] = row["classes"]
    paths = [os.path.join(folder, row["image"]) for row in rows]
    dataset = tf.data.Dataset.from_tensor_slices((paths, boxes, classes)).shuffle(100)
    dataset = dataset.map(read, num_parallel_calls=tf.data.AUTOTUNE)
    return dataset.batch(4, drop_remainder=True).prefetch(2)


if __name__ == "__main__":
    options = parser.parse_args()
    dataset = load(options.images, options.labels)
    backbone = keras_cv.models.ResNetV2Backbone(
        stackwise_filters=[16, 32, 48, 64], stackwise_blocks=[2, 2, 2, 2], stackwise_strides=[1, 2, 2, 2], include_rescaling=True
    )
    model = keras_cv.models.RetinaNet(num_classes=6, bounding_box_format="xyxy", backbone=backbone)
    model.compile(
        classification_loss="focal",
        box_loss="smoothl1",
        optimizer=keras.optimizers.SGD(options.learning_rate, momentum=0.9),
        jit_compile=False,
    )
    model.fit(dataset, epochs=options.epochs)
