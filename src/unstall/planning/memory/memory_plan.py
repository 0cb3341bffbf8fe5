"""The plan: what a run will need, by whose word, whether it fits, and what to change where it does not. Plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from unstall.planning.memory.devices import Device
from unstall.planning.memory.fit_policy import Choice, FitAttempt
from unstall.planning.memory.host import HostNeed
from unstall.planning.memory.messages import Answer, Way

SHOWN_LAYERS = 12
MAX_IMAGES = 1024  # of a micro-batch that are looked for: above, nothing is gained


@dataclass(frozen=True)
class MemoryPlan:
    device: Device
    backend: str
    way: Way
    asked_of: str  # the backend whose figures these are: JAX's may stand for another's
    error: float  # by how much such figures have been wrong, as a share: so much is kept free
    usable_bytes: int  # of the device, by this backend
    usable_why: str
    wanted: Choice
    tried: tuple[FitAttempt, ...]  # in order; the last one is what the figures below are of
    batch_size: int
    training: Answer
    evaluation: Answer  # beside it the state of the training stays where it is
    evaluation_batch: int  # images at once
    largest_micro_batch: int | None  # None: was not looked for
    host: HostNeed
    note: str = ""  # what would give better figures

    @property
    def limit_bytes(self) -> int:
        """What is promised, at most."""
        return compute_limit(self.usable_bytes, self.error)

    @property
    def fits(self) -> bool:
        return self.tried[-1].fits and with_state(self.evaluation, self.training) <= self.limit_bytes

    @property
    def host_fits(self) -> bool:
        """Of a device that is elsewhere, so is its host."""
        return self.host.fits or not self.device.is_here

    @property
    def chosen(self) -> Choice:
        return self.tried[-1].choice

    def changes(self) -> dict[str, Any]:
        """Of the settings, so that it fits: nothing where it does as it was wanted, or nothing helps."""
        if not self.fits:
            return {}
        wanted, chosen = self.wanted.as_plain(), self.chosen.as_plain()
        return {name: value for name, value in chosen.items() if value != wanted[name]}

    def as_plain(self) -> dict[str, Any]:
        layers = list(self.training.as_plain()["layers"][:SHOWN_LAYERS])
        return {
            "device": self.device.as_plain(), "backend": self.backend, "method": self.way, "asked_of": self.asked_of,
            "error": self.error, "usable_bytes": self.usable_bytes, "usable_why": self.usable_why,
            "limit_bytes": self.limit_bytes, "fits": self.fits, "batch_size": self.batch_size,
            "wanted": self.wanted.as_plain(), "chosen": self.chosen.as_plain(), "changes": self.changes(),
            "tried": [each.as_plain() for each in self.tried],
            "training": _parts(self.training),
            "evaluation": {
                **_parts(self.evaluation), "images": self.evaluation_batch,
                "with_the_training": with_state(self.evaluation, self.training),
            },
            "checkpoint": {"disk_bytes": self.training.state, "host_bytes": self.training.state},
            "layers": layers, "largest_micro_batch": self.largest_micro_batch, "max_images": MAX_IMAGES,
            "host": self.host.as_plain(), "note": self.note,
        }  # fmt: skip


def compute_limit(usable_bytes: int, error: float) -> int:
    return int(usable_bytes / (1 + error))


def with_state(evaluation: Answer, training: Answer) -> int:
    """What an evaluation needs with what the training keeps on the device meanwhile; it works on copies of the weights."""
    return evaluation.need + training.state


def _parts(answer: Answer) -> dict[str, Any]:
    names = ("need", "weights", "gradients", "optimizer", "activations", "input", "seconds")
    return {name: getattr(answer, name) for name in names}
