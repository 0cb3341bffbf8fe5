"""Which tensors of a file a detector takes, which it does not and why: names and shapes only, no numbers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from math import prod
from pathlib import Path
from typing import Any

from unstall.detectors.weights.names import BACKBONE_RULES, CLASS_OUTPUTS, COUNTER, RULES, list_prefixes, rename_keys
from unstall.detectors.weights.tensors import Tensors, format_value

Shape = tuple[int, ...]
MIN_SHARE = 0.6  # of the tensors that a file could give; with less it is of something else (ResNet-101's give a ResNet-50 half)


@dataclass
class Fit:
    """A file held against a detector."""

    what: str  # a key of names.RULES
    taken: dict[str, str] = field(default_factory=dict)  # our name to that in the file
    left_out: dict[str, str] = field(default_factory=dict)  # name in the file to why
    new: dict[str, str] = field(default_factory=dict)  # our name to why the file does not give it
    wanted: int = 0
    prefix: str = ""  # of all names in the file
    note: str = ""  # how its classes were taken, where that is not by their numbers

    @property
    def is_backbone(self) -> bool:
        return self.what in BACKBONE_RULES

    @property
    def is_whole(self) -> bool:
        """Every tensor of the detector is taken, but perhaps those of the classes."""
        return all(CLASS_OUTPUTS.fullmatch(key) for key in self.new)

    @property
    def is_of_this(self) -> bool:
        """Most of what it could give is taken. Class outputs alone never make it another network."""
        used = len(self.taken)
        unlike = sum(1 for why in self.left_out.values() if why.startswith(("shapes differ", "no such tensor")))
        return used > 0 and used >= MIN_SHARE * (used + unlike) and (self.is_backbone or used >= MIN_SHARE * self.wanted)


def find_best_fit(tensors: Tensors, wanted: Mapping[str, Shape]) -> Fit:
    """By whichever of the rules, and without whichever prefix, most tensors find their place."""
    fits = [_fit(tensors, wanted, what, prefix) for prefix in list_prefixes(tensors) for what in RULES]
    return max(fits, key=lambda fit: len(fit.taken))


def _fit(tensors: Tensors, wanted: Mapping[str, Shape], what: str, prefix: str) -> Fit:
    fit = Fit(what, wanted=len(wanted), prefix=prefix)
    sources = rename_keys(tensors, RULES[what], prefix)
    for key, shape in wanted.items():
        name = sources.get(key)
        if name is None:
            fit.new[key] = "not part of a backbone" if fit.is_backbone else "not in the file"
        elif tensors[name].shape == shape:
            fit.taken[key] = name
        else:
            fit.new[key] = fit.left_out[name] = _why_not(key, tensors[name].shape, shape)
    used = {*fit.taken.values(), *fit.left_out}
    for name in tensors:
        if name not in used:
            fit.left_out[name] = _why_unused(name.removeprefix(prefix), fit)
    return fit


def _why_not(key: str, there: Shape, here: Shape) -> str:
    if CLASS_OUTPUTS.fullmatch(key) and there[1:] == here[1:]:
        return f"classes differ, the head is new: {format_value(there)} in the file, {format_value(here)} here"
    return f"shapes differ: {format_value(there)} in the file, {format_value(here)} here"


def _why_unused(name: str, fit: Fit) -> str:
    if name.endswith(COUNTER):
        return "a counter of PyTorch's norms, not needed"
    if fit.is_backbone and name.startswith(("fc.", "classifier.", "head.")):
        return "the classifier of ImageNet, not needed"
    return "no such tensor here"


def count_classes(tensors: Tensors, wanted: Mapping[str, Shape], classes: int, fit: Fit) -> int | None:
    """How many classes a file of this detector has, without background; None where that cannot be told."""
    sources = rename_keys(tensors, RULES[fit.what], fit.prefix)
    counts = set()
    for key, shape in wanted.items():
        if CLASS_OUTPUTS.fullmatch(key) and key in sources:
            there = tensors[sources[key]].shape
            if not there or there[1:] != shape[1:] or there[0] * (classes + 1) % shape[0]:
                return None
            counts.add(there[0] * (classes + 1) // shape[0] - 1)
    return counts.pop() if len(counts) == 1 else None


def with_classes(wanted: Mapping[str, Shape], before: int, classes: int) -> dict[str, Shape]:
    """The same detector for another number of classes."""
    return {
        key: (shape[0] * (classes + 1) // (before + 1), *shape[1:]) if CLASS_OUTPUTS.fullmatch(key) else shape
        for key, shape in wanted.items()
    }


def group_reasons(reasons: Mapping[str, str]) -> list[dict[str, Any]]:
    """Reasons with the names that each concerns, the most frequent first. What differs by shapes alone is one reason."""
    groups: dict[str, list[str]] = {}
    for name, why in reasons.items():
        groups.setdefault(why.partition(": ")[0], []).append(name)
    return [
        {"why": _common(why, [reasons[name] for name in names]), "count": len(names), "names": names}
        for why, names in sorted(groups.items(), key=lambda pair: -len(pair[1]))
    ]


def _common(why: str, each: list[str]) -> str:
    """The reason itself where all have it word by word; else with the first as an example."""
    return each[0] if len(set(each)) == 1 else f"{why}, as {each[0].partition(': ')[2]}"


# The names and shapes of every variant's tensors, kept in a file: to say what a checkpoint is of then needs no framework.
#
# python -m unstall.detectors.weights.compatibility writes shapes.json again, from the detectors; takes a minute


FILE = Path(__file__).with_name("shapes.json")


@dataclass(frozen=True)
class KnownVariant:
    """A variant as it is published."""

    classes: int
    shapes: dict[str, Shape]


@cache
def list_known_variants() -> dict[str, KnownVariant]:
    stored: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return {
        variant: KnownVariant(entry["classes"], {key: tuple(shape) for key, shape in entry["tensors"].items()})
        for variant, entry in stored.items()
    }


def list_parameters(variant: str) -> int:
    """Numbers that a variant has as it is published, whatever the data is."""
    return sum(prod(shape) for shape in list_known_variants()[variant].shapes.values())


def describe_variant(variant: str) -> dict[str, Any]:
    """What the file has to say of it."""
    from unstall.detectors import create_model
    from unstall.detectors.weights.layout import list_slots

    detector = create_model(variant)
    shapes = {key: list(slot.shape) for key, slot in list_slots(detector).items()}
    return {"classes": detector.settings.num_classes, "tensors": shapes}


def as_text(entries: dict[str, Any]) -> str:
    """A line for each tensor, so that a change shows as what it is."""
    blocks = []
    for variant, entry in entries.items():
        lines = ",\n".join(f"   {json.dumps(key)}: {json.dumps(shape)}" for key, shape in entry["tensors"].items())
        blocks.append(f' {json.dumps(variant)}: {{"classes": {entry["classes"]}, "tensors": {{\n{lines}\n }}}}')
    return "{\n" + ",\n".join(blocks) + "\n}\n"


def main() -> None:
    from unstall.config.detectors import list_variants

    entries = {variant: describe_variant(variant) for variant in list_variants()}
    FILE.write_text(as_text(entries), encoding="utf-8")
    print(f"{FILE.name}: {', '.join(entries)}")


if __name__ == "__main__":
    main()
