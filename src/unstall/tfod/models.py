"""Which detector here is the nearest to a config's meta-architecture and backbone, and what is not the same about it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from unstall.base.errors import InvalidInputError
from unstall.data.io.reader import quote
from unstall.tfod.config import Node

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


def meta_architecture(root: Node) -> str:
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
    name = meta_architecture(root)
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
