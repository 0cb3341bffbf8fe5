"""Losses and their gradients on whichever backend runs, and a function compiled as that backend compiles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tests.detectors.seeded import variables_of


class Differentiated(NamedTuple):
    losses: dict[str, float]
    dtypes: dict[str, str]  # of the losses
    gradients: dict[str, np.ndarray]  # of what learns, by name
    states: dict[str, np.ndarray]  # of what does not, after the step


Run = Callable[[dict[str, np.ndarray]], tuple[dict[str, Any], list[np.ndarray]]]


class Differentiating:
    """In training mode, compiled once where the backend compiles. Weights stay as they are; running statistics do not."""

    def __init__(self, model: Any) -> None:
        import keras

        self.model = model
        self._named = variables_of(model.detector)
        self._learned = learned_by(model)
        made = {"jax": _by_jax, "tensorflow": _by_tensorflow, "torch": _by_torch}[keras.backend.backend()]
        self._run = made(model, list(self._learned.values()))

    def __call__(self, batch: dict[str, np.ndarray]) -> Differentiated:
        import keras

        losses, gradients = self._run(batch)
        states = {name: each for name, each in self._named.items() if name not in self._learned}
        return Differentiated(
            {name: float(keras.ops.convert_to_numpy(loss)) for name, loss in losses.items()},
            {name: keras.backend.standardize_dtype(loss.dtype) for name, loss in losses.items()},
            dict(zip(self._learned, gradients, strict=True)),
            {name: keras.ops.convert_to_numpy(variable).copy() for name, variable in states.items()},
        )


def differentiated(model: Any, batch: dict[str, np.ndarray]) -> Differentiated:
    return Differentiating(model)(batch)


def states_after(model: Any, batch: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """All variables of the detector, by name, after its losses were computed in training mode: no gradient, no step."""
    import keras

    if keras.backend.backend() == "jax":
        import jax

        kinds = (model.trainable_variables, model.non_trainable_variables)
        run = jax.jit(lambda trainable, others: model.stateless_call(trainable, others, batch, training=True)[1])
        for variable, state in zip(kinds[1], run(*([each.value for each in kind] for kind in kinds)), strict=True):
            variable.assign(state)
    else:
        model(batch, training=True)
    return {name: keras.ops.convert_to_numpy(variable).copy() for name, variable in variables_of(model.detector).items()}


def learned_by(model: Any) -> dict[str, Any]:
    """The variables of the detector that a step changes, by name."""
    return {name: each for name, each in variables_of(model.detector).items() if each.trainable and _is_in(each, model)}


def _is_in(variable: Any, model: Any) -> bool:
    return any(variable is other for other in model.trainable_variables)


def _by_jax(model: Any, learned: list[Any]) -> Run:
    import jax

    def total(trainable: list[Any], others: list[Any], batch: dict[str, Any]) -> tuple[Any, Any]:
        losses, others = model.stateless_call(trainable, others, batch, training=True)
        return sum(losses.values()), (losses, others)

    step = jax.jit(jax.value_and_grad(total, has_aux=True))

    def run(batch: dict[str, np.ndarray]) -> tuple[dict[str, Any], list[np.ndarray]]:
        kinds = (model.trainable_variables, model.non_trainable_variables)
        (_, (losses, states)), gradients = step(*([variable.value for variable in kind] for kind in kinds), batch)
        for variable, state in zip(kinds[1], states, strict=True):
            variable.assign(state)
        by_variable = {id(each): gradient for each, gradient in zip(kinds[0], gradients, strict=True)}
        return losses, [np.asarray(by_variable[id(variable)]) for variable in learned]

    return run


def _by_tensorflow(model: Any, learned: list[Any]) -> Run:
    import tensorflow as tf

    @tf.function(autograph=False)
    def step(batch: dict[str, Any]) -> tuple[dict[str, Any], list[Any]]:
        with tf.GradientTape() as tape:
            losses = model(batch, training=True)
            total = tf.add_n(list(losses.values()))
        return losses, tape.gradient(total, [variable.value for variable in learned], unconnected_gradients="zero")

    def run(batch: dict[str, np.ndarray]) -> tuple[dict[str, Any], list[np.ndarray]]:
        losses, gradients = step({name: tf.constant(value) for name, value in batch.items()})
        return losses, [np.asarray(gradient) for gradient in gradients]

    return run


def _by_torch(model: Any, learned: list[Any]) -> Run:
    import keras

    def run(batch: dict[str, np.ndarray]) -> tuple[dict[str, Any], list[np.ndarray]]:
        model.zero_grad()
        losses = model(batch, training=True)
        sum(losses.values()).backward()
        gradients = [
            np.zeros(variable.shape, np.float32)
            if variable.value.grad is None
            else keras.ops.convert_to_numpy(variable.value.grad)
            for variable in learned
        ]
        return {name: loss.detach() for name, loss in losses.items()}, [gradient.copy() for gradient in gradients]

    return run


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """With the weights of now. PyTorch runs it as it stands."""
    import keras

    if keras.backend.backend() == "jax":
        import jax

        return jax.jit(function)
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        return tf.function(function, autograph=False)
    return function


def slopes_of(function: Callable[[list[Any]], Any], values: list[np.ndarray]) -> tuple[float, list[np.ndarray]]:
    """What a function of arrays gives, and its slope by each of them."""
    import keras

    if keras.backend.backend() == "jax":
        import jax

        value, slopes = jax.jit(jax.value_and_grad(function))(values)
        return float(value), [np.asarray(slope) for slope in slopes]
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        tensors = [tf.constant(each) for each in values]
        with tf.GradientTape() as tape:
            tape.watch(tensors)
            value = function(tensors)
        slopes = tape.gradient(value, tensors, unconnected_gradients="zero")
        return float(value), [tf.convert_to_tensor(slope).numpy() for slope in slopes]
    import torch

    tensors = [torch.tensor(each, requires_grad=True) for each in values]
    value = function(tensors)
    value.backward()
    return value.item(), [np.zeros(each.shape) if each.grad is None else each.grad.numpy() for each in tensors]
