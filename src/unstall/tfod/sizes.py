"""`image_resizer`: the one size that images are brought to here."""

from __future__ import annotations

from unstall.detectors.pages import image_px
from unstall.detectors.ranges import LEAST_SIDE_PX, MOST_SIDE_PX
from unstall.tfod.config import Node
from unstall.tfod.ledger import Ledger
from unstall.tfod.models import Chosen

STRIDE_PX = 32  # what sides of a pyramid's images are made a multiple of
MOSTLY = 0.8  # of the images: if as many lie, or stand, the canvas does


def image_size(model: Node, chosen: Chosen, lying: float | None, ledger: Ledger) -> list[int]:
    """`lying` is the share of images that are wider than high; None: not known."""
    resizer = model.node("image_resizer")
    if resizer.has("fixed_shape_resizer"):
        return _fixed(resizer.node("fixed_shape_resizer"), chosen, ledger)
    if resizer.has("keep_aspect_ratio_resizer"):
        return _kept_aspect(resizer.node("keep_aspect_ratio_resizer"), chosen, lying, ledger)
    usual = list(image_px(chosen.model))
    ledger.follow("detector.image_px", usual, f"the usual size of {chosen.model}")
    return usual


def _fixed(inner: Node, chosen: Chosen, ledger: Ledger) -> list[int]:
    wanted = [inner.whole(name, 300, 1, 100_000) for name in ("height", "width")]
    size = [_within(side) for side in wanted]
    said = "" if size == wanted else f"expected {LEAST_SIDE_PX} to {MOST_SIDE_PX} pixels here"
    if chosen.family != "ssd":
        said = said or "the image keeps its shape within it, and the rest is filled; the API stretches it"
    ledger.set("detector.image_px", size, inner, "height", "width", changed=said)
    return size


def _kept_aspect(inner: Node, chosen: Chosen, lying: float | None, ledger: Ledger) -> list[int]:
    short = inner.whole("min_dimension", 600, 1, 100_000)
    long = max(inner.whole("max_dimension", 1024, 1, 100_000), short)
    is_square = inner.flag("pad_to_max_dimension") or short == long
    if is_square:
        size, said = [long, long], ""
    elif lying is None or 1 - MOSTLY < lying < MOSTLY:
        size, said = [long, long], "one size for all images, so that none is smaller than in the API"
    else:
        is_lying = lying >= MOSTLY
        size = [short, long] if is_lying else [long, short]
        said = f"one size for all images; {max(lying, 1 - lying):.0%} of them {'lie' if is_lying else 'stand'}"
    fitting = [_within(-(-side // STRIDE_PX) * STRIDE_PX) for side in size]
    if chosen.family == "ssd":
        said = "SSD stretches images to its size here"
    elif fitting != size:
        said = said or f"a multiple of {STRIDE_PX}, the stride of the backbone"
    ledger.set("detector.image_px", fitting, inner, "min_dimension", "max_dimension", "pad_to_max_dimension", changed=said)
    return fitting


def _within(side: int) -> int:
    return min(max(side, LEAST_SIDE_PX), MOST_SIDE_PX)
