"""A pipeline.config as settings, with what became of each of its fields."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from unstall.report.progress import Progress
from unstall.settings import from_plain
from unstall.settings_sources import refuse_unfit
from unstall.tfod import config, left_out
from unstall.tfod.augmentations import augmentations
from unstall.tfod.checkpoints import fine_tuning
from unstall.tfod.config import Node
from unstall.tfod.detectors import detector
from unstall.tfod.inputs import Given, Inputs, ToSet, inputs
from unstall.tfod.learning import learning
from unstall.tfod.ledger import Ledger, Row
from unstall.tfod.models import Chosen, chosen, meta_architecture

BECAME = ("carried over", "changed", "left out", "unknown")


@dataclass(frozen=True)
class Converted:
    file: str
    meta_architecture: str
    feature_extractor: str
    model: str
    settings: dict[str, Any]
    why: dict[str, str]
    rows: list[Row]
    to_set: list[ToSet]
    remarks: list[str]
    images: int | None  # to learn from
    links: dict[str, list[Path]]  # folders to be made beside the settings, each with links to these files

    def count(self) -> dict[str, int]:
        counted: Counter[str] = Counter(row.became for row in self.rows)
        return {became: counted[became] for became in BECAME}

    def as_plain(self) -> dict[str, Any]:
        return {
            "file": self.file,
            "meta_architecture": self.meta_architecture,
            "feature_extractor": self.feature_extractor,
            "model": self.model,
            "images": self.images,
            "settings": self.settings,
            "why": self.why,
            "to_set": [asdict(each) for each in self.to_set],
            "remarks": self.remarks,
            "count": self.count(),
            "fields": [row.as_plain() for row in self.rows],
        }


def convert(path: Path | str, given: Given | None = None, progress: Progress | None = None) -> Converted:
    return of_config(config.read(path), given or Given(), progress)


def of_config(root: Node, given: Given, progress: Progress | None = None) -> Converted:
    ledger = Ledger()
    architecture, taken = meta_architecture(root), chosen(root)
    found = inputs(root, given, ledger, progress)
    images = found.images_to_learn("validation" in ledger.values)
    detector(root, taken, found.train.lying if found.train else None, ledger)
    length = learning(root, taken.model, images, ledger)
    augmentations(root, ledger)
    weights = fine_tuning(root, taken, ledger)
    if any("coco" in name for name in root.node("eval_config").words("metrics_set")):
        ledger.same(root.node("eval_config"), "metrics_set")
    to_set = [*found.to_set, *length, *([weights] if weights else [])]
    refuse_unfit(from_plain(ledger.values, f"{root.file}: "))
    return Converted(
        root.file,
        architecture,
        root.node("model", architecture, "feature_extractor").word("type"),
        taken.model,
        ledger.values,
        ledger.why,
        ledger.rows(root, lambda place: left_out.fate_of(place, taken.model)),
        to_set,
        remarks(root, taken, found),
        images,
        found.links,
    )


def remarks(root: Node, taken: Chosen, found: Inputs) -> list[str]:
    """What a person should know before all else."""
    model = root.node("model", meta_architecture(root))
    said = [taken.said] if taken.said else []
    wanted = model.whole("num_classes", 0)
    if found.classes and wanted and found.classes != wanted:
        said.append(f"num_classes is {wanted} and the label map has {found.classes}: those of the label map are learned")
    if model.node("second_stage_box_predictor").has("rfcn_box_predictor"):
        said.append("R-FCN has no counterpart here: the config becomes a Faster R-CNN")
    if model.node("second_stage_box_predictor", "mask_rcnn_box_predictor").flag("predict_instance_masks"):
        said.append("Mask R-CNN has no counterpart here: boxes are learned, masks are not")
    if model.has("context_config"):
        said.append("Context R-CNN has no counterpart here: an image is looked at by itself")
    if "TF_SEQUENCE_EXAMPLE" in root.node("train_input_reader").word("input_type"):
        said.append("records of SequenceExample cannot be read here: write them as tf.train.Example")
    return said
