"""matrix_shapes_mismatch: which sides differ, of which arrays or layer, and that nothing is said of arrays that were not the operands."""

from __future__ import annotations

from typing import Any

import pytest

from tests.diagnosis.error_builders import array, call, ended, layer, line, unseen
from unstall.diagnosis.causes import matrix_shapes_mismatch
from unstall.diagnosis.verdict import Clear, Found, Unknown

MULTIPLIED = "mat1 and mat2 shapes cannot be multiplied (2x7776 and 1176x10)"


def found(kind: str, message: str, *lines: dict[str, Any], **seen: Any) -> Found:
    verdict = matrix_shapes_mismatch.examine(ended(kind, message, *lines, **seen))
    assert isinstance(verdict, Found)
    return verdict


def test_found_in_a_linear_layer_with_the_line_that_made_it_and_the_change() -> None:
    verdict = found(
        "RuntimeError",
        MULTIPLIED,
        line("loss = model(images)", array("images", 2, 3, 40, 40), at=60),
        line("return self.head(x)", array("x", 2, 7776), function="forward"),
        calls=[call("forward", array("input", 2, 7776))],
        makers=[layer("Linear", "        self.head = nn.Linear(1176, 10)", in_features=1176)],
    )
    assert verdict.where == "model.py:12"
    assert verdict.summary == "The layer head (Linear) was made for 1,176 features, and its input has 7,776: the shape (2, 7776)."
    assert verdict.changes[0].after == ("        self.head = nn.Linear(7776, 10)",)
    assert any("images" in evidence.claim and "train.py:60" in evidence.claim for evidence in verdict.evidence)


@pytest.mark.parametrize(
    ("shape", "where", "said"),
    [((2, 1, 32, 32), "model.py:12", "has 1 in side 1"), ((2, 32, 32, 3), "train.py:43", "seem to stand last"), ((2, 3), "train.py:43", "takes 4 sides")],
)  # fmt: skip
def test_found_in_a_convolution(shape: tuple[int, ...], where: str, said: str) -> None:
    made = layer("Conv2d", "self.head = nn.Conv2d(3, 6, 5)", in_channels=3)
    row = line("x = self.head(x)", array("x", *shape))
    message = "Given groups=1, weight of size [6, 3, 5, 5], expected input to have 3 channels"
    verdict = found("RuntimeError", message, row, makers=[made], calls=[call("forward", array("input", *shape))])
    assert verdict.where == where
    assert said in verdict.summary


def test_found_in_a_product_of_jax() -> None:
    message = "dot_general requires contracting dimensions to have the same shape, got (7,) and (3,)."
    verdict = found("TypeError", message, line("x = x @ w", array("x", 16, 7), array("w", 3, 8)))
    assert verdict.summary == "`x` (16, 7) and `w` (3, 8) cannot be multiplied: the first has 7 columns, and the second 3 rows."


def test_found_in_a_sum_and_names_the_side() -> None:
    message = "The size of tensor a (16) must match the size of tensor b (32) at non-singleton dimension 1"
    verdict = found("RuntimeError", message, line("y = x + skip", array("x", 2, 16, 8, 8), array("skip", 2, 32, 8, 8)))
    assert "16 against 32 in side -3" in verdict.summary


@pytest.mark.parametrize("code", ["y = x + f(skip)", "y = x + skip.mean(0)"])
def test_values_that_are_no_operands_are_not_said_to_be(code: str) -> None:
    message = "The size of tensor a (16) must match the size of tensor b (32) at non-singleton dimension 1"
    verdict = found("RuntimeError", message, line(code, array("x", 2, 16, 8, 8), array("skip", 2, 32, 8, 8)))
    assert "`x`" not in verdict.summary


def test_the_contracted_sides_of_a_message_are_not_taken_for_whole_shapes() -> None:
    message = "dot_general requires contracting dimensions to have the same shape, got (7,) and (3,)."
    verdict = found("TypeError", message, line("x = f(x) @ g(w)", array("x", 16, 7), array("w", 3, 8)))
    assert "columns" not in verdict.summary


def test_found_in_a_carry_with_the_line_that_gave_the_first_value() -> None:
    message = (
        "scan body function carry input and carry output must have equal types, but they differ:\n\nThe input carry h has type "
        "float32[16] but the corresponding output carry component has type float32[32,16], so the shapes do not match."
    )
    start = array("h0", 16, made_at=40, made_by=["h0 = jnp.zeros(16)"])
    verdict = found("TypeError", message, line("_, out = jax.lax.scan(body, h0, xs)", start))
    assert verdict.where == "train.py:40"
    assert "begins as float32[16], and the body returns float32[32,16]" in verdict.summary


