"""optimizer_mismatch: by the refusals of Keras 2 and 3, and the variables on both sides."""

from __future__ import annotations

import pytest

from tests.diagnosis.failed_programs import failed, line, unseen
from unstall.diagnosis.causes import optimizer_mismatch
from unstall.diagnosis.verdict import Clear, Found, Unknown

KERAS_3 = (
    "Unknown variable: <Variable path=generator/dense/kernel, shape=(32, 8), dtype=float32>. This optimizer can only be called for "
    "the variables it was originally built with. When working with a new set of variables, you should recreate a new optimizer instance."
)
KERAS_2 = (
    "'The optimizer cannot recognize variable generator/dense/kernel:0. This usually means you are trying to call the optimizer to "
    "update different parts of the model separately. Please call `optimizer.build(variables)` with the full list of trainable variables'"
)
LINE = line(46, "self.optimizer.apply_gradients(zip(gradients, self.generator.trainable_variables))")


def test_found_with_the_variables_of_both_sides() -> None:
    optimizer = {
        "what": "optimizer",
        "name": "Adam",
        "where": "/job/gan.py:31",
        "count": 2,
        "built_for": ["discriminator/dense/kernel", "discriminator/dense/bias"],
        "given": ["generator/dense/kernel"],
        "others": 1,
    }
    verdict = optimizer_mismatch.examine(failed("ValueError", KERAS_3, LINE, makers=[optimizer]))
    assert isinstance(verdict, Found)
    assert "It was built for 2, such as discriminator/dense/kernel and discriminator/dense/bias" in verdict.summary
    assert "is given 1 others, such as generator/dense/kernel" in verdict.summary
    assert verdict.where == "train.py:46"
    assert any(each.claim.startswith("the optimizer was made at /job/gan.py:31") for each in verdict.evidence)


@pytest.mark.parametrize(("kind", "message"), [("ValueError", KERAS_3), ("KeyError", KERAS_2)])
def test_found_where_the_optimizer_could_not_be_looked_at(kind: str, message: str) -> None:
    verdict = optimizer_mismatch.examine(failed(kind, message, LINE))
    assert isinstance(verdict, Found)
    assert "refuses them" in verdict.summary


def test_clear_of_other_errors() -> None:
    verdict = optimizer_mismatch.examine(failed("ValueError", "Unknown optimizer: 'adamm'", LINE))
    assert isinstance(verdict, Clear)


def test_unknown_where_the_program_could_not_be_seen() -> None:
    assert isinstance(optimizer_mismatch.examine(unseen()), Unknown)
