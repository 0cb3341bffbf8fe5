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
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import keras
import numpy as np
from keras import ops

from unstall.backends import find_running_backend
from unstall.base.errors import InvalidInputError
from unstall.config.settings import Settings
from unstall.detectors.detector import Detector, Targets, Term, divide_terms
from unstall.detectors.layers.boxes import Tensor
from unstall.detectors.layers.conv_norm import list_leaf_layers
from unstall.detectors.layers.rng import Draw
from unstall.training.loop.instrumentation import group_layers
from unstall.training.step.optimizer import MIN_SCALE, Rules, State, compute_rate, create_state, get_scale, update_state

# What losses are shared by: what they are given, or what becomes of a part's own counts; None: those themselves.
Counts = Tensor | Callable[[Tensor], Tensor] | None
Part = dict[str, Tensor]  # images, boxes, classes and mask of a batch or of some of its images


class StepResult(NamedTuple):
    losses: Tensor  # one after the other, as the detector names them
    statistics: dict[str, Tensor]  # that norms have learned, by the names of their variables


def list_batch_shapes(
    image_size: tuple[int, ...], images: int, max_boxes_per_image: int
) -> dict[str, tuple[tuple[int, ...], str]]:
    """Shapes and dtypes of what a step is fed with."""
    return {
        "images": ((images, *image_size, 3), "uint8"),
        "boxes": ((images, max_boxes_per_image, 4), "float32"),
        "classes": ((images, max_boxes_per_image), "int32"),
        "mask": ((images, max_boxes_per_image), "bool"),
    }


class Program:
    """Variables by the name of their layer and their own: those that learn, statistics that change meanwhile, and the rest."""

    def __init__(self, detector: Detector, settings: Settings) -> None:
        self.detector = detector
        self.rules = Rules.of(settings)
        self.micro_batches, self.micro_batch_size = settings.micro_batches, settings.at_once
        self.trained: dict[str, Any] = {}
        self.statistics: dict[str, Any] = {}
        self.fixed: dict[str, Any] = {}
        learned = {id(variable) for variable in detector.trainable_variables}
        for layer in list_leaf_layers(detector):
            for variable in (*layer._trainable_variables, *layer._non_trainable_variables):
                is_statistic = layer.trainable and not any(variable is each for each in layer._trainable_variables)
                kind = self.trained if id(variable) in learned else self.statistics if is_statistic else self.fixed
                kind[f"{layer.name}/{variable.name}"] = variable
        self.groups = group_layers(self.trained)

    @property
    def changing(self) -> dict[str, Any]:
        return {**self.trained, **self.statistics}

    @property
    def variables(self) -> dict[str, Any]:
        return {**self.changing, **self.fixed}

    def first_state(self) -> dict[str, np.ndarray]:
        """Of everything that a step changes, and of what it reads (`weights/…`)."""
        weights = {name: np.array(ops.convert_to_numpy(variable.value)) for name, variable in self.variables.items()}
        trained, changing = ({name: weights[name] for name in names} for names in (self.trained, self.changing))
        own = create_state(trained, changing, self.rules)
        return {**{f"weights/{name}": value for name, value in weights.items()}, **own}

    def counts(self, values: dict[str, Tensor], part: Part, draw: Draw) -> Tensor:
        """What the losses of a part are shared by, one after the other."""
        with self._with(values):
            counts = self.detector.compute_loss_counts(part["images"], _targets(part), draw, training=True)
        return ops.stack([counts[name] for name in self.detector.loss_names])

    def losses(
        self, values: dict[str, Tensor], part: Part, draw: Draw, counts: Counts, scale: Tensor | float
    ) -> tuple[Tensor, StepResult]:
        """Their sum, times `scale`, and themselves. `values` stand in for those of the variables. Without `counts` they are
        shared by what the part holds: then it is the whole batch."""
        names = self.detector.loss_names
        with self._with(values) as scope:
            terms = self.detector.compute_loss_terms(part["images"], _targets(part), draw, training=True)
        held: Tensor = counts
        if callable(counts):
            held = counts(ops.stop_gradient(ops.stack([terms[name].count for name in names])))
        if held is not None:
            terms = {name: Term(terms[name].total, held[number]) for number, name in enumerate(names)}
        losses = divide_terms(terms)
        learned = {name: scope.get_current_value(variable) for name, variable in self.statistics.items()}
        return sum(losses.values()) * scale, StepResult(ops.stack([losses[name] for name in names]), learned)

    def updated(
        self, state: State, gradients: dict[str, Tensor], computed: StepResult, rate: Tensor
    ) -> tuple[State, Tensor]:  # fmt: skip
        """The state after the step, and what is told of it."""
        loss = ops.sum(computed.losses)
        after, sizes, is_applied = update_state(state, gradients, computed.statistics, loss, rate, self.rules)
        norms = ops.stack([ops.sqrt(sum(sizes.squares[name] for name in names)) for names in self.groups.values()])
        return after, self.pack_output(computed.losses, norms, sizes.norm, is_applied, get_scale(state, self.rules))

    def pack_output(self, losses: Tensor, norms: Tensor, norm: Tensor, is_applied: Tensor, scale: Tensor | float) -> Tensor:
        """In one piece, as each that is fetched from a device takes its own time. `norms`: of the gradients of each group."""
        numbers = [ops.cast(each, "float32") for each in (norm, is_applied, scale)]
        return ops.concatenate([losses, norms, ops.stack(numbers)])

    def _with(self, values: dict[str, Tensor]) -> keras.StatelessScope:
        """In which variables have these values, and what is assigned to them goes no further."""
        variables = self.variables
        return keras.StatelessScope([(variables[name], value) for name, value in values.items()], initialize_variables=False)


def _targets(part: Part) -> Targets:
    return Targets(part["boxes"], part["classes"], part["mask"])


# The same losses as a Keras model: for shapes, gradients and comparisons, not for training.


class LossModel(keras.Model):  # type: ignore[misc]
    """Takes a dict of `images`, `boxes`, `classes` and `mask`, and returns each loss by its name."""

    def __init__(self, detector: Detector, seed: int = 0) -> None:
        super().__init__(name=f"losses_of_{detector.name}", dtype="float32")
        self.detector = detector
        self.seed_generator = keras.random.SeedGenerator(seed)
        self.built = True

    def call(self, batch: dict[str, Tensor], training: bool | None = None) -> dict[str, Tensor]:
        targets = Targets(batch["boxes"], batch["classes"], batch["mask"])
        return self.detector.compute_losses(batch["images"], targets, self.seed_generator, training=bool(training))


# The step itself.


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
