import collections
import json
import os

import numpy as np
from PIL import Image


def download_subset(root, total=40, keep=0.7):
    """Annotations of the whole split, but only a part of the pictures."""
    rng = np.random.default_rng(33)
    images, annotations = [], []
    for i in range(total):
        file_name = f"{i:012d}.jpg"
        images.append({"id": 1000 + i, "file_name": file_name, "width": 56, "height": 56})
        x, y = (int(v) for v in rng.integers(0, 30, 2))
        annotations.append({"id": i, "image_id": 1000 + i, "bbox": [x, y, 22, 22], "category_id": 1})
        if rng.random() < keep:
            pixels = rng.integers(0, 80, (56, 56, 3), dtype=np.uint8)
            pixels[y:y + 22, x:x + 22] = 240
            Image.fromarray(pixels).save(os.path.join(root, file_name))
    path = os.path.join(root, "instances_train.json")
    with open(path, "w") as f:
        json.dump({"images": images, "annotations": annotations}, f)
    return path


def load(path):
    root = os.path.dirname(path)
    with open(path) as f:
        coco = json.load(f)
    images = {im["id"]: im for im in coco["images"]
              if os.path.exists(os.path.join(root, im["file_name"]))}
    pixels, boxes = {}, collections.defaultdict(list)
    for ann in coco["annotations"]:
        info = images[ann["image_id"]]
        x, y, w, h = ann["bbox"]
        boxes[info["id"]].append([x / info["width"], y / info["height"],
                                  w / info["width"], h / info["height"]])
        if info["id"] not in pixels:
            picture = Image.open(os.path.join(root, info["file_name"]))
            pixels[info["id"]] = np.asarray(picture, np.float32) / 255.0
    ids = sorted(pixels)
    return np.stack([pixels[i] for i in ids]), np.array([boxes[i][0] for i in ids], np.float32)
