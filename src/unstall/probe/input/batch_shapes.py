"""The shapes of the batches that are fed, counted: how large a step can get, and how many different ones there are.

Of a batch that passes through Python a few attributes are read, which takes microseconds. Told seldom, and when a fit ends.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Optional

from unstall.journal.events import BatchesCounted
from unstall.probe.core.probe import Probe
from unstall.probe.input import batch_stats

EACH_UP_TO = 64  # batches: each of them is looked at …
LOOK_EVERY_S = 0.005  # … and later ones so often at most, which is each of them where steps are not very short
MAX_SHAPES = 64  # that are kept apart
MAX_REPORTED = 200  # events of one program
LISTED = 16
MAX_COMPONENTS = 40
if TYPE_CHECKING:  # Python 3.8 cannot make these when it runs
    Shape = tuple[tuple[str, str, tuple[int, ...], str], ...]  # role, name, shape, dtype of each array


class BatchShapes:
    def __init__(self, probe: Probe) -> None:
        self._probe = probe
        self._events = 0
        self._reported_at = 0
        self.reset()

    def reset(self) -> None:
        self._counts: dict[Shape, int] = {}
        self._batches = 0
        self._others = 0  # batches of shapes that are not kept apart any more
        self._report_at = 1
        self._due = 0.0

    def see(self, batch: Any) -> None:
        now = time.monotonic()
        if now < self._due and self._batches >= EACH_UP_TO:
            return
        self._due = now + LOOK_EVERY_S
        shape = read_shape(batch)
        if not shape:
            return
        self._batches += 1
        if shape in self._counts or len(self._counts) < MAX_SHAPES:
            self._counts[shape] = self._counts.get(shape, 0) + 1
        else:
            self._others += 1
        if self._batches >= self._report_at:
            self._report_at = 4 * self._batches
            self.report()

    def report(self) -> None:
        """As far as it goes beyond what was told."""
        if not self._batches or self._batches == self._reported_at or self._events >= MAX_REPORTED:
            return
        self._events += 1
        self._reported_at = self._batches
        largest_first = sorted(self._counts.items(), key=lambda pair: -list_elements(pair[0]))
        listed = largest_first if len(largest_first) <= LISTED else [*largest_first[: LISTED - 1], largest_first[-1]]
        shapes = [{"arrays": [[*part] for part in shape], "batches": count} for shape, count in listed]
        different = len(self._counts) + (1 if self._others else 0)
        self._probe.emit(BatchesCounted(at=time.time(), shapes=shapes, different=different, batches=self._batches))


def report_spec(probe: Probe, spec: Any, rows: Optional[int]) -> None:
    """The shapes that a tf.data set says of itself, before its first batch is fetched; -1 where it leaves a side open."""
    arrays = []
    for role, name, shape, dtype in read_shape(spec):
        is_open = bool(shape) and shape[0] < 0 and rows is not None
        arrays.append([role, name, [rows, *shape[1:]] if is_open else [*shape], dtype])
    if arrays:
        probe.emit(BatchesCounted(at=time.time(), shapes=[{"arrays": arrays, "batches": 0}], different=0, batches=0))


def read_shape(batch: Any) -> Shape:
    """Of all arrays and tensors in it; empty where there are none."""
    found = []
    for role, name, value in batch_stats.split_parts(batch):
        shape = read_sides(value)
        if shape is not None:
            found.append((role, name, shape, _dtype_name(value.dtype)))
    return tuple(found)


_dtype_names: dict[Any, str] = {}


def _dtype_name(dtype: Any) -> str:
    """NumPy puts the name together anew each time, which takes longer than all the rest."""
    known = _dtype_names.get(dtype)
    if known is None:
        known = _dtype_names[dtype] = str(getattr(dtype, "name", dtype)).replace("torch.", "")
    return known


def read_sides(value: Any) -> Optional[tuple[int, ...]]:
    shape = getattr(value, "shape", None)
    if shape is None or not hasattr(value, "dtype"):
        return None
    if hasattr(shape, "as_list"):
        shape = shape.as_list() if shape.rank is not None else None
    return tuple(int(side) if side is not None else -1 for side in shape) if shape is not None else None


def list_elements(shape: Shape) -> int:
    total = 0
    for _, _, each, _ in shape:
        size = 1
        for side in each:
            size *= max(0, side)
        total += size
    return total


def list_components(spec: Any, name: str = "") -> list[dict[str, Any]]:
    """The parts of an element of a data set, in TensorFlow's order: name, shape and dtype of each."""
    if isinstance(spec, dict):
        parts = [list_components(spec[key], f"{name}/{key}" if name else str(key)) for key in sorted(spec, key=str)]
    elif isinstance(spec, (list, tuple)):
        keys = getattr(type(spec), "_fields", None) or range(len(spec))
        parts = [list_components(part, f"{name}/{key}" if name else str(key)) for key, part in zip(keys, spec)]  # noqa: B905
    else:
        shape = read_sides(spec)
        kind, dtype = type(spec).__name__, getattr(spec, "dtype", None)
        return [
            {
                "name": name,
                "shape": None if shape is None else list(shape),
                "dtype": str(getattr(dtype, "name", "")),
                "type": kind,
            }
        ]
    return [part for each in parts for part in each][:MAX_COMPONENTS]
