"""A training step on the backend that runs: compiled where it compiles, its state where the device has it."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

import keras
import numpy as np

if TYPE_CHECKING:
    from unstall.training.step.program import Program

Arrays = dict[str, np.ndarray]


class TrainStep(Protocol):
    """The state is that of `unstall.training.step.optimizer`, by its names. The detector's variables hold the newest
    weights always."""

    def __call__(self, batch: Arrays, rate: float, key: np.ndarray) -> Any:
        """One step. What it tells (`Program.pack_output`) is on the device still: nothing is waited for."""

    def arrays(self) -> Arrays:
        """Copies of the whole state, which later steps leave alone."""

    def restore(self, arrays: Arrays) -> None:
        """Of the same names, shapes and kinds as `arrays` gives."""

    def averaged(self) -> AbstractContextManager[None]:
        """Meanwhile the detector's variables hold the averages, and Keras may do with them what it likes."""

    def lent(self) -> AbstractContextManager[None]:
        """The same with the weights themselves."""


class DistributedTrainStep(TrainStep, Protocol):
    """A step that several processes make together; each gives its part of the batch."""

    def exchange_requests(self, requests: tuple[bool, bool]) -> tuple[bool, bool]:
        """What this process wishes goes with the next step; what any wished with an earlier one comes back, to all alike."""

    def take_over(self) -> None:
        """All have the state of the first process from now on."""


def create_distributed_train_step(program: Program, state: Arrays) -> DistributedTrainStep:
    """In a process that has joined the others."""
    from unstall.training.step.train_step_jax_distributed import DistributedJaxTrainStep

    return DistributedJaxTrainStep(program, state)


def create_train_step(program: Program, state: Arrays) -> TrainStep:
    backend = keras.backend.backend()
    if backend == "jax":
        from unstall.training.step.train_step_jax import JaxTrainStep

        return JaxTrainStep(program, state)
    if backend == "tensorflow":
        from unstall.training.step.train_step_tensorflow import TensorFlowTrainStep

        return TensorFlowTrainStep(program, state)
    from unstall.training.step.train_step_torch import TorchTrainStep

    return TorchTrainStep(program, state)
