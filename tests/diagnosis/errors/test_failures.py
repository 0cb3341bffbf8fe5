"""failures: shapes, words and changes that the causes of errors share."""

from __future__ import annotations

from typing import Any

import pytest

from unstall.diagnosis.errors.failures import as_shape, describe_value, parse_shapes
from unstall.diagnosis.verdict import LineChange


@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        ("mat1 and mat2 shapes cannot be multiplied (4x1568 and 100x10)", [(4, 1568), (100, 10)]),
        ("operands could not be broadcast together with shapes (3,4) (5,)", [(3, 4), (5,)]),
        ("Shapes are: [tensor]: [2,4], [batch]: [1,4]", [(2, 4), (1, 4)]),
        ("found shape=(None, 28, 28, 1)", [(None, 28, 28, 1)]),
        ("expected torch.Size([2, 3]) but got torch.Size([])", [(2, 3), ()]),
        ("target=(32,), output=(32, 10)", [(32,), (32, 10)]),
        ("at index 3, in call()", []),
        ("convolution of 3x3 over version 2.15.0", [(3, 3)]),
        ("no shape at all", []),
    ],
)
def test_shapes_are_read_as_they_are_written(text: str, shapes: list[Any]) -> None:
    assert parse_shapes(text) == shapes


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"type": "str", "text": "'a.jpg'", "length": 5}, "'a.jpg'"),
        ({"type": "torch.Tensor", "shape": [4, 3], "dtype": "float32", "device": "cuda:0"}, "float32 tensor (4, 3), on cuda:0"),
        ({"type": "numpy.ndarray", "shape": [4], "dtype": "uint8", "min": 0.0, "max": 255.0}, "uint8 array (4,), 0 to 255"),
        ({"type": "numpy.ndarray", "shape": [4], "dtype": "uint8", "min": 0.0, "max": 0.0}, "uint8 array (4,), all 0"),
        ({"type": "dict", "keys": ["image", "label"], "length": 2}, "dict with the keys image, label"),
        ({"type": "list", "length": 3, "shapes": [{"shape": [2, 4]}, {"shape": [1, 4]}]}, "list of length 3, of shapes (2, 4), (1, 4)"),
        ({"type": "torch.Linear", "options": {"in_features": 8}}, "Linear(in_features=8)"),
        ({"type": "tensorflow._BatchDataset", "components": [{"name": "x", "shape": [None, 4], "dtype": "float32"}]},
         "data set of x (None, 4) float32"),
        ({"type": "__main__.Config"}, "Config"),
    ],
)  # fmt: skip
def test_a_value_is_told_in_a_few_words(facts: dict[str, Any], words: str) -> None:
    assert describe_value(facts) == words


def test_a_change_that_changes_nothing_is_none() -> None:
    with pytest.raises(ValueError, match="A change needs lines"):
        LineChange("a.py:1", ("x",), ("x",))


def test_sides_that_are_not_known() -> None:
    assert as_shape([-1, None, 3]) == (None, None, 3)
    assert as_shape(None) is None
