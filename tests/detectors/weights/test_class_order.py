"""A class takes the outputs of its own name, in whatever order the file has them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from unstall.detectors.weights.names import describe_order, find_order, sort_names

FRESH = -1.0


@pytest.mark.parametrize(
    ("in_file", "wanted", "order"),
    [
        (("red", "green", "blue"), ("blue", "green", "red"), [2, 1, 0]),
        (("red", "green", "blue"), ("Blue ", "GREEN", "red"), [2, 1, 0]),  # case is no other name
        (("red", "green", "blue"), ("red", "yellow", "blue"), [0, None, 2]),
        (("red", "green"), ("red", "green"), None),  # nothing to do
        ((), ("red", "green"), None),  # a file of others has no names
        (("red", "green"), ("0", "1"), None),  # data without names: by number
        (("red", "green", "blue"), ("red", "green"), None),  # another number of classes: the head is new anyway
        (("red", "red"), ("red", "green"), None),  # which of the two?
    ],
)
def test_the_order(in_file: Sequence[str], wanted: Sequence[str], order: list[int | None] | None) -> None:
    assert find_order(in_file, wanted) == order


def test_what_is_said_of_it() -> None:
    assert describe_order([1, 0], ["a", "b"]) == "its classes are in another order: each is taken by its name"
    assert describe_order([0, None], ["a", "b"]) == "its classes have other names: 1 class taken by name, 1 begin fresh: b"


@pytest.mark.parametrize(
    ("key", "rows", "expected"),
    [
        # background, then three classes; of two anchors
        ("head.classification_head.cls_logits.weight", 8, [0, 3, FRESH, 1, 4, 7, FRESH, 5]),
        ("head.classification_head.module_list.2.1.bias", 8, [0, 3, FRESH, 1, 4, 7, FRESH, 5]),
        ("roi_heads.box_predictor.cls_score.weight", 4, [0, 3, FRESH, 1]),
        ("roi_heads.box_predictor.bbox_pred.bias", 16, [0, 1, 2, 3, 12, 13, 14, 15, *[FRESH] * 4, 4, 5, 6, 7]),
        ("backbone.body.conv1.weight", 8, [0, 1, 2, 3, 4, 5, 6, 7]),
    ],
)
def test_the_rows_of_each_output(key: str, rows: int, expected: list[float]) -> None:
    shape = (rows, 2, 1, 1) if key.endswith("weight") else (rows,)
    taken = np.broadcast_to(np.arange(rows, dtype=np.float32).reshape(-1, *[1] * (len(shape) - 1)), shape)
    found = sort_names(key, taken, np.full(shape, FRESH, np.float32), [2, None, 0])
    assert found.shape == shape
    np.testing.assert_array_equal(found.reshape(rows, -1)[:, 0], expected)
