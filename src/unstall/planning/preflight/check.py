"""What a check is given and what it answers: a context, which works each thing out once, and a result with its status."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from unstall import backends
from unstall.config.settings import Settings

if TYPE_CHECKING:
    from unstall.data.example import DataSet
    from unstall.planning.memory import MemoryPlan

STATUSES = ("error", "warning", "unknown", "ok")  # the gravest first


@dataclass(frozen=True)
class CheckOk:
    status: ClassVar[str] = "ok"
    fix: ClassVar[str] = ""
    reason: str
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class CheckWarning:
    """It would run, worse than it could, or with something that is easily overlooked."""

    status: ClassVar[str] = "warning"
    reason: str
    fix: str
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class CheckError:
    """It would fail, or learn nothing of use."""

    status: ClassVar[str] = "error"
    reason: str
    fix: str
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class CheckUnknown:
    """What is missing to say; and how to let it be seen, where there is a way."""

    status: ClassVar[str] = "unknown"
    reason: str
    fix: str = ""
    facts: dict[str, Any] = field(default_factory=dict)


CheckResult = CheckOk | CheckWarning | CheckError | CheckUnknown


def as_plain(check: str, result: CheckResult, seconds: float) -> dict[str, Any]:
    return {
        "check": check,
        "status": result.status,
        "reason": result.reason,
        "fix": result.fix,
        "facts": result.facts,
        "seconds": round(seconds, 3),
    }


def count_by_status(checks: list[dict[str, Any]]) -> dict[str, int]:
    """How many checks have each status, the gravest first."""
    return {status: sum(check["status"] == status for check in checks) for status in STATUSES}


# What the checks look at, each thing worked out once, when the first check asks for it.


FLOAT_BYTES = 4  # weights and what the optimizer keeps of them are float32, whatever layers compute in
SHAPES_CLASSES = 6
SLOTS = {"sgd": 1, "adamw": 2}  # numbers that an optimizer keeps for each weight


@dataclass
class Context:
    settings: Settings
    folder: Path  # of the run, which need not be there yet
    is_quick: bool = False
    progress: Callable[[str, int, int], None] | None = None
    # What a check found, for those that come after it:
    measured_images_per_s: float | None = field(default=None, init=False)  # of training steps
    planned: MemoryPlan | None = field(default=None, init=False)

    @cached_property
    def backend(self) -> str:
        """That the run will be on; empty where none is installed."""
        wanted = self.settings.backend if self.settings.backend != "auto" else os.environ.get("KERAS_BACKEND", "")
        return wanted or next((each for each in backends.BACKENDS if backends.is_installed(each)), "")

    @cached_property
    def data(self) -> DataSet | None:
        """None: the embedded shapes."""
        from unstall.data.formats import read

        if self.settings.data is None:
            return None
        return read(self.settings.data, self.settings.format, self.progress, self.settings.label_map)

    @property
    def images(self) -> int:
        return len(self.data.examples) if self.data is not None else self.settings.synthetic_images

    @cached_property
    def images_to_learn_from(self) -> int:
        """Without those that are kept for scoring and testing."""
        from unstall.training.loop.datasets import select_training_images, select_training_set

        if self.data is None:
            return select_training_set(self.settings.synthetic_images, self.settings)
        return select_training_images(self.data, self.settings)

    @property
    def classes(self) -> int:
        return len(self.data.classes) if self.data is not None else SHAPES_CLASSES

    @cached_property
    def image_size(self) -> tuple[int, int]:
        """Height and width that the detector sees."""
        from unstall.config.detectors import get_image_size

        height, width = self.settings.detector.get("image_size") or get_image_size(self.settings.model)
        return int(height), int(width)

    @property
    def published_parameters(self) -> int:
        """Whatever the data is."""
        from unstall.detectors.weights import compatibility

        return compatibility.list_parameters(self.settings.model)

    @cached_property
    def parameters(self) -> int:
        """Of the detector as it is published, with the classes of this data."""
        from unstall.detectors.weights.compatibility import list_known_variants, with_classes

        known = list_known_variants()[self.settings.model]
        return sum(prod(shape) for shape in with_classes(known.shapes, known.classes, self.classes).values())

    @property
    def weights_bytes(self) -> int:
        return self.parameters * FLOAT_BYTES

    @property
    def checkpoint_bytes(self) -> int:
        """Weights, what the optimizer keeps of each, and their moving average."""
        copies = 1 + SLOTS[self.settings.optimizer] + (self.settings.ema_decay > 0)
        return self.weights_bytes * copies

    @cached_property
    def largest_image_bytes(self) -> int:
        """Decoded, as far as sizes are known from annotations and headers."""
        if self.data is None:
            return prod(self.image_size) * 3
        sizes = [(example.width or 0) * (example.height or 0) for example in self.data.examples]
        return max(sizes, default=0) * 3

    @property
    def num_input_workers(self) -> int:
        return self.settings.num_input_workers or len(os.sched_getaffinity(0))
