"""The annotation's size against the image's."""

from __future__ import annotations

from tests.data.check.datasets import checked, example, facts, found
from unstall.data.check.problems.size_differs import propose_fixes

SMALL = (10, 10, 50, 50)


def test_another_size_is_found() -> None:
    (finding,) = found("size_differs", checked(example(SMALL, size=(320, 240)), images={0: facts()}))
    assert "640×480" in finding.message and "320×240" in finding.message


def test_swapped_width_and_height_are_called_so() -> None:
    (finding,) = found("size_differs", checked(example(SMALL, size=(480, 640)), images={0: facts()}))
    assert "swapped" in finding.message


def test_the_same_size_one_pixel_less_or_none_is_silent() -> None:
    for size in ((640, 480), (639, 480), None):
        assert not found("size_differs", checked(example(SMALL, size=size), images={0: facts()}))


def test_a_size_taken_from_the_image_cannot_differ() -> None:
    assert not found("size_differs", checked(example(SMALL, size=(320, 240), size_is_from_image=True), images={0: facts()}))


def test_what_exif_turns_is_told_elsewhere() -> None:
    assert not found("size_differs", checked(example(SMALL, size=(480, 640)), images={0: facts(orientation=6)}))


def test_boxes_that_fit_only_the_annotation_are_scaled_and_not_called_outside() -> None:
    what = checked(example((1000, 800, 1280, 960), size=(1280, 960)), images={0: facts()})
    (fix,) = propose_fixes(what, found("size_differs", what))
    assert fix.size == (640, 480)
    assert fix.boxes is not None and fix.boxes.tolist() == [[500, 400, 640, 480]]
    assert not found("box_outside", what) and not found("box_partly_outside", what)


def test_boxes_that_fit_the_image_stay_as_they_are() -> None:
    what = checked(example(SMALL, size=(320, 200)), images={0: facts()})
    (fix,) = propose_fixes(what, found("size_differs", what))
    assert fix.boxes is None and fix.size == (640, 480)
