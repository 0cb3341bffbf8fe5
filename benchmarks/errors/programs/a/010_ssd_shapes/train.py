import os
import tempfile

import numpy as np

from anchors import default_boxes, encode
from ssd import build_ssd, ssd_loss

IMAGE_SIZE = 128


def prepare(cache_file, count=32):
    rng = np.random.default_rng(4)
    priors = default_boxes()
    images = rng.uniform(0, 0.3, (count, IMAGE_SIZE, IMAGE_SIZE, 3)).astype("float32")
    targets = []
    for i in range(count):
        cx, cy = rng.uniform(0.3, 0.7, 2)
        w, h = rng.uniform(0.2, 0.5, 2)
        box = (np.array([cy - h / 2, cy + h / 2, cx - w / 2, cx + w / 2]) * IMAGE_SIZE).astype(int)
        images[i, box[0]:box[1], box[2]:box[3]] = rng.uniform(0.6, 1.0, 3)
        targets.append(encode(np.array([cx, cy, w, h], np.float32), priors))
    np.savez(cache_file, images=images, targets=np.stack(targets))


def main():
    cache = os.path.join(tempfile.mkdtemp(prefix="ssd_"), "train.npz")
    prepare(cache)
    with np.load(cache) as npz:
        images, targets = npz["images"], npz["targets"]

    model = build_ssd(IMAGE_SIZE)
    model.compile(optimizer="adam", loss=ssd_loss)
    model.fit(images, targets, batch_size=8, epochs=2)


if __name__ == "__main__":
    main()
