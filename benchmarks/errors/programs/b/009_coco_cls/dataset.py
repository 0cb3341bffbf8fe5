import json
import os

import cv2
import numpy as np
import torch
from torch.utils.data import Dataset

CATEGORIES = [
    {"id": 1, "name": "person"},
    {"id": 3, "name": "car"},
    {"id": 8, "name": "truck"},
    {"id": 17, "name": "cat"},
    {"id": 44, "name": "bottle"},
]


def write_sample(root, n=60, seed=0):
    rng = np.random.RandomState(seed)
    annotations = []
    for image_id in range(n):
        cv2.imwrite(os.path.join(root, "%06d.png" % image_id), rng.randint(0, 255, (80, 80, 3)).astype(np.uint8))
        cat = CATEGORIES[int(rng.choice(len(CATEGORIES), p=[0.5, 0.3, 0.1, 0.05, 0.05]))]
        annotations.append({
            "id": image_id,
            "image_id": image_id,
            "category_id": cat["id"],
            "bbox": [int(v) for v in rng.randint(8, 32, 4)],
        })
    with open(os.path.join(root, "instances.json"), "w") as f:
        json.dump({"categories": CATEGORIES, "annotations": annotations}, f)


class CropDataset(Dataset):
    """One crop per annotation, COCO layout."""

    def __init__(self, root, crop=32):
        self.root, self.crop = root, crop
        with open(os.path.join(root, "instances.json")) as f:
            coco = json.load(f)
        self.names = [c["name"] for c in coco["categories"]]
        self.annotations = coco["annotations"]

    def __len__(self):
        return len(self.annotations)

    def __getitem__(self, i):
        ann = self.annotations[i]
        img = cv2.imread(os.path.join(self.root, "%06d.png" % ann["image_id"]))
        x, y, w, h = ann["bbox"]
        patch = cv2.resize(img[y:y + h, x:x + w], (self.crop, self.crop))
        patch = torch.from_numpy(patch[:, :, ::-1].copy()).permute(2, 0, 1).float() / 255
        return patch, ann["category_id"]
