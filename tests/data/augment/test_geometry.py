"""Pixels and boxes go by the same numbers: what a box surrounded in the image it surrounds on the canvas."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.data.pipeline.pictures import picture
from unstall.data.augment.augmentations import Geometric, HorizontalFlip, IoUCrop, Mosaic, ScaleJitter, ZoomOut
from unstall.data.augment.geometry import Area, Placement, Rect, Resize, Scene, View, clip_boxes, fit_window, map_to_canvas
from unstall.data.augment.rng import Rng
from unstall.data.pipeline.canvas import crop, draw

sizes = st.integers(1, 3000)
windows: tuple[Geometric, ...] = (HorizontalFlip(), ScaleJitter(), ZoomOut(probability=1.0), IoUCrop())


def scene_of(width: int, height: int, boxes: list[tuple[float, float, float, float]], area: Area) -> Scene:
    return Scene(width, height, np.array(boxes, np.float64).reshape(-1, 4), area.width, area.height)


@st.composite
def placements(draw_from: st.DrawFn) -> tuple[Scene, View, Placement, Area]:
    """Any image, any canvas, any chain of augmentations."""
    width, height = draw_from(sizes), draw_from(sizes)
    area = Area(0, 0, draw_from(st.integers(1, 900)), draw_from(st.integers(1, 900)))
    shares = draw_from(st.lists(st.tuples(*[st.floats(0, 0.98)] * 2, *[st.floats(0.01, 1)] * 2), max_size=5))
    boxes = [(x * width, y * height, min(1, x + w) * width, min(1, y + h) * height) for x, y, w, h in shares]
    scene, rng = scene_of(width, height, boxes, area), Rng(draw_from(st.integers(0, 2**64 - 1)), 0, 0)
    view = View.whole(scene)
    for augmentation in draw_from(st.lists(st.sampled_from(windows), max_size=4)):
        view = augmentation.apply(view, scene, rng)
    resize: Resize = draw_from(st.sampled_from(("letterbox", "stretch")))
    return scene, view, fit_window(view, scene, area, resize, draw_from(st.booleans())), area


def rows(placement: Placement, count: int) -> np.ndarray:
    return np.tile(np.array(placement.back), (count, 1))


@settings(max_examples=400, deadline=None)
@given(placements())
def test_what_is_drawn_lies_within_the_image_and_the_canvas(given_placement: tuple[Scene, View, Placement, Area]) -> None:
    scene, _, placement, area = given_placement
    source, target, reduction = placement.source, placement.target, placement.reduction
    assert 0 <= source.left < source.right <= math.ceil(scene.width / reduction)
    assert 0 <= source.top < source.bottom <= math.ceil(scene.height / reduction)
    assert area.left <= target.left < target.right <= area.right and area.top <= target.top < target.bottom <= area.bottom
    if reduction > 1:
        assert source.width >= target.width and source.height >= target.height, "decoded below the size that is needed"


@settings(max_examples=400, deadline=None)
@given(placements())
def test_corners_go_where_the_pixels_go_and_back(given_placement: tuple[Scene, View, Placement, Area]) -> None:
    _, _, placement, _ = given_placement
    source, target, part_of = placement.source, placement.target, placement.reduction
    seen = np.array([[source.left, source.top, source.right, source.bottom]], np.float64) * part_of
    assert np.allclose(map_to_canvas(seen, rows(placement, 1)), [tuple(target)], atol=1e-6)
    a, b, c, d = placement.back
    corners = sorted([a * target.left + b, a * target.right + b])
    assert np.allclose(corners, [seen[0, 0], seen[0, 2]], atol=1e-6 * max(1, seen[0, 2]))
    assert np.allclose([c * target.top + d, c * target.bottom + d], [seen[0, 1], seen[0, 3]], atol=1e-6 * max(1, seen[0, 3]))


@settings(max_examples=400, deadline=None)
@given(placements(), st.floats(0, 1))
def test_boxes_stay_inside_and_keep_the_share_asked_for(
    given_placement: tuple[Scene, View, Placement, Area], share: float
) -> None:
    scene, _, placement, _ = given_placement
    count = len(scene.boxes)
    mapped = map_to_canvas(scene.boxes, rows(placement, count))
    areas = np.tile(np.array(placement.target), (count, 1))
    cut, shown = clip_boxes(mapped, areas, share)
    assert np.isfinite(cut).all()
    assert (cut >= areas[:, [0, 1, 0, 1]]).all() and (cut <= areas[:, [2, 3, 2, 3]]).all()
    for box, whole, is_shown in zip(cut, mapped, shown, strict=True):
        kept = (box[2] - box[0]) * (box[3] - box[1])
        assert is_shown == (kept > 0 and kept >= share * (whole[2] - whole[0]) * (whole[3] - whole[1]))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(("letterbox", "stretch")), st.integers(40, 400), st.integers(40, 400))
def test_a_pixel_under_a_box_corner_is_the_one_that_was_there(seed: int, resize: Resize, width: int, height: int) -> None:
    """The image's colours are its coordinates, so each pixel of the canvas says where it came from."""
    area = Area(0, 0, 160, 120)
    scene = scene_of(width, height, [(0.2 * width, 0.3 * height, 0.7 * width, 0.8 * height)], area)
    view, rng = View.whole(scene), Rng(seed, 0, 0)
    for augmentation in (ZoomOut(), IoUCrop(), ScaleJitter(0.7, 1.4), HorizontalFlip()):
        view = augmentation.apply(view, scene, rng)
    placement = fit_window(view, scene, area, resize, is_reducible=False)
    canvas = np.zeros((120, 160, 3), np.uint8)
    draw(picture(width, height), placement, crop(canvas, placement.target))
    target = placement.target
    x, y = np.arange(target.left, target.right) + 0.5, np.arange(target.top, target.bottom) + 0.5  # centres of pixels
    a, b, c, d = placement.back
    red, green = np.clip(a * x + b - 0.5, 0, width - 1), np.clip(c * y + d - 0.5, 0, height - 1)
    assert np.abs(crop(canvas, target)[:, :, 0] - red / (width - 1) * 255).max() <= 255 / width * max(1, abs(a)) + 2
    assert np.abs(crop(canvas, target)[:, :, 1] - (green / (height - 1) * 255)[:, None]).max() <= 255 / height * max(1, c) + 2


