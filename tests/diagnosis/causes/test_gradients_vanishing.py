"""gradients_vanishing: gradients that fade from layer to layer, and deep nets that learn."""

from typing import Any

from tests.diagnosis.builders import journal, started
from tests.diagnosis.learning_curve_builders import falling, guessing, model, run, stuck, weight, weights
from unstall.diagnosis.causes import gradients_vanishing
from unstall.diagnosis.verdict import Clear, Found, Unknown
from unstall.journal.events import Event


def layers(activation: str, count: int = 8) -> list[dict[str, Any]]:
    return [{"name": f"dense_{index}", "class": "Dense", "activation": activation} for index in range(count)]


def deep(shrink: float, key: str = "gradient", count: int = 8) -> Event:
    """Each layer's gradient is so many times that of the layer after it."""
    rows = [weight(f"model/dense_{index}/kernel", **{key: 0.1 * shrink ** (count - 1 - index)}) for index in range(count)]
    return weights(10, 900, *rows, rate=0.1)


def verdict_of(*events: Event | list[Event], activation: str = "sigmoid") -> object:
    return gradients_vanishing.examine(run(model(layers=layers(activation)), guessing(), *events))


def test_found_by_what_the_optimizer_remembers() -> None:
    verdict = verdict_of(deep(0.05), stuck(2.31))
    assert isinstance(verdict, Found)
    assert "the gradient of dense_0/kernel is" in verdict.summary
    assert verdict.where == "train.py:55"


def test_found_by_the_steps_of_plain_sgd() -> None:
    assert isinstance(verdict_of(deep(0.05, key="step"), stuck(2.31)), Found)


def test_clear_when_the_early_layers_are_merely_slower() -> None:
    assert isinstance(verdict_of(deep(0.5), stuck(2.31)), Clear)


def test_clear_when_it_learns_all_the_same() -> None:
    assert isinstance(verdict_of(deep(0.05), falling()), Clear)


def test_clear_when_one_layer_alone_gets_little() -> None:
    rows = [weight(f"model/dense_{index}/kernel", gradient=1e-9 if index == 0 else 0.1 / (index + 1)) for index in range(8)]
    assert isinstance(verdict_of(weights(10, 900, *rows), stuck(2.31)), Clear)


def test_clear_when_a_relu_died() -> None:
    rows = [weight(f"model/dense_{index}/kernel", gradient=0.0 if index < 6 else 0.1) for index in range(8)]
    assert isinstance(verdict_of(weights(10, 900, *rows), stuck(2.31), activation="relu"), Clear)


def test_clear_for_a_shallow_net() -> None:
    assert isinstance(verdict_of(deep(0.001, count=3), stuck(2.31)), Clear)


def test_unknown_without_samples_of_the_weights() -> None:
    assert isinstance(verdict_of(stuck(2.31)), Unknown)
    assert isinstance(gradients_vanishing.examine(journal(started())), Unknown)
