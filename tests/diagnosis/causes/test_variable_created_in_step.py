"""variable_created_in_step: by TensorFlow's refusal, and what the line makes."""

from __future__ import annotations

import pytest

from tests.diagnosis.failed_programs import failed, line, unseen
from unstall.diagnosis.causes import variable_created_in_step
from unstall.diagnosis.verdict import Clear, Found, Unknown, Verdict

MESSAGES = [
    "tf.function only supports singleton tf.Variables created on the first call. Make sure the tf.Variable is only created once",
    "tf.function-decorated function tried to create variables on non-first call.",  # up to TensorFlow 2.4
]


def examine(message: str, code: str = "x = tf.Variable(1.0)") -> Verdict:
    return variable_created_in_step.examine(failed("ValueError", message, line(6, code, function="call")))


@pytest.mark.parametrize("message", MESSAGES)
@pytest.mark.parametrize(
    ("code", "said", "advice"),
    [
        ("offset = tf.Variable(tf.zeros([4]))", "A variable is made in call", "build"),
        ("return keras.layers.Dense(4)(x)", "A layer is made in call", "self.layer(x)"),
        ("optimizer = keras.optimizers.SGD(0.1)", "An optimizer is made in call", "make the optimizer once"),
        ("optimizer.apply_gradients(zip(g, v))", "An optimizer is given variables", "optimizer.build"),
        ("m = keras.metrics.Mean()", "A metric is made in call", "make the metric once"),
        ("y = self.make(x)", "This line makes variables in call", "before the function"),
    ],
)
def test_found_with_what_the_line_makes(message: str, code: str, said: str, advice: str) -> None:
    verdict = examine(message, code)
    assert isinstance(verdict, Found)
    assert verdict.summary.startswith(said)
    assert advice in verdict.actions[0]
    assert verdict.where == "train.py:6"


def test_clear_of_other_errors() -> None:
    assert isinstance(examine("Variable 1 is not trainable"), Clear)


def test_unknown_where_the_program_could_not_be_seen() -> None:
    assert isinstance(variable_created_in_step.examine(unseen()), Unknown)
