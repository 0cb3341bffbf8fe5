"""One training step: losses, gradients, clipping, the optimizer, averages of weights and, for float16, the scale of the loss.

    step = Step(detector, settings, total_steps)
    output = step(batch)        # does not wait for the device
    output.read().loss          # does

k micro-batches give the update of one large batch: losses are shared by what the whole batch holds, and what is drawn at random
hangs on an image's place in it. Two things differ: norms that learn see a micro-batch at a time, so their statistics are of fewer
images (and move k times in an update); and where the number of regions that learn is not known beforehand (Faster R-CNN), the
first stage runs once more to count them.

An update whose loss or gradient is not finite is not applied: weights, statistics, what the optimizer remembers and averages stay
as they were. The step counts all the same, for the rate and for what is drawn: it has used up its batch.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from unstall.backends import find_running_backend
from unstall.base.errors import InvalidInputError
from unstall.config.settings import Settings
from unstall.detectors.detector import Detector
from unstall.training.step.optimizer import MIN_SCALE, compute_rate
from unstall.training.step.program import Program

ITERATION = "iteration"


@dataclass(frozen=True)
class StepNumbers:
    """Of one step."""

    losses: dict[str, float]
    loss: float
    gradient_norm: float  # before it is cut
    group_norms: dict[str, float]  # the same of each group of layers, from the image to the boxes
    rate: float
    is_applied: bool
    loss_scale: float  # that it was computed with; 1 but for float16

    @property
    def is_overflow(self) -> bool:
        """Not applied because the loss was scaled too far for float16, as happens now and then: the scale is halved by now."""
        return not self.is_applied and math.isfinite(self.loss) and self.loss_scale > MIN_SCALE


class StepOutput:
    """What a step tells when it is done."""

    def __init__(self, result: Any, losses: tuple[str, ...], groups: tuple[str, ...], rate: float) -> None:
        self._output, self._losses, self._groups, self._rate = result, losses, groups, rate

    def read(self) -> StepNumbers:
        """Waits for the step."""
        *values, norm, is_applied, scale = (float(each) for each in np.asarray(self._output))
        count = len(self._losses)
        losses, norms = dict(zip(self._losses, values, strict=False)), dict(zip(self._groups, values[count:], strict=True))
        return StepNumbers(losses, sum(losses.values()), norm, norms, self._rate, bool(is_applied), scale)


class Step:
    def __init__(self, detector: Detector, settings: Settings, total_steps: int) -> None:
        self.detector, self.settings, self.total_steps = detector, settings, total_steps
        self.iteration = 0  # steps done, those that were not applied too
        self.program = Program(detector, settings)
        first = self.program.first_state()
        self._shared: DistributedTrainStep | None = (
            create_distributed_train_step(self.program, first) if settings.num_workers > 1 else None
        )
        self.train_step: TrainStep = self._shared or create_train_step(self.program, first)
        self._kinds = {name: get_kind(array) for name, array in {**first, ITERATION: self._iteration_array()}.items()}
        self._shows_averages = False

    def __call__(self, batch: dict[str, np.ndarray], rate: float | None = None) -> StepOutput:
        """At the rate that the schedule has now, or at another that is on trial."""
        if self._shows_averages:
            raise RuntimeError("A step cannot be taken while the detector holds the averages of its weights.")
        if len(batch["images"]) != self.settings.batch_share:
            raise ValueError(f"expected a batch of {self.settings.batch_share} images. Received: {len(batch['images'])}")
        rate = compute_rate(self.iteration, self.settings, self.total_steps) if rate is None else rate
        output = self.train_step(batch, rate, draw_key(self.settings.seed, self.iteration))
        self.iteration += 1
        return StepOutput(output, self.detector.loss_names, tuple(self.program.groups), rate)

    def arrays(self) -> Arrays:
        """Every number that the next step hangs on, beside the settings; copies."""
        return {**self.train_step.arrays(), ITERATION: self._iteration_array()}

    def restore(self, arrays: Arrays) -> None:
        """Bit by bit. What does not fit is refused, and nothing is changed then."""
        refuse_others(arrays, self._kinds)
        self.train_step.restore({name: array for name, array in arrays.items() if name != ITERATION})
        self.iteration = int(arrays[ITERATION])

    def exchange_requests(self, end: bool, save: bool) -> tuple[bool, bool]:
        """Whether the training is to end, or to be saved, here and now: asked after each step. Of several workers each says what
        it wishes, and all hear the same two steps later, so that none goes on without the others."""
        return (end, save) if self._shared is None else self._shared.exchange_requests((end, save))

    def take_over(self, iteration: int) -> None:
        """Of several workers all go on where the first is: with its state, at its step."""
        if self._shared is not None:
            self._shared.take_over()
            self.iteration = iteration

    @contextmanager
    def get_ema_weights(self) -> Iterator[None]:
        """The detector holds the averaged weights meanwhile; where there is no average, its own."""
        with self.train_step.get_ema_weights() if self.settings.ema_decay else self.train_step.lend_weights():
            self._shows_averages = bool(self.settings.ema_decay)
            try:
                yield
            finally:
                self._shows_averages = False

    def _iteration_array(self) -> np.ndarray:
        return np.array(self.iteration, np.int64)


def draw_key(seed: int, iteration: int) -> np.ndarray:
    """What a step draws with: of the run's seed and the step's number, so that a run that goes on draws as it would have."""
    digest = hashlib.blake2b(f"{seed} {iteration}".encode(), digest_size=8).digest()
    return np.frombuffer(digest, np.dtype("<i4")).astype(np.int32)


def get_kind(array: np.ndarray) -> str:
    return f"{array.dtype} {array.shape}"


def refuse_others(arrays: Arrays, kinds: dict[str, str]) -> None:
    """By the first name that is missing, too much or of another kind."""
    for name in (*kinds, *arrays):
        if name not in arrays or name not in kinds:
            how = "is missing" if name in kinds else "has no place here"
            raise InvalidInputError(
                f"The state of the training: '{name}' {how}. Expected that of the same detector and optimizer."
            )
        if (received := get_kind(arrays[name])) != kinds[name]:
            raise InvalidInputError(f"The state of the training: '{name}': expected {kinds[name]}. Received: {received}")


Arrays = dict[str, np.ndarray]


class TrainStep(Protocol):
    """A step on the backend that runs: compiled where it compiles, its state where the device has it.

    The state is that of `unstall.training.step.optimizer`, by its names. The detector's variables hold the newest weights always.
    """

    def __call__(self, batch: Arrays, rate: float, key: np.ndarray) -> Any:
        """One step. What it tells (`Program.pack_output`) is on the device still: nothing is waited for."""

    def arrays(self) -> Arrays:
        """Copies of the whole state, which later steps leave alone."""

    def restore(self, arrays: Arrays) -> None:
        """Of the same names, shapes and kinds as `arrays` gives."""

    def get_ema_weights(self) -> AbstractContextManager[None]:
        """Meanwhile the detector's variables hold the averages, and Keras may do with them what it likes."""

    def lend_weights(self) -> AbstractContextManager[None]:
        """The same with the weights themselves."""


class DistributedTrainStep(TrainStep, Protocol):
    """A step that several processes make together; each gives its part of the batch."""

    def exchange_requests(self, requests: tuple[bool, bool]) -> tuple[bool, bool]:
        """What this process wishes goes with the next step; what any wished with an earlier one comes back, to all alike."""

    def take_over(self) -> None:
        """All have the state of the first process from now on."""


def create_distributed_train_step(program: Program, state: Arrays) -> DistributedTrainStep:
    """In a process that has joined the others."""
    from unstall.training.step.train_step_jax import DistributedJaxTrainStep

    return DistributedJaxTrainStep(program, state)


def create_train_step(program: Program, state: Arrays) -> TrainStep:
    backend = find_running_backend()
    if backend == "jax":
        from unstall.training.step.train_step_jax import JaxTrainStep

        return JaxTrainStep(program, state)
    if backend == "tensorflow":
        from unstall.training.step.train_step_tensorflow import TensorFlowTrainStep

        return TensorFlowTrainStep(program, state)
    from unstall.training.step.train_step_torch import TorchTrainStep

    return TorchTrainStep(program, state)
