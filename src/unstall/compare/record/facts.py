"""Single facts out of a record, whatever of it is there: that of an old or a broken run has holes, and none of them raises."""

from __future__ import annotations

import math
import re
from typing import Any

from unstall.compare.record.results import (
    compute_floor_bytes,
    compute_waiting_share,
    get_curve,
    get_figure,
    get_part,
    get_part_uncertainty,
    get_score,
    get_section,
    get_spread,
    get_usual_memory,
    is_broken,
    is_out_of_memory,
    list_failed_channels,
    list_numbers,
)
from unstall.config.aliases import update_names

__all__ = [
    "compute_boxes_per_image", "compute_floor_bytes", "compute_waiting_share", "count_images_over", "find_largest_area",
    "find_largest_side", "get_curve", "get_figure", "get_part", "get_part_uncertainty", "get_score", "get_section",
    "get_spread", "get_usual_memory", "is_broken", "is_out_of_memory", "list_failed_channels", "list_numbers",
]  # fmt: skip

SAME = 1e-6  # of a number, as a share: float32 and float64 of the same
_IMPORTED = re.compile(r"^\s*(?:import|from)\s+(\w+)", re.MULTILINE)
AUTOTUNED = 2.0  # batches, about, that TensorFlow keeps ahead where it may choose
WIDTHS = {"float64": 8.0, "float32": 4.0, "float16": 2.0, "bfloat16": 2.0, "int64": 8.0, "int32": 4.0, "uint8": 1.0, "int8": 1.0}


def are_equal(was: Any, is_now: Any) -> bool:
    if isinstance(was, float) or isinstance(is_now, float):
        try:
            return math.isclose(float(was), float(is_now), rel_tol=SAME, abs_tol=1e-12)
        except (TypeError, ValueError):
            return bool(was == is_now)
    return bool(was == is_now)


def read_variable(environment: dict[str, Any], name: str) -> Any:
    """Without what packages put there by themselves when they are imported: OpenCV its own folder."""
    value = environment.get(name)
    if not isinstance(value, str) or "/cv2/" not in value:
        return value
    return ":".join(part for part in value.split(":") if part and "/cv2/" not in part) or None


def list_imported_packages(record: dict[str, Any]) -> frozenset[str]:
    """The packages that the program's own source imports."""
    texts = [str(entry.get("text") or "") for entry in get_section(record, "sources").values() if isinstance(entry, dict)]
    return frozenset(name for text in texts for name in _IMPORTED.findall(text))


def find_module(distribution: str) -> str:
    """The name that most packages are imported by."""
    plain = distribution.lower().replace("-", "_")
    return {"pyyaml": "yaml", "python_dateutil": "dateutil", "scikit_learn": "sklearn"}.get(plain, plain)


def read_settings(record: dict[str, Any]) -> dict[str, Any]:
    """Of `unstall train`. A micro-batch that is the whole batch is none: it follows the batch."""
    known = update_names(get_section(record, "settings"))
    is_whole = known.get("micro_batch_size") is not None and known.get("micro_batch_size") == known.get("batch_size")
    return {**known, "micro_batch_size": None} if is_whole else known


# --- what is fed ---


def read_arrays(record: dict[str, Any], role: str) -> list[dict[str, Any]]:
    """Inputs (x) or targets (y) of the largest batch that was seen."""
    own = get_section(record, "batch").get("arrays")
    return [each for each in own if isinstance(each, dict) and each.get("role") == role] if isinstance(own, list) else []


def _shape(array: dict[str, Any]) -> list[int]:
    shape = array.get("shape")
    return [int(each) for each in shape if isinstance(each, int | float)] if isinstance(shape, list | tuple) else []


def read_batch_size(record: dict[str, Any]) -> int | None:
    size = get_section(record, "batch").get("size")
    return int(size) if isinstance(size, int | float) and size > 0 else None


def read_image_size(record: dict[str, Any]) -> tuple[int, int] | None:
    """Height and width of images as they are fed; None where they are of many sizes."""
    if len(_fed_sizes(record)) > 1:
        return None
    return _image_size(read_arrays(record, "x"))


def _image_size(inputs: list[dict[str, Any]]) -> tuple[int, int] | None:
    for shape in (_shape(array) for array in inputs):
        if len(shape) == 4:
            return (shape[1], shape[2]) if shape[3] <= shape[1] else (shape[2], shape[3])
    return None


def _fed_sizes(record: dict[str, Any]) -> set[tuple[int, int]]:
    shapes = get_section(record, "batch").get("shapes")
    found = set()
    for each in shapes if isinstance(shapes, list) else []:
        own = [array for array in each.get("arrays") or [] if isinstance(array, dict) and array.get("role") == "x"]
        size = _image_size(own)
        if size is not None:
            found.add(size)
    return found


def compute_fed_area(record: dict[str, Any]) -> float | None:
    """Pixels of the largest image that was fed; of other inputs, their elements."""
    size = _image_size(read_arrays(record, "x"))
    if size is not None:
        return float(size[0] * size[1])
    shapes = [_shape(array) for array in read_arrays(record, "x")]
    return float(math.prod(shapes[0][1:])) if shapes and len(shapes[0]) > 1 else None


