"""What was trained, and on batches of which shape: layers with what they hold, optimizer, losses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from unstall.compare.record.journal_summary import JournalSummary
from unstall.diagnosis.batches import AT_THE_ERROR
from unstall.journal.events import (
    BatchesCounted,
    BatchSampled,
    FitBegan,
    InputDescribed,
    ModelDescribed,
    ModelRecorded,
    PipelineBuilt,
    TrainingBegan,
)

BYTES = {"float64": 8, "int64": 8, "uint64": 8, "float32": 4, "int32": 4, "uint32": 4, "float16": 2, "bfloat16": 2, "int16": 2,
         "uint16": 2, "int8": 1, "uint8": 1, "bool": 1, "complex64": 8, "complex128": 16}  # fmt: skip
BEFORE_FIT_S = 5.0  # the input is described before the fit begins
SWITCHES = ("jit_compile", "run_eagerly", "steps_per_execution")
OF_SETTINGS = {
    "learning_rate": "learning_rate", "momentum": "momentum", "weight_decay": "weight_decay", "global_clipnorm": "clip_norm",
    "lr_schedule": "lr_schedule", "warmup_steps": "warmup_steps", "ema_decay": "ema_decay",
}  # fmt: skip
Array = dict[str, Any]


def record_batch(taken: JournalSummary) -> dict[str, Any]:
    """The arrays of the largest batch that was seen, how many shapes there were, and how the numbers in them ranged."""
    counted = _counted(taken)
    if counted is not None:
        rows = _stated_rows(taken)
        shapes = [
            {"arrays": [_array(*_with_rows(part, rows)) for part in shape["arrays"]], "batches": shape["batches"]}
            for shape in counted.shapes
        ]
        arrays, different, looked_at = shapes[0]["arrays"], counted.different, counted.batches
    else:
        shapes, arrays = [], _from_samples(taken)
        different, looked_at = (1, 1) if arrays else (0, 0)
    if not arrays:
        began = taken.last(TrainingBegan)
        return (
            {"size": began.batch_size, "micro_batch_size": began.micro_batch_size}
            if began is not None and began.batch_size
            else {}
        )
    began = taken.last(TrainingBegan)
    return {
        "size": _rows(arrays),
        **({"micro_batch_size": began.micro_batch_size} if began is not None and began.micro_batch_size else {}),
        "arrays": arrays,
        "bytes": sum(array["bytes"] or 0 for array in arrays),
        "input_bytes": sum(array["bytes"] or 0 for array in arrays if array["role"] == "x"),
        "target_bytes": sum(array["bytes"] or 0 for array in arrays if array["role"] == "y"),
        "shapes": shapes,
        "different_shapes": different,
        "looked_at": looked_at,
        "values": _values(taken),
    }


def _counted(taken: JournalSummary) -> BatchesCounted | None:
    """Of the last fit, that which has seen most; where none has seen a batch, what the data set said of itself."""
    fit = taken.last(FitBegan)
    events = [event for event in taken.of(BatchesCounted) if event.shapes]
    of_fit = [event for event in events if fit is not None and event.at >= fit.at - BEFORE_FIT_S]
    return max(of_fit or events, key=lambda event: event.batches, default=None)


def _stated_rows(taken: JournalSummary) -> int | None:
    """How many rows a stage of tf.data makes a batch of: for a data set that leaves it open itself."""
    stages = [event for event in taken.of(PipelineBuilt) if event.stage in {"batch", "padded_batch", "ragged_batch"}]
    stated = [event.arguments.get("batch_size", event.arguments.get("argument_0")) for event in stages]
    return next((rows for rows in reversed(stated) if isinstance(rows, int) and rows > 0), None)


def _with_rows(part: list[Any], rows: int | None) -> list[Any]:
    role, name, shape, dtype = part
    return [role, name, [rows, *shape[1:]] if rows and shape and shape[0] < 0 else shape, dtype]


def _array(role: str, name: str, shape: list[int], dtype: str) -> Array:
    return {"role": role, "name": name, "shape": shape, "dtype": dtype, "bytes": compute_size_bytes(shape, dtype)}


def _from_samples(taken: JournalSummary) -> list[Array]:
    """Of arrays that were given to fit as a whole, a batch is so many rows of each."""
    described = next((event for event in reversed(taken.of(InputDescribed)) if event.role == "train"), None)
    rows = described.arguments.get("batch_size") if described is not None else None
    for event in taken.of(BatchSampled):
        entries = [array for array in event.facts.get("arrays") or [] if isinstance(array, dict) and array.get("shape")]
        if not entries or event.facts.get("source") not in {"batch", "arrays"}:
            continue
        is_whole = event.facts.get("source") == "arrays" and isinstance(rows, int)
        shapes = [[min(rows, array["shape"][0]), *array["shape"][1:]] if is_whole else array["shape"] for array in entries]
        return [
            _array(array.get("role", ""), array.get("name", ""), shape, array.get("dtype", ""))
            for array, shape in zip(entries, shapes, strict=True)
        ]
    return []


def _rows(arrays: list[Array]) -> int | None:
    inputs = [array for array in arrays if array["role"] == "x"] or arrays
    first = next((array["shape"] for array in inputs if array["shape"]), None)
    return first[0] if first and first[0] and first[0] > 0 else None


def _values(taken: JournalSummary) -> list[dict[str, Any]]:
    """min, max and mean of each array over the batches that were looked at; of boxes, how many a batch had."""
    plain: dict[tuple[str, str], dict[str, Any]] = {}
    for event in taken.of(BatchSampled):
        if event.facts.get("source") == AT_THE_ERROR:
            continue  # of the lines that failed, too: no run that went well has told of them
        for array in event.facts.get("arrays") or []:
            if not isinstance(array, dict) or "min" not in array:
                continue
            known = plain.setdefault((array["role"], array["name"]), {"means": [], "boxes": []})
            known["min"] = min(known.get("min", array["min"]), array["min"])
            known["max"] = max(known.get("max", array["max"]), array["max"])
            known["means"].append(array.get("mean"))
            boxes = array.get("boxes")
            if isinstance(boxes, dict) and isinstance(boxes.get("rows"), int):
                known["boxes"].append(boxes["rows"])
            if "distinct" in array:
                known["distinct"] = max(known.get("distinct", 0), array["distinct"])
    rows = []
    for (role, name), known in plain.items():
        means = [mean for mean in known.pop("means") if isinstance(mean, int | float)]
        counts = known.pop("boxes")
        row = {"role": role, "name": name, **known, "mean": sum(means) / len(means) if means else None}
        if counts:
            row["boxes_per_batch"] = {"min": min(counts), "max": max(counts), "mean": sum(counts) / len(counts)}
        rows.append(row)
    return rows


def compute_size_bytes(shape: Sequence[int | None], dtype: str) -> int | None:
    width = BYTES.get(dtype)
    if width is None or any(side is None or side < 0 for side in shape):
        return None
    return math.prod(side for side in shape if side is not None) * width


# --- the model ---


def record_model(taken: JournalSummary, fed: dict[str, Any]) -> dict[str, Any]:
    result = find_model_record(taken)
    if result is None:
        return _from_description(taken)
    facts, size = result.facts, fed.get("micro_batch_size") or fed.get("size")
    layers = [_layer(row, size) for row in result.layers if isinstance(row, list) and len(row) == 6]
    held = [layer["activation_bytes"] for layer in layers if layer["output_shape"] is not None]
    fit = taken.last(FitBegan)
    return {
        "name": facts.get("name", ""),
        "class": facts.get("model", ""),
        "parameters": facts.get("parameters"),
        "trainable_parameters": facts.get("trainable_parameters"),
        "layers": layers,
        "layers_left_out": result.layers_left_out,
        "activation_bytes": sum(held) if held and None not in held else None,  # of the layers whose shapes Keras knows
        "inputs": [_tensor(each, size) for each in facts.get("inputs") or []],
        "outputs": [_tensor(each, size) for each in facts.get("outputs") or []],
        "precision": facts.get("policy", ""),
        "backend": fit.backend if fit else "",
        "own_loop": bool(facts.get("own_loop")),
    }


def find_model_record(taken: JournalSummary) -> ModelRecorded | None:
    """The model of the last fit. Of one's own loop, which may train several by turns, the largest."""
    events = taken.of(ModelRecorded)
    of_fits = [event for event in events if not event.facts.get("own_loop")]
    if of_fits or not events:
        return of_fits[-1] if of_fits else None
    largest = max(events, key=lambda event: (event.facts.get("parameters") or 0, bool(event.layers)))
    optimizers = [event.facts["optimizer"] for event in events if event.facts.get("optimizer")]
    return replace(largest, facts={**largest.facts, "optimizer": optimizers[-1] if optimizers else {}})


