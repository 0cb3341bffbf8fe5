"""What a run was made of, as far as its folder says it: versions of packages, and the sources of the program."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from unstall.journal.events import (
    CircumstancesSeen,
    FrameworkLoaded,
    ProgramStarted,
    RunStarted,
    VersionsRead,
)
from unstall.journal.run_folder import RunFolder

if TYPE_CHECKING:
    from typing import Protocol, TypeVar

    from unstall.journal.events import Event

    E = TypeVar("E", bound=Event)

    class Events(Protocol):
        """A journal, or a summary of one."""

        def of(self, kind: type[E]) -> list[E]: ...
        def first(self, kind: type[E]) -> E | None: ...
        def last(self, kind: type[E]) -> E | None: ...


LARGEST_SOURCES_BYTES = 64 * 2**20


def read_versions(taken: Events) -> dict[str, str]:
    """Of Python, packages and drivers."""
    found: dict[str, str] = {}
    for event in taken.of(VersionsRead):
        found.update(event.versions)
    opencv = next((version for name, version in found.items() if name.startswith("opencv-")), None)
    for loaded in taken.of(FrameworkLoaded):
        if loaded.version:
            found[loaded.name] = loaded.version
    if opencv:
        found["opencv"] = opencv
    program, seen, started = taken.first(ProgramStarted), taken.last(CircumstancesSeen), taken.first(RunStarted)
    if program is not None and program.python:
        found["python"] = program.python
    found.update(seen.drivers if seen else {})
    if started is not None and started.mode == "train" and started.version:
        found["unstall"] = started.version
    return dict(sorted(found.items()))


def read_sources(folder: RunFolder) -> dict[str, Any]:
    """The copies of the program's files; empty where there are none, or none that can be read."""
    try:
        if folder.sources_path.stat().st_size > LARGEST_SOURCES_BYTES:
            return {}
        with gzip.open(folder.sources_path) as file:
            plain = json.loads(file.read(LARGEST_SOURCES_BYTES))
    except (OSError, ValueError, EOFError):
        return {}
    return plain if isinstance(plain, dict) else {}


# Distributions of what a data set holds, as plain data: sizes of images, boxes in each, the largest. Standard library only.


SIZES_LISTED = 32
LARGEST_LISTED = 12
EDGES_PX = (256, 512, 1024, 2048, 4096, 8192)  # of the longer side
SHARES = {"min": 0.0, "p10": 0.1, "p25": 0.25, "p50": 0.5, "p75": 0.75, "p90": 0.9, "p99": 0.99, "max": 1.0}


def compute_quantiles(values: Iterable[float]) -> dict[str, float]:
    """min, p10, p25, p50, p75, p90, p99, max and mean; empty of nothing. Each but the mean is one of the values."""
    ordered = sorted(values)
    if not ordered:
        return {}
    last = len(ordered) - 1
    plain = {name: ordered[round(share * last)] for name, share in SHARES.items()}
    return {**plain, "mean": round(sum(ordered) / len(ordered), 4)}


def summarize_images(sizes: Sequence[tuple[int, int]]) -> dict[str, Any]:
    """Of widths and heights: how often each size occurs, how many have a longer side of up to so many pixels, quantiles."""
    if not sizes:
        return {}
    counts = Counter(f"{width}×{height}" for width, height in sizes)
    common = dict(sorted(counts.most_common(SIZES_LISTED)))
    return {
        "looked_at": len(sizes),
        "sizes": common,
        "other_sizes": len(sizes) - sum(common.values()),
        "different": len(counts),
        "longer_side": _by_edges([max(size) for size in sizes]),
        "width": compute_quantiles(width for width, _ in sizes),
        "height": compute_quantiles(height for _, height in sizes),
        "pixels": compute_quantiles(width * height for width, height in sizes),
    }


def _by_edges(sides: Sequence[int]) -> dict[str, int]:
    plain: dict[str, int] = {}
    for side in sides:
        edge = next((edge for edge in EDGES_PX if side <= edge), None)
        name = f"≤{edge}" if edge is not None else f">{EDGES_PX[-1]}"
        plain[name] = plain.get(name, 0) + 1
    names = [*(f"≤{edge}" for edge in EDGES_PX), f">{EDGES_PX[-1]}"]
    return {name: plain[name] for name in names if name in plain}


def list_largest_images(named: Iterable[tuple[str, int, int]]) -> list[dict[str, Any]]:
    """name, width and height of those with most pixels."""
    ordered = sorted(named, key=lambda each: (-each[1] * each[2], each[0]))
    return [{"name": name, "width": width, "height": height} for name, width, height in ordered[:LARGEST_LISTED]]


def summarize_counts(counts: Sequence[int]) -> dict[str, Any]:
    """Of boxes in each image: quantiles, and how many there are."""
    if not counts:
        return {}
    return {
        "looked_at": len(counts),
        "total": sum(counts),
        "none": sum(not count for count in counts),
        **compute_quantiles(counts),
    }


def compute_digest(parts: Iterable[str]) -> str:
    """The same for the same parts in any order."""
    total = hashlib.sha256()
    for part in sorted(parts):
        total.update(part.encode("utf-8", "backslashreplace") + b"\n")
    return total.hexdigest()