def read_input_dtype(record: dict[str, Any]) -> str | None:
    found = read_arrays(record, "x")
    dtype = found[0].get("dtype") if found else None
    return str(dtype) if dtype else None


def compute_input_bytes(record: dict[str, Any]) -> float | None:
    given = get_section(record, "batch").get("bytes")
    if isinstance(given, int | float) and given:
        return float(given)
    total = 0.0
    for array in (*read_arrays(record, "x"), *read_arrays(record, "y")):
        total += math.prod(_shape(array)) * compute_width_bytes(array.get("dtype"))
    return total or None


def count_target_rows(record: dict[str, Any]) -> int | None:
    """The second axis of targets that have one: boxes of an image, say."""
    rows = [shape[1] for array in read_arrays(record, "y") if len(shape := _shape(array)) == 3]
    return max(rows, default=None)


def read_max_boxes_per_image(record: dict[str, Any]) -> float | None:
    """Of an image, as they are fed; else as the data has them."""
    known = compute_boxes_per_image(get_section(record, "data"))
    rows = count_target_rows(record)
    return float(rows) if rows else known[1] if known else None


def has_boxes(*records: dict[str, Any]) -> bool:
    return any(
        shape[-1] in {4, 5} for record in records for array in read_arrays(record, "y") if len(shape := _shape(array)) == 3
    )


def read_target_range(record: dict[str, Any]) -> tuple[float, float] | None:
    """The least and the greatest of targets that are a few whole numbers: classes."""
    values = get_section(record, "batch").get("values")
    for row in values if isinstance(values, list) else []:
        if isinstance(row, dict) and row.get("role") == "y" and row.get("distinct") and "boxes_per_batch" not in row:
            return float(row["min"]), float(row["max"])
    return None


def describe_target_form(record: dict[str, Any]) -> list[tuple[int, ...]]:
    """Of one example: () of a number, (4,) of four, as one of four classes is written with ones and zeros."""
    return [tuple(_shape(array)[1:]) for array in read_arrays(record, "y")]


def compute_held_bytes(record: dict[str, Any]) -> float | None:
    """Of arrays that were given to fit whole: they lie in memory."""
    feeding, size = get_section(record, "input"), read_batch_size(record)
    batches, count = feeding.get("batches"), compute_input_bytes(record)
    is_whole = "array" in str(feeding.get("kind") or "").lower()
    return count * batches if is_whole and size and count and isinstance(batches, int) and batches > 0 else None


# --- what is trained ---


def count_parameters(record: dict[str, Any]) -> int | None:
    count = get_section(record, "model").get("parameters")
    return int(count) if isinstance(count, int | float) and count else None


def read_precision(record: dict[str, Any]) -> str | None:
    model = get_section(record, "model")
    given = model.get("precision") or get_section(record, "settings").get("precision")
    return str(given) if given else None


def compute_width_bytes(precision: Any) -> float:
    name = str(precision or "float32").removeprefix("mixed_")
    return WIDTHS.get(name, 4.0)


def count_output_rows(record: dict[str, Any]) -> float | None:
    """Of outputs of three axes: the places that a detector predicts at."""
    outputs = get_section(record, "model").get("outputs")
    rows = [
        float(shape[1])
        for each in (outputs if isinstance(outputs, list) else [])
        if isinstance(each, dict) and isinstance(shape := each.get("shape"), list) and len(shape) == 3 and shape[1]
    ]
    return max(rows, default=None)


def read_losses(record: dict[str, Any]) -> list[str]:
    names = get_section(record, "loss").get("names")
    return [str(name) for name in names if name] if isinstance(names, list) else []


def read_accumulation(record: dict[str, Any]) -> int | None:
    steps = get_section(record, "optimizer").get("gradient_accumulation_steps")
    return int(steps) if isinstance(steps, int | float) else None


def describe_execution(record: dict[str, Any], name: str) -> Any:
    return get_section(record, "optimizer").get(name)


def read_backend(record: dict[str, Any]) -> str | None:
    given = get_section(record, "model").get("backend")
    return str(given) if given else None


def is_of_torch(record: dict[str, Any]) -> bool:
    """By Keras's backend; of a loop of one's own, by what it imports."""
    return read_backend(record) == "torch" or (read_backend(record) is None and "torch" in list_imported_packages(record))


# --- how it is fed ---


def read_stages(input_section: dict[str, Any], name: str = "stages") -> list[dict[str, Any]]:
    rows = input_section.get(name)
    return [row for row in rows if isinstance(row, dict) and row.get("stage")] if isinstance(rows, list) else []


def read_input_arguments(input_section: dict[str, Any]) -> dict[str, Any]:
    given = input_section.get("arguments")
    own = dict(given) if isinstance(given, dict) else {}
    for name in ("workers", "use_multiprocessing", "max_queue_size"):
        if name in input_section:
            own[name] = input_section[name]
    return own


