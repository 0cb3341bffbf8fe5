"""Numbers about batches: what is told of them, and that looking is cheap and quiet."""

import time
import warnings

import numpy as np

from unstall.probe.input import batch_stats


def described(role: str, array: np.ndarray) -> dict[str, object]:
    return batch_stats.describe(role, "", array)


def test_range_and_size_of_inputs() -> None:
    facts = described("x", np.array([[0, 255], [3, 4]], dtype="uint8"))
    assert (facts["min"], facts["max"], facts["dtype"]) == (0.0, 255.0, "uint8")
    assert "not_finite" not in facts


def test_numbers_that_are_not_finite_are_counted_and_left_out() -> None:
    facts = described("x", np.array([1.0, np.nan, np.inf, 3.0], dtype="float32"))
    assert (facts["not_finite"], facts["min"], facts["max"]) == (2, 1.0, 3.0)


def test_nothing_is_printed_for_numbers_that_overflow() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        described("x", np.full((4, 4), 1e300))
        described("y", np.array([np.nan, np.inf, -np.inf]))


def test_labels_that_are_classes() -> None:
    facts = described("y", np.array([0.0, 2.0, 2.0, 255.0]))
    assert facts["whole"] is True
    assert (facts["lowest"], facts["highest"]) == ([0, 2, 255], [0, 2, 255])
    assert described("y", np.array([0.5, 1.0]))["whole"] is False


def test_boxes_that_are_inside_out_and_padding() -> None:
    boxes = np.array([[0.1, 0.1, 0.5, 0.5], [0.5, 0.1, 0.1, 0.5], [0, 0, 0, 0]], dtype="float32")
    assert described("y", boxes)["boxes"] == {"rows": 2, "inside_out": 1, "negative_size": 0}


def test_a_large_array_is_thinned_out_by_whole_rows() -> None:
    facts = described("x", np.zeros((50_000, 300), dtype="float32"))
    assert facts["looked_at"] <= 4 * batch_stats.MAX_ELEMENTS
    assert facts["shape"] == [50_000, 300]


def test_parts_of_a_batch() -> None:
    x, y = np.zeros((4, 2)), np.ones(4)
    assert [(role, name) for role, name, _ in batch_stats.split_parts(({"image": x, "size": x}, y, None))] == [
        ("x", "image"),
        ("x", "size"),
        ("y", ""),
    ]
    assert [role for role, _, _ in batch_stats.split_parts(x)] == ["x"]


def test_the_first_bad_row_is_found() -> None:
    array = np.zeros((30_000, 50), dtype="float32")
    array[22_405, 11] = np.nan
    assert batch_stats.find_first_bad_row(array, time.monotonic() + 5, time.monotonic) == 22_405
    assert batch_stats.find_first_bad_row(np.zeros((5, 5)), time.monotonic() + 5, time.monotonic) is None


def test_things_that_hold_no_numbers_are_left_alone() -> None:
    assert batch_stats.as_array(np.array(["a", "b"])) is None
    assert batch_stats.as_array("text") is None
