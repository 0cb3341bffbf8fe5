"""The layers of a detector in a few groups, from the image to the boxes, so that the gradients of each can be looked at."""

from __future__ import annotations

import re
from collections.abc import Iterable

BODIES = ("backbone.body.", "backbone.features.")  # where most layers are: three groups by depth
DEPTHS = ("first layers", "middle layers", "last layers")
DOTS = 2  # of a layer's name, that tell one group from the other: backbone.fpn, head.regression_head, rpn.head
LEARNS_FIRST = ("backbone", "rpn")  # all others come after these


def layer_groups(names: Iterable[str]) -> dict[str, list[str]]:
    """Names of variables (`backbone.body.conv1/kernel`) by the name of their group."""
    by_layer: dict[str, list[str]] = {}
    for name in names:
        by_layer.setdefault(name.partition("/")[0], []).append(name)
    found: dict[str, list[str]] = {}
    for layer, group in _in_order(by_layer):
        found.setdefault(group, []).extend(by_layer[layer])
    return found


def _in_order(layers: Iterable[str]) -> list[tuple[str, str]]:
    """Each layer and its group."""
    ordered = sorted(layers, key=_depth)
    body = [layer for layer in ordered if layer.startswith(BODIES)]
    of_body = {layer: f"backbone, {DEPTHS[place * len(DEPTHS) // len(body)]}" for place, layer in enumerate(body)}
    rest = [layer for layer in ordered if layer not in of_body]
    return [*of_body.items(), *((layer, ".".join(layer.split(".")[:DOTS])) for layer in rest)]


def _depth(layer: str) -> tuple[int, list[tuple[int, str]]]:
    """Sorted so, layer 2 comes before layer 10."""
    part = layer.partition(".")[0]
    place = LEARNS_FIRST.index(part) if part in LEARNS_FIRST else len(LEARNS_FIRST)
    return place, [(int(each), "") if each.isdigit() else (-1, each) for each in re.split(r"(\d+)", layer) if each]