def count_batches_ahead(record: dict[str, Any]) -> float:
    feeding = get_section(record, "input")
    for stage in read_stages(feeding):
        if str(stage["stage"]).startswith("prefetch"):
            given = (stage.get("arguments") or {}).get("buffer_size")
            return float(given) if isinstance(given, int | float) and given > 0 else AUTOTUNED
    queue = read_input_arguments(feeding).get("max_queue_size")
    return float(queue) if isinstance(queue, int | float) else 0.0


def count_read_at_once(record: dict[str, Any]) -> float:
    counts = [1.0]
    for stage in read_stages(get_section(record, "input")):
        given = (stage.get("arguments") or {}).get("num_parallel_calls")
        if isinstance(given, int | float):
            cores = get_section(record, "machine").get("cores")
            counts.append(float(given) if given > 0 else float(cores or 1))
    return max(counts)


# --- around it ---


def read_devices(record: dict[str, Any]) -> list[dict[str, Any]]:
    listed = record.get("devices")
    return [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []


def read_memory_limit(machine: dict[str, Any]) -> float | None:
    """What the machine or the control group allows, whichever is less."""
    known = [machine.get(name) for name in ("memory_bytes", "cgroup_limit_bytes")]
    return min((float(each) for each in known if isinstance(each, int | float) and each > 0), default=None)


def describe_storage(record: dict[str, Any]) -> str | None:
    """The kind of disk that the data lies on, or the program where that is all that is known."""
    known = get_section(get_section(record, "data"), "storage") or get_section(get_section(record, "machine"), "storage")
    if not known.get("kind"):
        return None
    rows = [str(known["kind"])]
    rows += ["over the network"] if known.get("is_remote") else []
    rows += ["a disk that turns"] if known.get("is_rotational") else []
    return ", ".join(rows)


def read_free_bytes(record: dict[str, Any]) -> float | None:
    """Of the host's memory before the start, or of what its control group still had, whichever is less."""
    machine = get_section(record, "machine")
    free = machine.get("available_bytes")
    limit, used = machine.get("cgroup_limit_bytes"), machine.get("cgroup_used_bytes")
    left = [float(free)] if isinstance(free, int | float) else []
    left += [float(limit - used)] if isinstance(limit, int | float) and isinstance(used, int | float) else []
    return min(left, default=None)


def find_reading_line(record: dict[str, Any], name: str) -> tuple[str, str]:
    """The line of source that reads an argument that has only a place: `BATCH = int(sys.argv[1])`."""
    number = re.match(r"argument (\d+)$", name)
    for file, entry in get_section(record, "sources").items() if number else ():
        for place, line in enumerate(str(entry.get("text") or "").splitlines(), 1):
            if number and f"argv[{number[1]}]" in line.replace(" ", ""):
                return f"{file}:{place}", line.strip()[:90]
    return "", ""


# What the fingerprint of the data says: the largest images, boxes per image.


_SIZE = re.compile(r"^(\d+)\s*[×x]\s*(\d+)$")


def read_sizes(data: dict[str, Any]) -> list[tuple[int, int, int]]:
    """Width, height and how many images."""
    known = data.get("image_px")
    counts = known.get("sizes", known) if isinstance(known, dict) else {}
    found = []
    for name, count in counts.items() if isinstance(counts, dict) else ():
        match = _SIZE.match(str(name))
        if match and isinstance(count, int):
            found.append((int(match[1]), int(match[2]), count))
    return found


def find_largest_side(data: dict[str, Any]) -> int | None:
    sides = [max(width, height) for width, height, _ in (*read_sizes(data), *_largest(data))]
    return max(sides, default=None)


def find_largest_area(data: dict[str, Any]) -> float | None:
    return max((float(width * height) for width, height, _ in (*read_sizes(data), *_largest(data))), default=None)


def count_images_over(data: dict[str, Any], side: int) -> int | None:
    """How many have a side longer than that."""
    counts = [count for width, height, count in read_sizes(data) if max(width, height) > side]
    return sum(counts) or len([1 for width, height, _ in _largest(data) if max(width, height) > side]) or None


def _largest(data: dict[str, Any]) -> list[tuple[int, int, int]]:
    rows = data.get("largest")
    found = []
    for row in rows if isinstance(rows, list) else []:
        if isinstance(row, dict) and isinstance(row.get("width"), int) and isinstance(row.get("height"), int):
            found.append((row["width"], row["height"], 1))
    return found


def compute_boxes_per_image(data: dict[str, Any]) -> tuple[float, float] | None:
    """The mean, or the median, and the most."""
    known = data.get("boxes_per_image")
    if not isinstance(known, dict):
        return None
    middle = next((known[name] for name in ("mean", "median", "50", "0.5", "p50") if name in known), None)
    most = next((known[name] for name in ("most", "max", "100", "1.0", "p100") if name in known), None)
    return (float(middle), float(most)) if isinstance(middle, int | float) and isinstance(most, int | float) else None