def test_a_letterbox_keeps_the_shape_and_a_stretch_fills_the_canvas() -> None:
    area = Area(0, 0, 640, 640)
    scene = scene_of(640, 480, [], area)
    assert fit_window(View.whole(scene), scene, area, "letterbox", True) == Placement(
        Area(0, 0, 640, 480), 1, Area(0, 0, 640, 480), False
    )
    assert fit_window(View.whole(scene), scene, area, "stretch", True).target == area


@pytest.mark.parametrize(
    ("width", "height", "reduction"), [(4000, 3000, 4), (1279, 960, 1), (1280, 960, 2), (5120, 5120, 8), (641, 9000, 8)]
)
def test_a_jpeg_is_decoded_at_the_smallest_size_that_suffices(width: int, height: int, reduction: int) -> None:
    area = Area(0, 0, 640, 640)
    scene = scene_of(width, height, [], area)
    assert fit_window(View.whole(scene), scene, area, "letterbox", True).reduction == reduction
    assert fit_window(View.whole(scene), scene, area, "letterbox", False).reduction == 1


def test_a_flip_mirrors_within_the_window() -> None:
    area = Area(0, 0, 100, 100)
    scene = scene_of(50, 100, [(0, 0, 10, 20)], area)
    placement = fit_window(
        HorizontalFlip(probability=1.0).apply(View.whole(scene), scene, Rng(0, 0, 0)), scene, area, "letterbox", False
    )
    assert np.allclose(map_to_canvas(scene.boxes, rows(placement, 1)), [(40, 0, 50, 20)])


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 3))
def test_the_iou_crop_keeps_the_published_rule(seed: int, count: int) -> None:
    area = Area(0, 0, 300, 300)
    boxes = [(20.0 + 90 * i, 30.0 + 50 * i, 120.0 + 90 * i, 160.0 + 50 * i) for i in range(count)]
    scene = scene_of(400, 300, boxes, area)
    crop = IoUCrop(options=(0.5,))
    view = crop.apply(View.whole(scene), scene, Rng(seed, 0, 0))
    window = view.window
    if window == Rect(0, 0, 400, 300):
        return
    assert 0.3 * 400 <= window.width <= 400 and 0.3 * 300 <= window.height <= 300
    assert 0.5 <= window.width / window.height <= 2
    best = 0.0
    for (left, top, right, bottom), is_kept in zip(boxes, view.keep, strict=True):
        x, y = (left + right) / 2, (top + bottom) / 2
        assert is_kept == (window.left < x < window.right and window.top < y < window.bottom)
        wide = min(right, window.right) - max(left, window.left)
        high = min(bottom, window.bottom) - max(top, window.top)
        common = max(0, wide) * max(0, high)
        union = (right - left) * (bottom - top) + window.width * window.height - common
        best = max(best, common / union if is_kept else 0)
    assert best >= 0.5


def test_an_image_without_boxes_stays_whole_under_the_iou_crop() -> None:
    scene = scene_of(400, 300, [], Area(0, 0, 300, 300))
    view = View.whole(scene)
    assert IoUCrop().apply(view, scene, Rng(1, 0, 0)) == view


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32), st.integers(2, 700), st.integers(2, 700), st.booleans())
def test_a_mosaic_covers_the_canvas_and_each_image_touches_the_meeting_point(
    seed: int, width: int, height: int, flipped: bool
) -> None:
    mosaic, rng = Mosaic(), Rng(seed, 0, 0)
    quarters = mosaic.quarters(rng, 320, 240)
    assert sum(area.width * area.height for area in quarters) == 320 * 240
    corner = (quarters[0].right, quarters[0].bottom)
    for quarter, area in enumerate(quarters):
        scene = scene_of(width, height, [], area)
        view = View(View.whole(scene).window, flipped, View.whole(scene).keep)
        target = fit_window(mosaic.apply(view, scene, rng, quarter, (320, 240)), scene, area, "letterbox", False).target
        corners = {(x, y) for x in (target.left, target.right) for y in (target.top, target.bottom)}
        assert min(abs(x - corner[0]) + abs(y - corner[1]) for x, y in corners) <= 1