def _from_description(taken: JournalSummary) -> dict[str, Any]:
    """A journal of an older version tells less."""
    described = taken.last(ModelDescribed)
    if described is None:
        return {}
    layers = [layer for layer in described.facts.get("layers") or [] if isinstance(layer, dict)]
    rows = [{"name": layer.get("name", ""), "class": layer.get("class", "")} for layer in layers]
    return {"name": "", "class": described.facts.get("model", ""), "layers": rows} if layers else {}


def _layer(row: list[Any], size: int | None) -> dict[str, Any]:
    name, kind, shapes, parameters, trainable, dtype = row
    bytes_each = [compute_size_bytes(_filled(shape, size), dtype) for shape in shapes or []]
    is_known = bool(bytes_each) and all(each is not None for each in bytes_each)
    return {
        "name": name,
        "class": kind,
        "output_shape": shapes[0] if shapes else None,
        "uses": len(shapes or []),
        "parameters": parameters,
        "trainable_parameters": trainable,
        "dtype": dtype,
        "activation_bytes": sum(each or 0 for each in bytes_each) if is_known else None,
    }


def _filled(shape: list[int | None], size: int | None) -> list[int | None]:
    """With the size of the batch where Keras leaves it open."""
    return [size, *shape[1:]] if shape and shape[0] is None else list(shape)


