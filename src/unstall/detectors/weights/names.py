"""The names under which weights are found: with prefixes that scripts add, of older versions, and of a bare backbone. And
the classes, whose order may be another in the file: by id in COCO, by the alphabet in Pascal VOC, by number in YOLO."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence

import numpy as np

from unstall.base.formatting import format_count
from unstall.detectors.weights.tensors import Array

MAX_PREFIXES = 8
MAX_SHARE = 0.9  # of the names, which must have a prefix in common: with less, what is left is another network
COUNTER = "num_batches_tracked"
# Outputs whose number depends on the classes. The region proposals' own cls_logits do not.
CLASS_OUTPUTS = re.compile(
    r"head\.classification_head\.(cls_logits|module_list\.\d+(\.1)?)\.(weight|bias)|roi_heads\.box_predictor\.(cls_score|bbox_pred)\..*"
)
Rule = Callable[[str], str | None]  # a name in the file to ours; None: the tensor has no place here


def list_prefixes(names: Collection[str]) -> list[str]:
    """What most names begin with, part by part, from nothing on: 'module.' of DataParallel, then 'pre.' of whoever wrapped it.
    Beside them stand counters of an average ('n_averaged') and weights of a loss."""
    result = [""]
    while len(result) <= MAX_PREFIXES:
        begin = len(result[-1])
        inner = [name for name in names if name.startswith(result[-1])]
        counts = Counter(name[: name.find(".", begin) + 1] for name in inner if "." in name[begin:])
        longer, count = counts.most_common(1)[0] if counts else ("", 0)
        if not count or count < MAX_SHARE * len(names):
            break
        result.append(longer)
    return result


def keep_names(name: str) -> str:
    return name


def _older(name: str) -> str:
    """Before version 2 of the modules: pyramids without `.0`, heads that counted their ReLUs, region heads of one convolution."""
    name = re.sub(r"(fpn\.(?:inner|layer)_blocks\.\d+)\.(weight|bias)$", r"\1.0.\2", name)
    name = re.sub(r"^rpn\.head\.conv\.(weight|bias)$", r"rpn.head.conv.0.0.\1", name)
    head = re.fullmatch(r"(head\.(?:classification|regression)_head\.conv)\.([0246])\.(weight|bias)", name)
    return f"{head[1]}.{int(head[2]) // 2}.0.{head[3]}" if head else name


def _resnet(name: str) -> str | None:
    return f"backbone.body.{name}" if re.match(r"(conv1|bn1|layer[1-4])\.", name) else None


def _mobilenet(name: str) -> str | None:
    found = re.match(r"features\.(.*)", name)
    return f"backbone.body.{found[1]}" if found else None


def _mobilenet_for_ssdlite(name: str) -> str | None:
    """Cut in two within block 13, behind its expansion, as the paper has it."""
    found = re.fullmatch(r"features\.(\d+)\.(.*)", name)
    if found is None:
        return None
    block, rest = int(found[1]), found[2]
    if block < 13:
        return f"backbone.features.0.{block}.{rest}"
    if block > 13:
        return f"backbone.features.1.{block - 13}.{rest}"
    part = re.fullmatch(r"block\.(\d+)\.(.*)", rest)
    if part is None:
        return None
    return f"backbone.features.0.13.{part[2]}" if part[1] == "0" else f"backbone.features.1.0.{part[1]}.{part[2]}"


def _vgg(name: str) -> str | None:
    """The convolutions up to the fourth block are the backbone; the fifth block's stand behind the pool that begins `extra`."""
    found = re.fullmatch(r"features\.(\d+)\.(weight|bias)", name)
    if found is None:
        return None
    number = int(found[1])
    return f"backbone.features.{number}.{found[2]}" if number < 23 else f"backbone.extra.0.{number - 23}.{found[2]}"


# What a file may be of, and how its names are ours.
DETECTOR_RULES: dict[str, Rule] = {"a detector": keep_names, "a detector, by older names": _older}
BACKBONE_RULES: dict[str, Rule] = {
    "a ResNet": _resnet,
    "a MobileNetV3": _mobilenet,
    "a MobileNetV3, cut in two": _mobilenet_for_ssdlite,
    "a VGG": _vgg,
}
RULES = DETECTOR_RULES | BACKBONE_RULES


def rename_keys(names: Collection[str], rule: Rule, prefix: str = "") -> dict[str, str]:
    """Ours to that of the file. Where two names of a file become one, the first is meant."""
    result: dict[str, str] = {}
    for name in names:
        ours = rule(name.removeprefix(prefix))
        if ours is not None:
            result.setdefault(ours, name)
    return result


BOX_NUMBERS = 4  # that Faster R-CNN's second stage gives for each class


def find_order(in_file: Sequence[str], wanted: Sequence[str]) -> list[int | None] | None:
    """For each class that is wanted, its number in the file; None for one that is not there. None altogether where names are
    unknown, or say nothing new."""
    theirs, ours = ([name.strip().lower() for name in names] for names in (in_file, wanted))
    are_named = theirs and not all(name.isdecimal() for name in ours)
    if not are_named or len(theirs) != len(ours) or theirs == ours or len(set(theirs)) < len(theirs):
        return None
    return [theirs.index(name) if name in theirs else None for name in ours]


def describe_order(order: Sequence[int | None], wanted: Sequence[str]) -> str:
    fresh = [name for name, number in zip(wanted, order, strict=True) if number is None]
    if not fresh:
        return "its classes are in another order: each is taken by its name"
    shown = ", ".join(fresh[:3]) + (" …" if len(fresh) > 3 else "")
    known = format_count(len(order) - len(fresh), "class", "classes")
    return f"its classes have other names: {known} taken by name, {len(fresh):,} begin fresh: {shown}"


def sort_names(key: str, taken: Array, fresh: Array, order: Sequence[int | None]) -> Array:
    """Of an output that has rows for each class, in PyTorch's layout: those of the file, where it has the class. The background
    is the first."""
    if not CLASS_OUTPUTS.fullmatch(key):
        return taken
    known = [(0, 0), *((place + 1, number + 1) for place, number in enumerate(order) if number is not None)]
    to, source = (list(each) for each in zip(*known, strict=True))
    per_class = BOX_NUMBERS if "bbox_pred" in key else 1
    rows = (-1, len(order) + 1, per_class, *taken.shape[1:])
    result = np.array(fresh, np.float32).reshape(rows)
    result[:, to] = np.asarray(taken, np.float32).reshape(rows)[:, source]
    return result.reshape(taken.shape)
