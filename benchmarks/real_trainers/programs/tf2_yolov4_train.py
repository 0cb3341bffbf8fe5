"""YOLOv4 of tf2-yolov4 with random weights, fitted with a loss of one's own: the package has the model and the anchors."""

import argparse
import json
import os

import numpy as np
import tensorflow as tf
from tf2_yolov4.anchors import YOLOV4_ANCHORS, compute_normalized_anchors
from tf2_yolov4.heads.yolov3_head import yolov3_boxes_regression
from tf2_yolov4.model import YOLOv4

parser = argparse.ArgumentParser()
parser.add_argument("--images", required=True)
parser.add_argument("--labels", required=True)
parser.add_argument("--learning-rate", type=float, default=1e-4)
parser.add_argument("--epochs", type=int, default=2)

IMAGE_SIZE, MAX_BOXES, NUM_CLASSES = 96, 8, 6
SHAPE = (IMAGE_SIZE, IMAGE_SIZE, 3)
ANCHORS = compute_normalized_anchors(YOLOV4_ANCHORS, SHAPE)


def read(path, boxes, classes):
    image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)  # READS
    return tf.image.resize(image, (IMAGE_SIZE, IMAGE_SIZE)) / 255, boxes, classes


def encode(image, boxes, classes):
    """A grid for each stage: box, objectness, class."""
    centers, sizes, grids = (boxes[:, :2] + boxes[:, 2:]) / 2, boxes[:, 2:] - boxes[:, :2], []
    for stage, anchors in enumerate(ANCHORS):
        cells = IMAGE_SIZE // (32, 16, 8)[stage]
        anchor = tf.argmin(tf.reduce_sum(tf.abs(sizes[:, None] - anchors[None].astype("float32")), -1), -1, tf.int32)
        cell = tf.minimum(tf.cast(centers * cells, tf.int32), cells - 1)
        index = tf.stack([cell[:, 1], cell[:, 0], anchor], -1)[: tf.shape(boxes)[0]]
        values = tf.concat([boxes, tf.ones_like(boxes[:, :1]), tf.cast(classes[:, None], tf.float32)], -1)
        is_box = classes >= 0
        grids.append(tf.tensor_scatter_nd_max(tf.zeros((cells, cells, 3, 6)), index[is_box], values[is_box]))
    return image, tuple(grids)


def load(folder, labels):
    with open(labels) as file:
        rows = json.load(file)
    boxes = np.zeros((len(rows), MAX_BOXES, 4), "float32")
    classes = np.full((len(rows), MAX_BOXES), -1, "int32")
    for number, row in enumerate(rows):
        boxes[number, : len(row["boxes"])] = np.array(row["boxes"], "float32") / 160
        classes[number, : len(row["classes"])] = row["classes"]
    paths = [os.path.join(folder, row["image"]) for row in rows]
    dataset = tf.data.Dataset.from_tensor_slices((paths, boxes, classes)).shuffle(100)
    dataset = dataset.map(read, num_parallel_calls=tf.data.AUTOTUNE).map(encode)  # READS
    return dataset.batch(2, drop_remainder=True).prefetch(1)


def make_loss(anchors):
    def loss(y_true, y_pred):
        true_box, true_object, true_class = tf.split(y_true, (4, 1, 1), axis=-1)
        pred_box, pred_object, pred_class = yolov3_boxes_regression(y_pred, anchors)
        is_object = true_object[..., 0]
        box_loss = is_object * tf.reduce_sum(tf.square(true_box - pred_box), -1)
        object_loss = tf.keras.losses.binary_crossentropy(true_object, pred_object)
        class_loss = is_object * tf.keras.losses.sparse_categorical_crossentropy(true_class, pred_class)
        return tf.reduce_sum(box_loss + object_loss + class_loss, axis=(1, 2, 3))

    return loss


if __name__ == "__main__":
    options = parser.parse_args()
    dataset = load(options.images, options.labels)
    model = YOLOv4(input_shape=SHAPE, num_classes=NUM_CLASSES, anchors=YOLOV4_ANCHORS, training=True)
    model.compile(
        optimizer=tf.keras.optimizers.SGD(options.learning_rate, momentum=0.9), loss=[make_loss(anchors) for anchors in ANCHORS]
    )
    model.fit(dataset, epochs=options.epochs)
