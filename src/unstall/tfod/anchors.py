"""Anchors of the API as the detectors here have them. Its ratios are width / height, those of pyramids here height / width."""

from __future__ import annotations

import math

from unstall.tfod.config import Node
from unstall.tfod.ledger import Ledger

LEVELS = 5  # of the pyramids here
MIN_SSD_LEVELS, MAX_SSD_LEVELS = 2, 6
USUAL_RATIOS = (1.0, 2.0, 0.5, 3.0, 1 / 3)  # of SSD
GENERATORS = ("ssd_anchor_generator", "multiscale_anchor_generator", "grid_anchor_generator", "flexible_grid_anchor_generator")
SMALLEST_PX = 32.0  # on the finest level of Faster R-CNN's pyramid, each coarser one having twice that
MIN, MAX = 1e-3, 1e4  # of a scale or a ratio


def find_generator(node: Node) -> str:
    return next((name for name in GENERATORS if node.has(name)), "")


# --- SSD ---


def convert_ssd_anchors(node: Node, ledger: Ledger, max_levels: int = MAX_SSD_LEVELS) -> None:
    """`ssd_anchor_generator`: scales from the finest level to the coarsest, and one more, of which only the half way is used."""
    inner = node.node("ssd_anchor_generator")
    wanted = inner.whole("num_layers", 6, 1, 64)
    levels = min(max(wanted, MIN_SSD_LEVELS), max_levels)
    scales = compute_ssd_scales(inner, levels)
    said = "" if levels == wanted else f"{MIN_SSD_LEVELS} to {max_levels} levels fit into the image here, not {wanted}"
    ledger.set("detector.scales", scales, inner, "num_layers", "min_scale", "max_scale", "scales", changed=said)
    ratios, is_exact = select_wide_ratios(inner.numbers("aspect_ratios", MIN, MAX) or list(USUAL_RATIOS))
    is_reduced = inner.flag("reduce_boxes_in_lowest_layer", True)
    by_level = [ratios] * levels
    if is_reduced:
        by_level = [[2.0], *by_level[1:]]
    said = "" if is_exact else "each ratio lies and stands here, and two squares are always there"
    ledger.set("detector.aspect_ratios", by_level, inner, "aspect_ratios", changed=said)
    if is_reduced:
        fewer = "the finest level has one square of 0.1 in the API; here the ratio 2 alone, and two squares"
        ledger.changed(inner, "reduce_boxes_in_lowest_layer", to="detector.aspect_ratios", why=fewer)
    else:
        ledger.same(inner, "reduce_boxes_in_lowest_layer")
    ledger.same_if(
        inner.number("interpolated_scale_aspect_ratio", 1.0) == 1.0,
        inner, "interpolated_scale_aspect_ratio", instead="a square half way to the next level is always there",
    )  # fmt: skip
    spread = "default boxes are spread evenly over each map"
    ledger.left_out(inner, "height_stride", "width_stride", "height_offset", "width_offset", instead=spread)
    ledger.left_out(inner, "base_anchor_height", "base_anchor_width", instead="scales are shares of the image's own sides")


def compute_ssd_scales(inner: Node, levels: int) -> list[float]:
    given = inner.numbers("scales", MIN, MAX)
    if given:
        scales = (given + [given[-1]] * levels)[:levels]
        return [round(scale, 6) for scale in [*scales, 1.0]]
    least, most = inner.number("min_scale", 0.2, MIN, MAX), inner.number("max_scale", 0.95, MIN, MAX)
    return [round(least + (most - least) * level / (levels - 1), 6) for level in range(levels)] + [1.0]


def select_wide_ratios(ratios: list[float]) -> tuple[list[float], bool]:
    """Those above 1, each once; and whether these, lying and standing, and the square are what was asked for."""
    sides = sorted({round(max(ratio, 1 / ratio), 2) for ratio in ratios})
    lying = [side for side in sides if side != 1.0]
    asked = {round(ratio, 2) for ratio in ratios}
    made = {1.0, *lying, *(round(1 / side, 2) for side in lying)}
    return lying or [2.0], bool(lying) and asked == made


# --- pyramids ---


def convert_pyramid_anchors(node: Node, ledger: Ledger, min_level: int) -> None:
    """`multiscale_anchor_generator`: on each level of the pyramid a size, and more up to the next octave."""
    inner = node.node("multiscale_anchor_generator")
    first, last = inner.whole("min_level", 3, 0, 20), inner.whole("max_level", 7, 0, 20)
    scale, octave = inner.number("anchor_scale", 4.0, MIN, MAX), inner.whole("scales_per_octave", 2, 1, 16)
    levels = range(min_level, min_level + LEVELS)
    sizes = [[round(scale * 2.0 ** (level + step / octave), 2) for step in range(octave)] for level in levels]
    same = (first, last) == (levels[0], levels[-1])
    said = "" if same else f"the pyramid has the levels {levels[0]} to {levels[-1]} here, not {first} to {last}"
    ledger.set("detector.anchor_sizes", sizes, inner, "min_level", "max_level", changed=said)
    for name in ("anchor_scale", "scales_per_octave"):
        ledger.carried(inner, name, to="detector.anchor_sizes")
    _standing(inner, ledger)
    ledger.left_out(inner, "normalize_coordinates", instead="anchors are laid in pixels, which is the same place")


def convert_grid_anchors(node: Node, ledger: Ledger, levels: int = LEVELS) -> None:
    """`grid_anchor_generator`: all sizes on one map. Here each goes to the level of the pyramid that is made for it."""
    inner = node.node("grid_anchor_generator")
    base = math.sqrt(inner.number("height", 256, MIN, MAX) * inner.number("width", 256, MIN, MAX))
    sizes = sorted({round(base * scale, 2) for scale in inner.numbers("scales", MIN, MAX) or [0.5, 1.0, 2.0]})
    laid = [sizes] * levels if levels != LEVELS else assign_to_levels(sizes)
    said = f"{_listed(sizes)} pixels on one map there; here each on the level of the pyramid that is made for it"
    ledger.set("detector.anchor_sizes", laid, inner, "scales", "height", "width", changed=said)
    _standing(inner, ledger)
    strides = "a level of the pyramid has its own stride, 4 to 64 pixels"
    ledger.left_out(inner, "height_stride", "width_stride", "height_offset", "width_offset", instead=strides)


def assign_to_levels(sizes: list[float]) -> list[list[float]]:
    """As many on every level: sizes go to the nearest, and where there are too few of them the level's own are added."""
    laid: list[list[float]] = [[] for _ in range(LEVELS)]
    for size in sizes:
        laid[min(max(round(math.log2(size / SMALLEST_PX)), 0), LEVELS - 1)].append(size)
    count = max(1, *(len(level) for level in laid))
    for number, level in enumerate(laid):
        own = [round(SMALLEST_PX * 2.0 ** (number + step / count), 2) for step in range(count)]
        for size in sorted(own, key=lambda size: -min((abs(math.log(size / other)) for other in level), default=math.inf)):
            if len(level) < count:
                level.append(size)
        level.sort()
    return laid


def _standing(inner: Node, ledger: Ledger) -> None:
    ratios = sorted({round(1 / ratio, 6) for ratio in inner.numbers("aspect_ratios", MIN, MAX) or [1.0, 2.0, 0.5]})
    ledger.set("detector.aspect_ratios", ratios, inner, "aspect_ratios")


def _listed(sizes: list[float]) -> str:
    return ", ".join(f"{size:g}" for size in sizes)
