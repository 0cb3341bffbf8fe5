"""loss_output_mismatch: pairs of loss and last layer that cannot work, and unusual ones that can."""

from typing import Any

import pytest

from tests.diagnosis.builders import FOLDER, T0, journal, started
from tests.diagnosis.learning_curve_builders import array, batch, classes, falling, loss, model, output, run
from tests.diagnosis.probe_fact_builders import seen
from unstall.diagnosis.causes import loss_output_mismatch
from unstall.diagnosis.verdict import Certainty, Clear, Found, Unknown
from unstall.journal.events import ModelDescribed


def verdict_of(
    activation: str | None,
    units: int,
    given: dict[str, Any],
    labels: dict[str, Any] | None = None,
    backend: str = "jax",
    **more: Any,
) -> object:
    described = model(outputs=[output(activation, units)], losses=[given], **more)
    parts = [array()] if labels is None else [array(), labels]
    return loss_output_mismatch.examine(run(described, batch(*parts), falling(), backend=backend))


@pytest.mark.parametrize(
    ("activation", "units", "given", "said"),
    [
        ("softmax", 1, loss("binarycrossentropy"), "softmax over a single unit"),
        ("sigmoid", 1, loss("sparsecategoricalcrossentropy"), "one output"),
        ("linear", 8, loss("sparsecategoricalcrossentropy"), "raw scores"),
        ("linear", 1, loss("binarycrossentropy"), "raw scores"),
        ("relu", 8, loss("categoricalcrossentropy"), "values of a relu"),
        ("sigmoid", 1, loss("binarycrossentropy", from_logits=True), "applies another one"),
        ("softmax", 8, loss("sparsecategoricalcrossentropy", from_logits=True), "applies another one"),
    ],
)
def test_found_in_the_model_alone(activation: str, units: int, given: dict[str, Any], said: str) -> None:
    verdict = verdict_of(activation, units, given)
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.CERTAIN
    assert said in verdict.summary
    assert verdict.where == "train.py:55"


def test_found_but_not_for_certain_where_keras_puts_it_right() -> None:
    verdict = verdict_of("sigmoid", 1, loss("binarycrossentropy", from_logits=True), backend="tensorflow")
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.LIKELY


def test_found_when_one_class_number_is_compared_with_ten_outputs() -> None:
    verdict = verdict_of("softmax", 10, loss("meansquarederror"), classes(0, 9, shape=[8000, 1]))
    assert isinstance(verdict, Found)
    assert "one class number" in verdict.summary


def test_found_when_a_binary_loss_is_given_seven_classes() -> None:
    verdict = verdict_of("sigmoid", 1, loss("binarycrossentropy"), classes(0, 6))
    assert isinstance(verdict, Found)
    assert "7 units" in verdict.actions[0]


def test_found_when_the_targets_are_out_of_reach() -> None:
    verdict = verdict_of("sigmoid", 1, loss("meansquarederror"), array("y", min=10.0, max=50.0, rms=28.0, whole=False))
    assert isinstance(verdict, Found)
    assert "a sigmoid gives 0 to 1" in verdict.summary


@pytest.mark.parametrize(
    ("activation", "units", "given", "labels"),
    [
        ("sigmoid", 1, loss("binarycrossentropy"), classes(0, 1)),
        ("softmax", 2, loss("sparsecategoricalcrossentropy"), classes(0, 1)),
        ("softmax", 2, loss("binarycrossentropy"), classes(0, 1, shape=[8000, 2])),
        ("sigmoid", 6, loss("binarycrossentropy"), classes(0, 1, shape=[8000, 6])),
        ("linear", 8, loss("sparsecategoricalcrossentropy", from_logits=True), classes(0, 7)),
        ("linear", 1, loss("meansquarederror"), array("y", min=-3e4, max=3e4, rms=2e4, whole=False)),
        ("sigmoid", 196, loss("meansquarederror"), array("y", min=0.0, max=1.0, rms=0.5, whole=False, shape=[8000, 196])),
        ("tanh", 1, loss("hinge"), classes(-1, 1)),
        (None, 8, loss("sparsecategoricalcrossentropy"), classes(0, 7)),  # an activation that cannot be told
        ("linear", 3, loss("", own="masked"), classes(0, 255)),  # a loss of one's own
    ],
)
def test_clear_for_pairs_that_work(activation: str | None, units: int, given: dict[str, Any], labels: dict[str, Any]) -> None:
    assert isinstance(verdict_of(activation, units, given, labels), Clear)


def test_clear_when_the_step_is_the_programs_own() -> None:
    assert isinstance(verdict_of("linear", 8, loss("sparsecategoricalcrossentropy"), own_step=True), Clear)


def test_clear_for_a_model_class_of_ones_own() -> None:
    described = model(outputs=[], losses=[loss()])
    assert isinstance(loss_output_mismatch.examine(run(described, falling())), Clear)


def test_unknown_without_a_look_inside() -> None:
    assert isinstance(loss_output_mismatch.examine(journal(started())), Unknown)


def called(made_by: str | None, **facts: Any) -> object:
    """A loss as it was called in one's own loop."""
    usual = {"shape": [32, 8], "where": f"{FOLDER}/train.py:44", "made_by": made_by, **loss("sparsecategoricalcrossentropy")}
    event = seen("loss_called", 1, **{**usual, **facts})
    described = ModelDescribed(at=T0 + 1.1, facts={"own_loop": True, "optimizer": "Adam"})
    return loss_output_mismatch.examine(run(event, described, falling(), api="own_loop"))


def test_found_in_ones_own_loop_by_the_values() -> None:
    verdict = called(None, least=-3.1, most=4.2)
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.CERTAIN
    assert verdict.where == "train.py:44"
    assert verdict.summary.startswith("The model gives values from -3.1 to 4.2, but sparse categorical cross-entropy takes them")
    assert "no activation" not in verdict.summary  # of the last layer nothing was seen


def test_found_in_ones_own_loop_by_the_operation() -> None:
    verdict = called("BiasAdd")
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.LIKELY
    assert isinstance(called("Softmax", from_logits=True), Found)


def test_clear_in_ones_own_loop() -> None:
    assert isinstance(called("Softmax"), Clear)
    assert isinstance(called("BiasAdd", from_logits=True), Clear)
    assert isinstance(called(None, least=0.01, most=0.98), Clear)
    assert isinstance(called("AddV2"), Clear), "what was added up may well be probabilities"


@pytest.mark.parametrize(
    ("activation", "units", "given"),
    [("softmax", 10, loss("binarycrossentropy")), ("sigmoid", 10, loss("categoricalcrossentropy"))],
)
def test_found_but_not_for_certain_when_the_loss_is_of_the_other_kind(activation: str, units: int, given: dict[str, Any]) -> None:
    verdict = verdict_of(activation, units, given)
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.LIKELY
