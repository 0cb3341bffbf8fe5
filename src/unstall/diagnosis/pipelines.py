"""tf.data pipelines as they ran: which stage worked how long, and which line of the user's made it.

TensorFlow rewrites a pipeline before it runs it: it joins stages (map and batch), adds some (prefetch) and makes others parallel.
The order stays, so the n-th map of what runs is the n-th map of what was written.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from unstall.journal.events import PipelineMeasured
from unstall.journal.reader import Journal
from unstall.journal.stack_frames import find_program_folder, format_place

# Parts of the names of stages, as written and as run, and the kind they are of. The first that fits.
_KINDS = (
    ("Interleave", "interleave"),
    ("FlatMap", "flat_map"),
    ("Map", "map"),
    ("Shuffle", "shuffle"),
    ("Filter", "filter"),
    ("Generator", "generator"),
    ("TFRecord", "reader"),
    ("TextLine", "reader"),
    ("FixedLengthRecord", "reader"),
    ("Batch", "batch"),
    ("Cache", "cache"),
    ("Prefetch", "prefetch"),
    ("Repeat", "repeat"),
)
_WORDS = {
    "python": "a Python function",
    "reading": "reading",
    "decoding": "decoding",
    "augmenting": "augmenting",
}


@dataclass(frozen=True)
class StageWork:
    """What one stage did between two measurements, or since the pipeline was made."""

    kind: str
    name: str
    seconds: float
    elements: int
    at_a_time: int
    buffered: int
    where: str | None
    function: str | None
    does: tuple[str, ...]
    arguments: dict[str, Any]

    @property
    def is_python(self) -> bool:
        """Whether Python code does its work."""
        return "python" in self.does or self.kind == "generator"

    @property
    def words(self) -> str:
        """What it does, in words: 'reading and decoding in load', 'the shuffle'."""
        if self.kind == "reader":
            return "reading the files"
        if self.kind == "generator":
            return "the generator"
        if not self.does:
            return f"{self.function} in the {self.kind}" if self.function else f"the {self.kind}"
        names = [_WORDS[each] for each in self.does]
        text = " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
        return f"{text} in {self.function}" if self.function else text


@dataclass(frozen=True)
class Pipeline:
    number: int
    role: str
    stages: tuple[dict[str, Any], ...]  # as written, the source first
    events: tuple[PipelineMeasured, ...]

    @property
    def began(self) -> float:
        return self.events[0].at - self.events[0].seconds

    def worked(self, event: PipelineMeasured | None = None, since: PipelineMeasured | None = None) -> list[StageWork]:
        """Of each stage that ran, the source first: up to `event` (the last one), from `since` on if given."""
        event = event or self.events[-1]
        before = _by_place(since.nodes) if since is not None else {}
        written = self._written()
        result = []
        for (kind, number), node in _by_place(event.nodes).items():
            earlier = before.get((kind, number), {"seconds": 0.0, "elements": 0})
            stage = written.get((kind, number), {})
            arguments = stage.get("arguments", {})
            result.append(
                StageWork(
                    kind=kind,
                    name=node["name"],
                    seconds=max(0.0, node["seconds"] - earlier["seconds"]),
                    elements=max(0, node["elements"] - earlier["elements"]),
                    at_a_time=node["at_a_time"],
                    buffered=node["buffered"],
                    where=stage.get("where"),
                    function=arguments.get("function"),
                    does=tuple(stage.get("does", ())),
                    arguments=arguments,
                )
            )
        return result

    def hardest(self, after: float | None = None) -> tuple[StageWork, float] | None:
        """The stage that worked longest, and its share of all the work: of all of it, or of what was measured after a moment."""
        before = [event for event in self.events if after is not None and event.at <= after]
        if len(before) == len(self.events):
            return None
        worked = self.worked(since=before[-1] if before else None)
        total = sum(stage.seconds for stage in worked)
        if total <= 0:
            return None
        hardest = max(worked, key=lambda stage: stage.seconds)
        return hardest, hardest.seconds / total

    def has(self, kind: str) -> bool:
        return any(stage.kind == kind for stage in self.worked())

    def count_left_to_cache(self, event: PipelineMeasured) -> int | None:
        """How many elements a cache in it still has to take in; None if there is none, or their number is not known."""
        worked = self.worked(event)
        for before, stage in pairwise(worked):
            wanted = stage.arguments.get("elements")
            if stage.kind == "cache" and isinstance(wanted, int) and wanted >= 0:
                return max(0, wanted - before.elements)
        return None

    def _written(self) -> dict[tuple[str, int], dict[str, Any]]:
        return _by_place(self.stages)


def read_pipelines(journal: Journal, role: str = "train") -> list[Pipeline]:
    """Those that were measured, the oldest first. Their lines are told from the program's folder on."""
    folder = find_program_folder(journal)
    by_number: dict[int, list[PipelineMeasured]] = {}
    for event in journal.of(PipelineMeasured):
        if event.role == role and not event.in_graph:
            by_number.setdefault(event.number, []).append(event)
    return [
        Pipeline(number, role, tuple(_shortened(events, folder)), tuple(events)) for number, events in sorted(by_number.items())
    ]


def find_last_function(journal: Journal) -> tuple[str, str] | None:
    """The function through which a training's elements went last, and the line where it is written."""
    for pipeline in reversed(read_pipelines(journal)):
        for stage in reversed(pipeline.stages):
            arguments = stage.get("arguments", {})
            if stage.get("stage") == "map" and arguments.get("function_where"):
                return arguments["function"], shorten_stage(arguments["function_where"], find_program_folder(journal)) or ""
    return None


def _shortened(events: list[PipelineMeasured], folder: str) -> list[dict[str, Any]]:
    stages = next((event.stages for event in events if event.stages), [])
    return [{**stage, "where": shorten_stage(stage.get("where"), folder)} for stage in stages]


def shorten_stage(where: str | None, folder: str) -> str | None:
    file, _, line = (where or "").rpartition(":")
    return format_place(file, int(line), folder) if file and line.isdigit() else where


def get_kind(name: str) -> str:
    return next((kind for part, kind in _KINDS if part in name), name)


def _by_place(stages: Iterable[dict[str, Any]]) -> dict[tuple[str, int], dict[str, Any]]:
    """Stages by kind and number among those of their kind."""
    counts: dict[str, int] = {}
    result: dict[tuple[str, int], dict[str, Any]] = {}
    for stage in stages:
        kind = get_kind(stage["name"])
        result[kind, counts.get(kind, 0)] = stage
        counts[kind] = counts.get(kind, 0) + 1
    return result
