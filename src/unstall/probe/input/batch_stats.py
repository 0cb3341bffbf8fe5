"""Plain numbers about the arrays of a batch: range, size, whole or not, finite or not. NumPy alone, and only a sample of it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Optional

MAX_ELEMENTS = 65_536  # of one array; larger ones are thinned out by whole rows
MAX_ARRAYS = 6
MAX_DISTINCT = 12
MAX_NAME = 60
_TOLERANCE = 1e-6
if TYPE_CHECKING:  # Python 3.8 cannot make these when it runs
    Part = tuple[str, str, Any]  # role (x, y, weight), name, array


def split_parts(batch: Any) -> list[Part]:
    """The arrays of a batch as fit takes it: (x, y, weight), each an array, a list or a dict."""
    if not isinstance(batch, (tuple, list)) or not batch:
        return name_arrays("x", batch)
    found: list[Part] = []
    for role, value in zip(("x", "y", "weight"), batch):  # noqa: B905 - a batch may be shorter
        found += name_arrays(role, value)
    return found


def name_arrays(role: str, value: Any, name: str = "") -> list[Part]:
    if isinstance(value, dict):
        pairs = [name_arrays(role, part, f"{name}/{key}" if name else str(key)) for key, part in value.items()]
        return [part for pair in pairs for part in pair][:MAX_ARRAYS]
    if isinstance(value, (list, tuple)):
        if value and all(isinstance(part, (int, float)) for part in value):
            return []
        pairs = [name_arrays(role, part, f"{name}/{index}" if name else str(index)) for index, part in enumerate(value)]
        return [part for pair in pairs for part in pair][:MAX_ARRAYS]
    return [(role, name[:MAX_NAME], value)] if value is not None else []


def as_array(value: Any) -> Optional[Any]:
    """The value as a NumPy array where that costs next to nothing: it lies in host memory and holds numbers."""
    if hasattr(value, "flags") and hasattr(value, "strides"):
        array = value
    elif hasattr(value, "_numpy") and "GPU" not in str(getattr(value, "device", "")):
        array = value._numpy()
    elif hasattr(value, "detach") and str(getattr(value, "device", "")) == "cpu":
        array = value.detach().numpy()
    else:
        return None
    kind = getattr(getattr(array, "dtype", None), "kind", "")
    return array if kind in ("f", "i", "u", "b") and array.size else None


def thin_rows(array: Any, most: int = MAX_ELEMENTS) -> Any:
    """Some rows, spread over the array."""
    if array.ndim == 0 or array.size <= most:
        return array
    per_row = max(1, array.size // len(array))
    rows = max(1, most // per_row)
    some = array[:: -(-len(array) // rows)]
    return some if some.size <= 4 * most else some.reshape(-1)[: 4 * most]


def describe(role: str, name: str, array: Any, most: int = MAX_ELEMENTS) -> dict[str, Any]:
    numpy = sys.modules["numpy"]

    with numpy.errstate(all="ignore"):
        return _described(numpy, role, name, array, thin_rows(array, most))


def _described(numpy: Any, role: str, name: str, array: Any, some: Any) -> dict[str, Any]:
    facts: dict[str, Any] = {"role": role, "name": name, "dtype": str(array.dtype), "shape": list(array.shape)}
    values = some.astype("float64", copy=False)
    finite = numpy.isfinite(values) if some.dtype.kind == "f" else None
    if finite is not None and not finite.all():
        facts["not_finite"] = int(values.size - finite.sum())
        values = values[finite]
    if not values.size:
        return facts
    facts["looked_at"] = int(some.size)
    facts["min"], facts["max"] = float(values.min()), float(values.max())
    facts["mean"], facts["rms"] = float(values.mean()), float(numpy.sqrt((values * values).mean()))
    if role == "y":
        facts.update(_label_facts(numpy, some, values))
    return facts


def _label_facts(numpy: Any, some: Any, values: Any) -> dict[str, Any]:
    facts: dict[str, Any] = {"whole": bool((values == numpy.rint(values)).all())}
    if facts["whole"]:
        distinct = numpy.unique(values)
        facts["distinct"] = len(distinct)
        facts["lowest"] = [int(value) for value in distinct[:MAX_DISTINCT]]
        facts["highest"] = [int(value) for value in distinct[-MAX_DISTINCT:]]
    one_hot = facts["whole"] and values.min() >= 0 and values.max() <= 1
    if some.ndim >= 2 and some.shape[-1] == 4 and not one_hot:
        facts["boxes"] = describe_boxes(some.reshape(-1, 4))
    return facts


def describe_boxes(rows: Any) -> dict[str, int]:
    """Rows of four read as corners: how many are proper, how many inside out. Rows of zeros are padding."""
    used = rows[(rows != 0).any(axis=1)]
    width, height = used[:, 2] - used[:, 0], used[:, 3] - used[:, 1]
    return {
        "rows": len(used),
        "inside_out": int(((width < -_TOLERANCE) | (height < -_TOLERANCE)).sum()),
        "negative_size": int(((used[:, 2] < -_TOLERANCE) | (used[:, 3] < -_TOLERANCE)).sum()),
    }


def find_first_bad_row(array: Any, until: float, clock: Any) -> Optional[int]:
    """The first row that holds a number which is not finite; None if there is none, or the time is up."""
    numpy = sys.modules["numpy"]

    if array.dtype.kind != "f" or array.ndim == 0:
        return None
    with numpy.errstate(all="ignore"):
        return _first_bad_row(numpy, array, until, clock)


def _first_bad_row(numpy: Any, array: Any, until: float, clock: Any) -> Optional[int]:
    per_row = max(1, array.size // max(1, len(array)))
    step = max(1, 1_000_000 // per_row)
    for first in range(0, len(array), step):
        piece = array[first : first + step]
        if not numpy.isfinite(piece.sum(dtype="float64")):
            rows = ~numpy.isfinite(piece.reshape(len(piece), -1)).all(axis=1)
            if rows.any():
                return first + int(rows.argmax())
        if clock() > until:
            return None
    return None
