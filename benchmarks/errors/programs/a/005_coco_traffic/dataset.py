"""Crops of COCO style annotations for the classification head of a two stage detector."""
import json
import pathlib

import numpy as np
import tensorflow as tf
from PIL import Image

CATEGORIES = [
    {"id": 1, "name": "person"},
    {"id": 2, "name": "bicycle"},
    {"id": 3, "name": "car"},
    {"id": 6, "name": "bus"},
    {"id": 10, "name": "traffic light"},
]


def create_coco(root, images=30):
    root = pathlib.Path(root)
    rng = np.random.default_rng(8)
    coco = {"images": [], "annotations": [], "categories": CATEGORIES}
    for image_id in range(images):
        pixels = rng.integers(0, 255, (128, 128, 3), dtype=np.uint8)
        file_name = f"{image_id:012d}.png"
        Image.fromarray(pixels).save(root / file_name)
        coco["images"].append({"id": image_id, "file_name": file_name})
        for _ in range(4):
            x, y = rng.integers(0, 80, 2)
            coco["annotations"].append({
                "id": len(coco["annotations"]),
                "image_id": image_id,
                "bbox": [int(x), int(y), 40, 40],
                "category_id": int(rng.choice([c["id"] for c in CATEGORIES])),
            })
    (root / "instances.json").write_text(json.dumps(coco))
    return root / "instances.json"


class CocoCrops:
    def __init__(self, annotation_file):
        self.root = pathlib.Path(annotation_file).parent
        self.coco = json.loads(pathlib.Path(annotation_file).read_text())
        self.files = {i["id"]: i["file_name"] for i in self.coco["images"]}
        self.num_classes = len(self.coco["categories"])

    def arrays(self, size=32):
        crops, labels = [], []
        for ann in self.coco["annotations"]:
            x, y, w, h = ann["bbox"]
            image = Image.open(self.root / self.files[ann["image_id"]])
            crop = image.crop((x, y, x + w, y + h)).resize((size, size))
            crops.append(np.asarray(crop, np.float32) / 255.0)
            labels.append(ann["category_id"])
        return np.stack(crops), np.array(labels, np.int32)

    def tf_dataset(self, batch_size):
        crops, labels = self.arrays()
        ds = tf.data.Dataset.from_tensor_slices((crops, labels))
        return ds.shuffle(len(labels), seed=1).batch(batch_size)