@pytest.mark.parametrize(
    ("kind", "message", "said"),
    [
        ("ValueError", "vmap got inconsistent sizes for array axes to be mapped:\n  * one axis had size 5: axis 0 of argument x of type float32[5,2];\n  * one axis had size 4: axis 0 of argument y of type float32[4,2]", "`x` (float32[5,2]): 5; `y` (float32[4,2]): 4"),
        ("RuntimeError", "shape '[2, 16]' is invalid for input of size 30", "has 30 elements"),
        ("RuntimeError", "Sizes of tensors must match except in dimension 1. Expected size 8 but got size 9 for tensor number 1 in the list.", "were joined"),
        ("IndexError", "The shape of the mask [6] at index 0 does not match the shape of the indexed tensor [5, 4] at index 0", "A mask"),
        ("RuntimeError", "einsum(): subscript j has size 5 for operand 1 which does not broadcast with previously seen size 4", "An einsum"),
    ],
)  # fmt: skip
def test_found_in_other_operations(kind: str, message: str, said: str) -> None:
    verdict = found(kind, message, line("out = f(x)", array("x", 2, 3, 5)))
    assert said in verdict.summary
    assert verdict.where == "train.py:43"


@pytest.mark.parametrize(
    ("kind", "message"),
    [("RuntimeError", "CUDA error"), ("KeyError", "'x'"), ("ValueError", "Exception encountered when calling Dense.call(). mat1 and mat2 shapes cannot be multiplied (4x3 and 5x2)")],
)  # fmt: skip
def test_clear_of_other_errors(kind: str, message: str) -> None:
    assert isinstance(matrix_shapes_mismatch.examine(ended(kind, message, line("f(x)"))), Clear)


def test_clear_where_a_loss_refused_its_arguments() -> None:
    message = "The size of tensor a (4) must match the size of tensor b (5) at non-singleton dimension 0"
    assert isinstance(
        matrix_shapes_mismatch.examine(ended("RuntimeError", message, line("f(x)"), calls=[call("mse_loss")])), Clear
    )


def test_unknown_where_nothing_inside_was_seen() -> None:
    assert isinstance(matrix_shapes_mismatch.examine(unseen()), Unknown)


@pytest.mark.parametrize("sides", [(1, 64), (1, 64, 1)], ids=["of features", "of a signal"])
def test_a_batch_of_one_example_is_no_question_of_the_order_of_channels(sides: tuple[int, ...]) -> None:
    loader = {"name": "loader", "type": "torch.DataLoader", "made_at": 20, "made_by": ["loader = DataLoader(rows, 32)"]}
    loops = [{"line": 30, "source": "for x in loader:", "values": [], "over": [loader]}]
    message = f"Expected more than 1 value per channel when training, got input size torch.Size({list(sides)})"
    journal = ended(
        "ValueError",
        message,
        line("loss = model(x)", array("x", *sides), loops=loops),
        makers=[layer("BatchNorm1d", "nn.BatchNorm1d(64)", num_features=64)],
        calls=[call("forward", array("input", *sides))],
    )
    verdict = matrix_shapes_mismatch.examine(journal)
    assert isinstance(verdict, Found)
    assert "a batch with one example" in verdict.summary
    assert "channels seem" not in verdict.summary
    assert [change.after for change in verdict.changes] == [("loader = DataLoader(rows, 32, drop_last=True)",)]


def test_features_that_do_not_fit_a_batch_norm_are_told_in_their_own_side() -> None:
    journal = ended(
        "RuntimeError",
        "running_mean should contain 32 elements not 64",
        line("y = model(x)", array("x", 8, 32)),
        makers=[layer("BatchNorm1d", "nn.BatchNorm1d(64)", num_features=64)],
        calls=[call("forward", array("input", 8, 32))],
    )
    verdict = matrix_shapes_mismatch.examine(journal)
    assert isinstance(verdict, Found)
    assert "has 32 in side 1" in verdict.summary


def test_the_features_of_one_row_where_a_batch_cannot_be_flattened_so() -> None:
    row = line("x = x.view(-1, 400)", array("x", 8, 16, 6, 6), function="forward")
    verdict = found("RuntimeError", "shape '[-1, 400]' is invalid for input of size 4608", row)
    assert "Each of its 8 rows has 16 x 6 x 6 = 576 elements, and a row of the shape 400." in verdict.summary
    assert verdict.actions[0].endswith("a layer behind it that was made for 400 features must then take 576")


CARRY = (
    "scan body function carry input and carry output must have equal types, but they differ: The input carry component {} has type "
    "int32[] but the corresponding output carry component has type float32[], so the dtypes do not match."
)


@pytest.mark.parametrize(("path", "name"), [("c[1]", "`start[1]`"), ("c[0]", "the initial value of the carry")])
def test_the_part_of_a_carry_that_changes_its_dtype(path: str, name: str) -> None:
    items = [
        {"type": "jax.ArrayImpl", "shape": [16], "dtype": "float32"},
        {"type": "jax.ArrayImpl", "shape": [], "dtype": "int32"},
    ]
    start = {"name": "start", "type": "tuple", "length": 2, "items": items, "made_at": 13, "made_by": ["start = zeros(16), 0"]}
    verdict = found("TypeError", CARRY.format(path), line("last, _ = jax.lax.scan(f, start, xs)", start))
    assert f"Its part {path} begins as int32[], and the body returns float32[]." in verdict.summary
    assert name in verdict.actions[0]
    assert verdict.where == ("train.py:13" if path == "c[1]" else "train.py:43")
