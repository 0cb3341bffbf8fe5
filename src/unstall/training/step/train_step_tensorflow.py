"""A training step on TensorFlow: one function of the graph, whose state are variables.

It is compiled by XLA where `fit` would be, which is nearly everywhere: Keras knows the layers and platforms that cannot. What a
step does to hundreds of variables, a few numbers at a time, is then a few kernels.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf

from unstall.detectors.layers.rng import Draw
from unstall.training.step.optimizer import get_scale
from unstall.training.step.step import Program, StepResult

if TYPE_CHECKING:
    from unstall.training.step.step import Arrays

Tensors = dict[str, tf.Tensor]


class TensorFlowTrainStep:
    def __init__(self, program: Program, state: Arrays) -> None:
        self.program = program
        own = {f"weights/{name}": variable.value for name, variable in program.variables.items()}
        fixed = {f"weights/{name}" for name in program.fixed}
        made = {name: tf.Variable(value, trainable=False) for name, value in state.items() if name not in own}
        self._variables: dict[str, tf.Variable] = {**own, **made}
        self._changing = {name: variable for name, variable in self._variables.items() if name not in fixed}
        self._function = tf.function(self._run, autograph=False, jit_compile=program.detector.jit_compile)
        self.restore(state)

    def __call__(self, batch: Arrays, rate: float, key: np.ndarray) -> tf.Tensor:
        tensors = {name: tf.convert_to_tensor(array) for name, array in batch.items()}
        return self._function(tensors, tf.constant(rate, tf.float32), tf.convert_to_tensor(key))

    def arrays(self) -> Arrays:
        return {name: np.array(variable.numpy()) for name, variable in self._variables.items()}

    def restore(self, arrays: Arrays) -> None:
        for name, variable in self._variables.items():
            variable.assign(arrays[name])

    def lend_weights(self) -> AbstractContextManager[None]:
        return nullcontext()  # nothing that Keras computes changes what variables hold

    @contextmanager
    def get_ema_weights(self) -> Iterator[None]:
        names = self.program.changing
        before = {name: tf.identity(self._variables[f"weights/{name}"]) for name in names}
        for name in names:
            self._variables[f"weights/{name}"].assign(self._variables[f"average/{name}"])
        try:
            yield
        finally:
            for name, value in before.items():
                self._variables[f"weights/{name}"].assign(value)

    def _run(self, batch: Tensors, rate: tf.Tensor, key: tf.Tensor) -> tf.Tensor:
        program = self.program
        state = {name: tf.convert_to_tensor(variable) for name, variable in self._changing.items()}
        scale = get_scale(state, program.rules)
        statistics = {name: state[f"weights/{name}"] for name in program.statistics}
        if program.micro_batches == 1:
            computed, gradients = self._differentiated(statistics, batch, Draw(key), None, scale)
        else:
            computed, gradients = self._in_parts(statistics, batch, key, scale)
        after, result = program.updated(state, gradients, computed, rate)
        for name, variable in self._changing.items():
            if after[name] is not state[name]:
                variable.assign(after[name])
        return result

    def _differentiated(
        self, statistics: Tensors, part: Tensors, draw: Draw, counts: tf.Tensor | None, scale: Any
    ) -> tuple[StepResult, Tensors]:
        """The weights that learn are read from their variables; only these are watched."""
        weights = {name: self._variables[f"weights/{name}"] for name in self.program.trained}
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(list(weights.values()))
            total, computed = self.program.losses(statistics, part, draw, counts, scale)
        return computed, tape.gradient(total, weights, unconnected_gradients=tf.UnconnectedGradients.ZERO)

    def _in_parts(self, statistics: Tensors, batch: Tensors, key: tf.Tensor, scale: Any) -> tuple[StepResult, Tensors]:
        """One part of the batch after the other, its losses shared by what the whole batch holds, and gradients summed up."""
        number, size = self.program.micro_batches, self.program.micro_batch_size
        parts = {name: tf.reshape(each, (number, size, *each.shape[1:])) for name, each in batch.items()}

        def part_at(place: tf.Tensor) -> tuple[Tensors, Draw]:
            return {name: each[place] for name, each in parts.items()}, Draw(key, place * size)

        def count(place: tf.Tensor, counts: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            return place + 1, counts + self.program.counts(statistics, *part_at(place))

        def add(place: tf.Tensor, before: StepResult, gradients: Tensors) -> tuple[tf.Tensor, StepResult, Tensors]:
            computed, more = self._differentiated(before.statistics, *part_at(place), counts, scale)
            sums = StepResult(before.losses + computed.losses, computed.statistics)
            return place + 1, sums, {name: gradient + more[name] for name, gradient in gradients.items()}

        def is_left(place: tf.Tensor, *_: Any) -> tf.Tensor:
            return place < number

        none = tf.zeros(len(self.program.detector.loss_names))
        nothing = {name: tf.zeros(variable.shape) for name, variable in self.program.trained.items()}
        once = {"parallel_iterations": 1, "maximum_iterations": number}
        _, counts = tf.while_loop(is_left, count, (0, none), **once)
        _, computed, gradients = tf.while_loop(is_left, add, (0, StepResult(none, statistics), nothing), **once)
        return computed, gradients
