"""`fine_tune_checkpoint`: a checkpoint of TensorFlow cannot be loaded; which published weights take its place is said."""

from __future__ import annotations

from unstall.tfod.config import Node
from unstall.tfod.inputs import MissingSetting
from unstall.tfod.ledger import Ledger
from unstall.tfod.models import ModelChoice

FIELDS = (
    "fine_tune_checkpoint", "fine_tune_checkpoint_type", "fine_tune_checkpoint_version", "from_detection_checkpoint",
    "load_all_detection_checkpoint_vars", "run_fine_tune_checkpoint_dummy_computation",
)  # fmt: skip
# torchvision's files: of the whole detector, trained on COCO; and of its backbone, trained on ImageNet.
PUBLISHED = {
    "ssd300_vgg16": ("ssd300_vgg16_coco-b556d3b4.pth", "vgg16_features-amdegroot-88682ab5.pth"),
    "ssdlite320_mobilenet_v3_large": ("ssdlite320_mobilenet_v3_large_coco-a79551df.pth", "mobilenet_v3_large-8738ca79.pth"),
    "retinanet_resnet50_fpn": ("retinanet_resnet50_fpn_coco-eeacb38b.pth", "resnet50-0676ba61.pth"),
    "retinanet_resnet50_fpn_v2": ("retinanet_resnet50_fpn_v2_coco-5905b1c5.pth", "resnet50-11ad3fa6.pth"),
    "fasterrcnn_resnet50_fpn": ("fasterrcnn_resnet50_fpn_coco-258fb6c6.pth", "resnet50-0676ba61.pth"),
    "fasterrcnn_mobilenet_v3_large_fpn": (
        "fasterrcnn_mobilenet_v3_large_fpn-fb6a3cc7.pth", "mobilenet_v3_large-8738ca79.pth",
    ),
}  # fmt: skip
DEEPER: dict[tuple[int, ...], str] = {(3, 4, 23, 3): "resnet101-63fe2227.pth", (3, 8, 36, 3): "resnet152-394f9c45.pth"}


def fine_tuning(root: Node, chosen: ModelChoice, ledger: Ledger) -> MissingSetting | None:
    """What the user may set to begin with trained weights; None: the config begins with fresh ones."""
    train = root.node("train_config")
    if not train.word("fine_tune_checkpoint"):
        ledger.left_out(train, *FIELDS, instead="weights are fresh, as in the API without a fine_tune_checkpoint")
        return None
    advice = what_to_import(chosen, kind_of(train))
    instead = f"a checkpoint of TensorFlow cannot be loaded: weights begin fresh, unless you set others: {advice}"
    ledger.left_out(train, "fine_tune_checkpoint", instead=instead)
    ledger.left_out(train, *FIELDS, instead="a checkpoint of TensorFlow cannot be loaded: see fine_tune_checkpoint")
    ledger.why["weights"] = advice
    if ledger.values.get("detector", {}).get("frozen_norms"):
        advice += "; norms keep the statistics that come with the weights: without weights, set detector.frozen_norms = false"
    return MissingSetting("weights", "", advice)


def kind_of(train: Node) -> str:
    """`detection`, `classification`, or another of the API's words."""
    said = train.word("fine_tune_checkpoint_type").lower()
    return said or ("detection" if train.flag("from_detection_checkpoint") else "classification")


def what_to_import(chosen: ModelChoice, kind: str) -> str:
    whole, backbone = PUBLISHED[chosen.model]
    if chosen.blocks:
        deeper = DEEPER[chosen.blocks]
        also = " (of the whole detector there are none with this backbone)" if kind != "classification" else ""
        return f'weights = "{deeper}", the backbone of torchvision trained on ImageNet{also}'
    file = backbone if kind == "classification" else whole
    of = "the backbone trained on ImageNet" if kind == "classification" else "the detector trained on COCO"
    variant = f" --variant {chosen.model}" if kind == "classification" else ""
    made = f"{chosen.model}.safetensors"
    return f'unstall weights import {file}{variant} (of torchvision, {of}), then weights = "{made}"'
