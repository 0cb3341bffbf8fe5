"""What a step computes, before a backend makes a step of it: losses of a part of a batch, and what of a detector changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import keras
import numpy as np
from keras import ops

from unstall.config.settings import Settings
from unstall.detectors.detector import Detector, Targets, Term, divide_terms
from unstall.detectors.layers.boxes import Tensor
from unstall.detectors.layers.conv_norm import list_leaf_layers
from unstall.detectors.layers.rng import Draw
from unstall.training.health.gradient_norms import group_layers
from unstall.training.step.optimizer import Rules, State, create_state, get_scale, update_state

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
