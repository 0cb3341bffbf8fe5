"""What a record says of how the run went: its figures, how it ended and of what."""

from __future__ import annotations

import math
from typing import Any

# By the cause of the verdict, what a run failed of.
OF_MEMORY = frozenset({
    "device_memory_exhausted", "device_memory_fragmented", "device_memory_held_by_other", "host_memory_exhausted",
    "host_memory_leaking", "swapping",
})  # fmt: skip
OF_LOSS = frozenset({
    "batch_constant", "gradients_disconnected", "gradients_exploding", "gradients_vanishing", "inputs_unscaled",
    "labels_invalid", "learning_rate_too_high", "learning_rate_too_low", "loss_not_falling", "loss_not_finite",
    "loss_output_mismatch",
    "units_dead", "weights_frozen",
})  # fmt: skip
OF_TIME = frozenset({
    "checkpoint_slow", "compiling_long", "device_unused", "eager_execution", "function_retracing", "input_starved",
    "python_in_pipeline", "shuffle_buffer_filling", "storage_slow", "thread_pool_exhausted",
})  # fmt: skip


OF_THE_RUN = frozenset({"validation", "checkpoint", "compile"})
ABOVE_THE_USUAL = 0.25  # of what a training holds: a peak beyond that is no chance, but one large image, say


def get_figure(record: dict[str, Any], name: str) -> float | None:
    value = get_section(record, "figures").get(name)
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def get_part(record: dict[str, Any], name: str) -> float | None:
    """Seconds of a step; of what is not done in each step, of the whole run."""
    parts = get_section(record, "figures").get("totals_s" if name in OF_THE_RUN else "parts")
    value = parts.get(name) if isinstance(parts, dict) else None
    if name in OF_THE_RUN and not value and get_section(record, "run").get("outcome") != "done":
        return None  # a run that was not seen to its end may not have come to it
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def get_spread(record: dict[str, Any]) -> float | None:
    """By how much the steps of the run differ among each other, in seconds."""
    return get_figure(record, "step_spread_s")


def get_part_uncertainty(record: dict[str, Any], name: str) -> float:
    """The standard error of what a part of a step takes, in seconds; 0 where it is not known."""
    known = get_section(record, "figures").get("parts_uncertainty_s")
    value = known.get({"other": "between"}.get(name, name)) if isinstance(known, dict) else None
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else 0.0


def compute_waiting_share(record: dict[str, Any]) -> float:
    """Of the time that its threads wanted to run, the share that they waited for a core; while it trained, if that is known."""
    share = get_figure(record, "crowded_share")
    if share is not None:
        return share
    busy, waiting = get_figure(record, "cpu_cores"), get_figure(record, "queued_cores")
    return waiting / (busy + waiting) if busy and waiting else 0.0


def get_curve(record: dict[str, Any]) -> list[tuple[float, float]]:
    rows = get_section(record, "figures").get("curve")
    points = [row for row in rows if isinstance(row, list | tuple) and len(row) == 2] if isinstance(rows, list) else []
    return [
        (float(step), float(loss)) for step, loss in points if isinstance(step, int | float) and isinstance(loss, int | float)
    ]


def get_score(record: dict[str, Any]) -> float | None:
    known = get_section(record, "figures").get("score")
    value = known.get("AP") if isinstance(known, dict) else None
    return float(value) if isinstance(value, int | float) else None


def get_usual_memory(record: dict[str, Any]) -> tuple[float, float] | None:
    """What steps hold at their most, and how unsure that is; None where the run's peak is of something else, or not known."""
    usual, unsure, peak = (
        get_figure(record, name) for name in ("host_typical_bytes", "host_uncertainty_bytes", "host_peak_bytes")
    )
    if usual is None or unsure is None or peak is None:
        return None
    own = usual - (get_figure(record, "host_before_bytes") or 0.0)
    return (usual, unsure) if peak - usual <= ABOVE_THE_USUAL * own else None


def compute_floor_bytes(record: dict[str, Any]) -> float | None:
    """What the process held before its training began: the framework, the program, its data."""
    return get_figure(record, "host_before_bytes") if get_figure(record, "device_peak_bytes") is None else 0.0


# --- how it ended ---


def list_failed_channels(record: dict[str, Any]) -> frozenset[str]:
    """The channels: memory and free, loss, time; none where it ended well."""
    run = get_section(record, "run")
    cause = str(run.get("cause") or "")
    found: set[str] = set()
    if cause in OF_MEMORY:
        found |= {"memory", "free"}
    if cause in OF_LOSS or is_broken(record):
        found.add("loss")
    if cause in OF_TIME:
        found.add("time")
    return frozenset(found)


def is_out_of_memory(record: dict[str, Any]) -> bool:
    """What was measured is then less than what it needed."""
    return "memory" in list_failed_channels(record) and get_section(record, "run").get("outcome") in {"failed", "stuck"}


def is_broken(record: dict[str, Any]) -> bool:
    """Its loss became something that is no number."""
    return get_section(record, "figures").get("not_finite_since_step") is not None


# Reading plain data that may have holes.


def get_section(record: dict[str, Any], name: str) -> dict[str, Any]:
    found = record.get(name)
    return found if isinstance(found, dict) else {}


def list_numbers(values: Any) -> list[float]:
    return [float(each) for each in values if isinstance(each, int | float)] if isinstance(values, list | tuple) else []
