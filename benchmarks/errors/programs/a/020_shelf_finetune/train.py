import argparse
import tempfile

import numpy as np

from model_zoo import ANCHORS, build_detector, fetch_pretrained, tf


def random_shelves(n, num_classes):
    rng = np.random.default_rng(30)
    images = rng.random((n, 64, 64, 3), dtype=np.float32)
    targets = np.zeros((n, 8, 8, ANCHORS * (5 + num_classes)), np.float32)
    for i in range(n):
        row, col = rng.integers(0, 8, 2)
        targets[i, row, col, :5] = (0.5, 0.5, 0.2, 0.3, 1.0)
        targets[i, row, col, 5 + rng.integers(num_classes)] = 1.0
    return images, targets


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--classes", nargs="+", default=["bottle", "can", "carton"])
    parser.add_argument("--epochs", type=int, default=2)
    args = parser.parse_args()

    cache = tempfile.mkdtemp(prefix="zoo_")
    weights = fetch_pretrained(cache)

    model = build_detector(len(args.classes))
    model.load_weights(weights)
    for layer in model.layers:
        layer.trainable = layer.name == "yolo_head"

    images, targets = random_shelves(48, len(args.classes))
    model.compile(optimizer=tf.keras.optimizers.Adam(1e-4), loss="mse")
    model.fit(images, targets, batch_size=8, epochs=args.epochs)
    model.save_weights(cache + "/shelf_finetuned.h5")


if __name__ == "__main__":
    main()
