"""Which detector here is the nearest to a config's meta-architecture and backbone, and what is not the same about it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from unstall.base.errors import InvalidInputError
from unstall.data.io.reader import quote
from unstall.tfod.config import Node
from unstall.tfod.inputs import MissingSetting
from unstall.tfod.ledger import Ledger

Family = Literal["ssd", "retinanet", "faster_rcnn"]
CONVERTED = ("ssd", "faster_rcnn")
# Other meta-architectures, how they are called, and the detector that one may take in their place.
OTHERS = {
    "center_net": ("CenterNet", "retinanet_resnet50_fpn_v2"),
    "experimental_model": ("an experimental model", "retinanet_resnet50_fpn_v2"),
    "detr": ("DETR", "fasterrcnn_resnet50_fpn_v2"),
}
RESNETS = {50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3)}
# Backbones of convolutions over each channel by itself: small and made for phones, as MobileNet V3 is.
SMALL = re.compile(r"mobilenet|mobiledet|spaghettinet|efficientnet|mnasnet|nasnet_mobile|shufflenet")
PYRAMID = re.compile(r"(^|_)(bi)?fpn(lite)?(_|$)")


@dataclass(frozen=True)
class ModelChoice:
    family: Family
    model: str
    said: str  # what is not the same; empty: the backbone is the config's
    blocks: tuple[int, ...] | None = None  # of a ResNet's stages, where they are not those of ResNet-50


def find_meta_architecture(root: Node) -> str:
    """`ssd` or `faster_rcnn`. Others are refused by name, with the nearest that there is."""
    model = root.node("model")
    names = model.names()
    known = [name for name in names if name in CONVERTED]
    if known:
        return known[-1]
    if not names:
        raise InvalidInputError(
            f"{root.file}: model: expected a block with ssd or faster_rcnn. There is none: is this a pipeline.config?"
        )
    called, nearest = OTHERS.get(names[-1], (quote(names[-1]), "retinanet_resnet50_fpn_v2"))
    field = model.given(names[-1])[-1]
    raise InvalidInputError(
        f"{root.file}:{field.line}: model: expected the meta-architecture ssd or faster_rcnn. Received: {called}, which "
        f"has no counterpart here. The nearest is {nearest}: unstall init DATA, then `model = \"{nearest}\"` in its file."
    )  # fmt: skip


def choose_model(root: Node) -> ModelChoice:
    name = find_meta_architecture(root)
    model = root.node("model", name)
    kind = model.node("feature_extractor").word("type").lower()
    if name == "faster_rcnn":
        return _faster_rcnn(kind)
    anchors = model.node("anchor_generator")
    is_pyramid = bool(PYRAMID.search(kind)) or (anchors.has("multiscale_anchor_generator") and "ppn" not in kind)
    return _retinanet(model, kind) if is_pyramid else _ssd(kind)


def _ssd(kind: str) -> ModelChoice:
    if "vgg" in kind:
        return ModelChoice("ssd", "ssd300_vgg16", "")
    if not SMALL.search(kind):
        said = f"the nearest SSD without depthwise convolutions here has VGG-16, not {_backbone(kind)}"
        return ModelChoice("ssd", "ssd300_vgg16", said)
    if re.search(r"mobilenet_?v3_large", kind):
        return ModelChoice("ssd", "ssdlite320_mobilenet_v3_large", "")
    return ModelChoice(
        "ssd", "ssdlite320_mobilenet_v3_large", f"the nearest small SSD here has MobileNet V3 large, not {_backbone(kind)}"
    )


def _retinanet(model: Node, kind: str) -> ModelChoice:
    variant = "retinanet_resnet50_fpn_v2" if has_normed_heads(model) else "retinanet_resnet50_fpn"
    depth = _depth(kind)
    if depth is None or re.search(r"resnet_?v2|inception", kind):
        said = f"the nearest with a pyramid here is RetinaNet on ResNet-50, not on {_backbone(kind)}"
        return ModelChoice("retinanet", variant, f"{said}{': it is larger and slower' if SMALL.search(kind) else ''}")
    blocks = RESNETS[depth]
    return ModelChoice("retinanet", variant, "", None if depth == 50 else blocks)


def _faster_rcnn(kind: str) -> ModelChoice:
    if "mobilenet" in kind:
        same = bool(re.search(r"mobilenet_?v3_large", kind))
        said = "" if same else f"the nearest small Faster R-CNN here has MobileNet V3 large and a pyramid, not {_backbone(kind)}"
        return ModelChoice("faster_rcnn", "fasterrcnn_mobilenet_v3_large_fpn", said)
    depth = _depth(kind)
    if depth is None or "inception" in kind:
        said = f"the nearest Faster R-CNN here has ResNet-50 and a pyramid, not {_backbone(kind)}"
        return ModelChoice("faster_rcnn", "fasterrcnn_resnet50_fpn", said)
    said = "" if PYRAMID.search(kind) else f"ResNet-{depth} with a pyramid: the API's looks at one map, of stride 16 or 8"
    return ModelChoice("faster_rcnn", "fasterrcnn_resnet50_fpn", said, None if depth == 50 else RESNETS[depth])


def has_normed_heads(model: Node) -> bool:
    predictor = model.node("box_predictor")
    blocks = [predictor.node(name).node("conv_hyperparams") for name in predictor.names()]
    return any(block.has("batch_norm") or block.has("group_norm") or block.has("sync_batch_norm") for block in blocks)


def _depth(kind: str) -> int | None:
    found = re.search(r"resnet_?(?:v[12]_)?(\d+)", kind)
    return int(found[1]) if found and int(found[1]) in RESNETS else None


def _backbone(kind: str) -> str:
    """'ssd_mobilenet_v2_fpn_keras' is 'mobilenet_v2_fpn'."""
    name = re.sub(r"^(embedded_)?(ssd_|faster_rcnn_)|_keras$", "", kind)
    return quote(name) if name else "one that is not named"


# `fine_tune_checkpoint`: a checkpoint of TensorFlow cannot be loaded; which published weights take its place is said.


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


def convert_fine_tuning(root: Node, chosen: ModelChoice, ledger: Ledger) -> MissingSetting | None:
    """What the user may set to begin with trained weights; None: the config begins with fresh ones."""
    train = root.node("train_config")
    if not train.word("fine_tune_checkpoint"):
        ledger.left_out(train, *FIELDS, instead="weights are fresh, as in the API without a fine_tune_checkpoint")
        return None
    advice = suggest_import(chosen, find_kind(train))
    instead = f"a checkpoint of TensorFlow cannot be loaded: weights begin fresh, unless you set others: {advice}"
    ledger.left_out(train, "fine_tune_checkpoint", instead=instead)
    ledger.left_out(train, *FIELDS, instead="a checkpoint of TensorFlow cannot be loaded: see fine_tune_checkpoint")
    ledger.why["weights"] = advice
    if ledger.values.get("detector", {}).get("freeze_batch_norm"):
        advice += "; norms keep the statistics that come with the weights: without any, set detector.freeze_batch_norm = false"
    return MissingSetting("weights", "", advice)


def find_kind(train: Node) -> str:
    """`detection`, `classification`, or another of the API's words."""
    said = train.word("fine_tune_checkpoint_type").lower()
    return said or ("detection" if train.flag("from_detection_checkpoint") else "classification")


def suggest_import(chosen: ModelChoice, kind: str) -> str:
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
