"""A RetinaNet of KerasHub with random weights, fitted on images and boxes that Grain reads."""

import argparse
import json
import os

import grain
import keras
import keras_hub
import numpy as np
from PIL import Image

parser = argparse.ArgumentParser()
parser.add_argument("--images", required=True)
parser.add_argument("--labels", required=True)
parser.add_argument("--learning-rate", type=float, default=5e-5)
parser.add_argument("--epochs", type=int, default=2)

IMAGE_SIZE, MAX_BOXES, BATCH_SIZE = 128, 8, 4


class Reader:
    """What Grain calls, in threads of its own, for each image."""

    def __init__(self, folder):
        self.folder = folder

    def __call__(self, row):
        image = Image.open(os.path.join(self.folder, row["image"])).convert("RGB")
        boxes, labels = np.full((MAX_BOXES, 4), -1.0, "float32"), np.full(MAX_BOXES, -1, "int32")
        count = len(row["boxes"])
        boxes[:count] = np.array(row["boxes"], "float32").reshape(count, 4) * IMAGE_SIZE / 160
        labels[:count] = row["classes"]
        return np.asarray(image.resize((IMAGE_SIZE, IMAGE_SIZE)), "float32") / 255, {"boxes": boxes, "labels": labels}


def load(folder, labels):
    with open(labels) as file:
        rows = json.load(file)
    return grain.MapDataset.source(rows).shuffle(seed=1).map(Reader(folder)).batch(BATCH_SIZE, drop_remainder=True)


if __name__ == "__main__":
    options = parser.parse_args()
    dataset = load(options.images, options.labels)
    encoder = keras_hub.models.ResNetBackbone(
        input_conv_filters=[64], input_conv_kernel_sizes=[7], stackwise_num_filters=[64, 64, 64, 64],
        stackwise_num_blocks=[1, 1, 1, 1], stackwise_num_strides=[1, 2, 2, 2], block_type="basic_block",
        image_shape=(IMAGE_SIZE, IMAGE_SIZE, 3),
    )  # fmt: skip
    backbone = keras_hub.models.RetinaNetBackbone(
        image_encoder=encoder, min_level=3, max_level=5, use_p5=False, image_shape=(IMAGE_SIZE, IMAGE_SIZE, 3)
    )
    model = keras_hub.models.RetinaNetObjectDetector(backbone=backbone, num_classes=6, bounding_box_format="xyxy")
    model.compile(optimizer=keras.optimizers.Adam(options.learning_rate))
    model.fit(dataset, epochs=options.epochs)
