"""What crosses between comparing and explaining: one thing that differs between two runs, and what such a thing can change."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

MEMORY, INPUT, COMPUTE, COMPILE, VALIDATION, CHECKPOINT, LOSS, FREE = (
    "memory", "input", "compute", "compile", "validation", "checkpoint", "loss", "free",
)  # fmt: skip
STEP = frozenset({MEMORY, COMPUTE, LOSS})
EVERYTHING = frozenset({MEMORY, INPUT, COMPUTE, COMPILE, VALIDATION, CHECKPOINT, LOSS})


@dataclass(frozen=True)
class Kind:
    """weight: how much such a change usually matters, from 0 to 1. signs: what a line of source that makes it speaks of."""

    weight: float
    touches: frozenset[str]
    signs: str = ""

    def is_spoken_of(self, line: str) -> bool:
        return bool(self.signs) and re.search(self.signs, line, re.IGNORECASE) is not None


def _kind(weight: float, *touches: str, signs: str = "") -> Kind:
    return Kind(weight, frozenset(touches), signs)


KINDS: dict[str, Kind] = {
    "model": _kind(0.95, *STEP, COMPILE, CHECKPOINT, VALIDATION, signs=r"model"),
    "backend": _kind(0.9, MEMORY, COMPUTE, COMPILE, INPUT, signs=r"KERAS_BACKEND|backend"),
    "batch": _kind(0.9, *STEP, INPUT, signs=r"batch"),
    "image_size": _kind(0.9, *STEP, INPUT, COMPILE, VALIDATION, signs=r"size|image|img|resize|shape|width|height|\bpx\b"),
    "filters": _kind(0.85, *STEP, COMPILE, CHECKPOINT, VALIDATION, signs=r"filter|units|width|channels|Conv|Dense"),
    "layers": _kind(0.85, *STEP, COMPILE, CHECKPOINT, VALIDATION, signs=r"layers?\b|depth|blocks?\b|Conv|Dense|stages?\b"),
    "large_images": _kind(0.82, MEMORY, INPUT, COMPUTE),
    "precision": _kind(0.8, *STEP, COMPILE, signs=r"float16|mixed_|dtype|precision|autocast"),
    "loss": _kind(0.8, LOSS, MEMORY, COMPUTE, signs=r"loss|entropy|focal|\bmse\b|huber"),
    "labels": _kind(0.78, LOSS, signs=r"label|target|\by\b|\by_|classes"),
    "learning_rate": _kind(0.8, LOSS, signs=r"rate|\blr\b|schedule|decay"),
    "optimizer": _kind(0.75, *STEP, CHECKPOINT, signs=r"optimi[sz]er|Adam|SGD|RMSprop|Lion|Adagrad|Adafactor|Nadam"),
    "micro_batch_size": _kind(0.75, MEMORY, COMPUTE, signs=r"micro"),
    "remat": _kind(0.75, MEMORY, COMPUTE, signs=r"remat|checkpoint"),
    "boxes": _kind(0.72, *STEP, INPUT, signs=r"box"),
    "weights": _kind(0.7, LOSS, signs=r"load_weights|load_model|weights|pretrained"),
    "prefetch": _kind(0.7, INPUT, MEMORY, signs=r"prefetch|ahead|max_queue_size"),
    "foreign": _kind(0.7, FREE),
    "memory_limit": _kind(0.7, FREE),
    "parallelism": _kind(0.66, INPUT, MEMORY, signs=r"parallel|workers|cycle_length|AUTOTUNE"),
    "cache": _kind(0.64, INPUT, MEMORY, signs=r"cache"),
    "accumulation": _kind(0.62, *STEP, signs=r"accumulat"),
    "augmentation": _kind(0.62, INPUT, LOSS, COMPUTE, signs=r"augment|Random|flip|rotat|crop|jitter|mosaic|noise|brightness"),
    "execution": _kind(0.62, COMPUTE, MEMORY, COMPILE, signs=r"jit_compile|eager|steps_per_execution|tf\.function|jit\b"),
    "threads": _kind(0.6, INPUT, COMPUTE, MEMORY, signs=r"thread|OMP_|MKL_|workers|intra|inter"),
    "cores": _kind(0.6, INPUT, COMPUTE, signs=r"affinity|cores|taskset"),
    "storage": _kind(0.6, INPUT),
    "device": _kind(0.9, MEMORY, COMPUTE, COMPILE, signs=r"device|CUDA|gpu"),
    "input_kind": _kind(0.6, INPUT, MEMORY, signs=r"from_|Dataset|generator|fit\("),
    "stages": _kind(0.55, INPUT, LOSS, MEMORY, signs=r"\.map|\.filter|\.shuffle|\.repeat|\.interleave|\.batch"),
    "data_contents": _kind(0.58, LOSS),
    "data_size": _kind(0.55, LOSS, MEMORY, VALIDATION, INPUT, signs=r"examples|samples|count|\bn\b|images"),
    "optimizer_setting": _kind(0.55, LOSS, signs=r"momentum|beta|epsilon|decay|clip|nesterov"),
    "version": _kind(0.5, *EVERYTHING, signs=r""),
    "environment": _kind(0.5, *(EVERYTHING - {LOSS}), signs=r"environ"),
    "python": _kind(0.4, *(EVERYTHING - {LOSS})),
    "validation": _kind(0.45, VALIDATION, signs=r"validation"),
    "checkpoints": _kind(0.4, CHECKPOINT, signs=r"checkpoint|save"),
    "source": _kind(0.5, *EVERYTHING),
    "command": _kind(0.45, *EVERYTHING),
    "setting": _kind(0.4, *EVERYTHING),
    "machine": _kind(0.5, INPUT, COMPUTE),
    "length": _kind(0.3, LOSS, signs=r"epochs|steps"),
    "seed": _kind(0.2, LOSS, signs=r"seed"),
}


@dataclass(frozen=True, eq=False)
class Difference:
    """One thing that differs. `where` is the user's line that makes it so, and `lines` what stands there before and after."""

    section: str
    name: str  # of KINDS
    before: Any
    after: Any
    words: str
    touches: frozenset[str] = frozenset()
    weight: float = 0.0
    where: str = ""
    lines: tuple[str, ...] = ()
    detail: str = ""  # which of several of its kind: the package, the variable

    def made_at(self, where: str, lines: tuple[str, ...]) -> Difference:
        return replace(self, where=self.where or where, lines=(*self.lines, *lines)[:MAX_LINES])

    @property
    def absent(self) -> str:
        return describe_absent(self.name)

    @property
    def description(self) -> str:
        """In words, with the place."""
        return f"{self.words} ({self.where})" if self.where else self.words

    def as_plain(self) -> dict[str, Any]:
        return {
            "section": self.section, "name": self.name, "detail": self.detail, "before": self.before, "after": self.after,
            "description": self.words, "where": self.where, "lines": list(self.lines), "can_change": sorted(self.touches),
        }  # fmt: skip


MAX_LINES = 40


def create_difference(
    section: str, name: str, before: Any, after: Any, words: str = "", detail: str = "", touches: frozenset[str] | None = None
) -> Difference:
    kind = KINDS[name]
    was, is_now = (format_value(value, describe_absent(name)) for value in (before, after))
    return Difference(
        section, name, before, after, words or f"{format_name(detail or name)} {was} → {is_now}",
        kind.touches if touches is None else touches, kind.weight, detail=detail,
    )  # fmt: skip


def format_name(name: str) -> str:
    return name.replace("_", " ") if name.islower() else name


def describe_absent(name: str) -> str:
    """What is said in the place of a value that is not there, of a difference of this kind."""
    return "not given" if name == "command" else "none"


def format_value(value: Any, none: str = "none") -> str:
    """A value as it stands in a sentence: short, and whole numbers with their thousands."""
    if value is None:
        return none
    if isinstance(value, str | list | tuple | dict) and not value:
        return "none"
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if value == int(value) and abs(value) < 1e15 and abs(value) >= 1000 else f"{value:.6g}"
    text = ", ".join(format_value(each) for each in value) if isinstance(value, list | tuple) else str(value)
    return text if len(text) <= 80 else f"{text[:77]}…"