def _tensor(rows: list[Any], size: int | None) -> dict[str, Any]:
    name, shape, dtype = rows
    return {"name": name, "shape": shape, "dtype": dtype, "bytes": compute_size_bytes(_filled(shape, size), dtype)}


def record_optimizer(taken: JournalSummary, settings: dict[str, Any]) -> dict[str, Any]:
    if settings.get("optimizer"):  # of a training of Unstall's own
        return {"class": settings["optimizer"], **{key: settings.get(name) for key, name in OF_SETTINGS.items()}}
    result, described = find_model_record(taken), taken.last(ModelDescribed)
    facts = dict(result.facts.get("optimizer") or {}) if result else {}
    if not facts and described is not None and described.facts.get("optimizer"):
        names = ("momentum", "weight_decay", "clipped", "schedule")
        facts = {"class": described.facts["optimizer"], **{name: described.facts.get(name) for name in names}}
    if described is not None and described.facts.get("optimizer_at"):
        facts["where"] = described.facts["optimizer_at"]
    switches = {name: result.facts[name] for name in SWITCHES if name in result.facts} if result else {}
    return {**facts, **switches}


def record_losses(taken: JournalSummary) -> dict[str, Any]:
    """The names of Keras's own; of one's own, the name and the place of the function."""
    result, described = find_model_record(taken), taken.last(ModelDescribed)
    found = (result.facts.get("losses") if result else None) or (described.facts.get("losses") if described else None) or []
    names = [str(loss.get("own") or loss.get("name", "")) for loss in found if isinstance(loss, dict)]
    if not names:
        return {}
    places = [loss["where"] for loss in found if isinstance(loss, dict) and loss.get("where")]
    return {"names": names, "where": places[0] if places else None, "details": found}
