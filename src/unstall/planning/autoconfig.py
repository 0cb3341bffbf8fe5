"""Settings that suit a data set and a machine, each with its reason: what `unstall init` writes."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from unstall.base.formatting import format_count
from unstall.config.detectors import get_image_size
from unstall.config.settings import Settings
from unstall.config.sources import get_recipe
from unstall.data.example import DataSet
from unstall.data.tools.stats import compute_stats
from unstall.training.loop.datasets import select_training_images

ON_A_CARD = "retinanet_resnet50_fpn_v2"
ON_CORES = "ssdlite320_mobilenet_v3_large"
ON_CORES_SMALL = "ssd_tiny"
SMALL_PX = 200  # the longer side of pictures that the tiny detector sees well
OWN_SIZE = ("retinanet", "fasterrcnn", "faster_rcnn")  # take images of any size; SSD's boxes are made for one
MIN_PX, MAX_PX, STRIDE_PX = 320, 1024, 32  # of an image's side, and what it must be a multiple of
MIN_OBJECT_PX = 16.0  # as the detector should see the middle half of objects: two cells of its finest map
UPDATES = 7_500  # that a detector wants to be fine-tuned, of 16 images each: 12 epochs of 10,000
MIN_EPOCHS, MAX_EPOCHS = 12, 300
WARM_UP_SHARE = 0.1  # of all updates, at most
BOX_COUNTS = (10, 20, 50, 100, 200, 300, 500, 1_000, 2_000, 5_000, 10_000)


@dataclass
class SuggestedSettings:
    values: dict[str, Any] = field(default_factory=dict)
    why: dict[str, str] = field(default_factory=dict)

    def add(self, name: str, value: Any, why: str = "") -> None:
        self.values[name] = value
        if why:
            self.why[name] = why


def suggest(data: DataSet, path: str, has_card: bool) -> SuggestedSettings:
    plain = compute_stats(data, ())
    result = SuggestedSettings()
    result.add("data", path)
    result.add("format", data.format)
    width, height = (int(plain[side]["50%"]) if plain[side] else 640 for side in ("image_width", "image_height"))
    model = _model(width, height, has_card)
    where = "a card is there" if has_card else "no card is there: it must be small"
    result.add("model", model, f"{where}; images are {width}×{height} in the median")
    _image_size(result, plain, model, width, height)
    _validation(result, data)
    _length(result, data, model)
    _boxes(result, data)
    return result


def _model(width: int, height: int, has_card: bool) -> str:
    if has_card:
        return ON_A_CARD
    return ON_CORES_SMALL if max(width, height) <= SMALL_PX else ON_CORES


def _image_size(result: SuggestedSettings, plain: dict[str, Any], model: str, width: int, height: int) -> None:
    """As the images are, within bounds; larger where objects would be too small to be seen."""
    own = get_image_size(model)
    if not model.startswith(OWN_SIZE):
        result.why["detector"] = f"{model} is made for {own[0]}×{own[1]} pixels"
        return
    side = plain["box_width"]["50%"] if plain["box_width"] else MIN_OBJECT_PX
    scale = max(1.0, min(MIN_OBJECT_PX / max(side, 1.0), MAX_PX / max(width, height)))
    scale = min(scale, MAX_PX / max(width, height))
    sides = [_in_strides(length * scale) for length in (height, width)]
    result.add("detector", {"image_size": sides})
    result.why["detector"] = f"half of the objects are at most {side:.0f} pixels wide"


def _in_strides(length: float) -> int:
    return max(MIN_PX, min(MAX_PX, STRIDE_PX * round(length / STRIDE_PX)))


def _length(result: SuggestedSettings, data: DataSet, model: str) -> None:
    recipe = get_recipe(model)
    chosen = {name: value for name, value in result.values.items() if name == "val_split"}
    images = select_training_images(data, Settings(**chosen))
    batch = min(int(recipe.get("batch_size", 16)), max(1, images))
    epochs = max(MIN_EPOCHS, min(MAX_EPOCHS, math.ceil(UPDATES * 16 / max(images, 1))))
    updates = epochs * max(1, images // batch)
    result.add("batch_size", batch)
    result.add("epochs", epochs, f"{updates:,} updates with {format_count(images, 'image')} to learn from")
    warm_up = min(int(recipe.get("warmup_steps", 500)), int(WARM_UP_SHARE * updates))
    result.add("warmup_steps", warm_up)


def _boxes(result: SuggestedSettings, data: DataSet) -> None:
    most = max((example.count for example in data.examples), default=0)
    room = next(count for count in BOX_COUNTS if count >= min(most, BOX_COUNTS[-1]))
    result.add("max_boxes_per_image", room, f"an image has {most:,} at most")


def _validation(result: SuggestedSettings, data: DataSet) -> None:
    splits = {name: len(rows) for name, rows in data.splits().items() if name}
    if len(splits) > 1:
        text = ", ".join(f"{name} {count:,}" for name, count in splits.items())
        result.why["val_data"] = f"the data has the splits {text}"
        return
    classes = np.concatenate([np.unique(example.classes) for example in data.examples]) if data.examples else np.zeros(0, int)
    rarest = int(np.bincount(classes[classes >= 0], minlength=len(data.classes)).min()) if len(data.classes) else 0
    if len(data.examples) == 1:
        result.add("val_split", 0.0, "there is one image, which is learned from")
        return
    said = f"the rarest class is in {format_count(rarest, 'image')}" if rarest else "some classes have no box"
    result.add("val_split", 0.1 if len(data.examples) >= 500 else 0.2, said)
