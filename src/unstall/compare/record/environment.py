"""Where and with what a run was made: settings, environment, versions, machine, cards, input."""

from __future__ import annotations

from typing import Any

from unstall.compare.record.journal_summary import JournalSummary
from unstall.journal.events import (
    CircumstancesSeen,
    DataMeasured,
    DevicesListed,
    HostSampled,
    InputDescribed,
    InputMeasured,
    ModulesLoaded,
    PipelineBuilt,
    PipelineMeasured,
    TrainingBegan,
)
from unstall.journal.run_folder import RunFolder
from unstall.training import summary

MAX_STAGES = 60
STAGE_ARGUMENTS = {
    "map": ("num_parallel_calls",), "interleave": ("cycle_length", "num_parallel_calls"), "batch": ("batch_size",),
    "padded_batch": ("batch_size",), "ragged_batch": ("batch_size",), "prefetch": ("buffer_size",), "shuffle": ("buffer_size",),
    "take": ("count",), "skip": ("count",), "repeat": ("count",),
}  # fmt: skip


def record_settings(folder: RunFolder, taken: JournalSummary) -> dict[str, Any]:
    """Of `unstall train`, as they were in the end; what was left to be chosen as it was chosen."""
    known = dict(summary.read_settings(folder))
    began = taken.last(TrainingBegan)
    if known and began is not None:
        known["backend"] = began.backend or known.get("backend")
        known["micro_batch_size"] = began.micro_batch_size or known.get("micro_batch_size")
    return known


def record_environment(taken: JournalSummary) -> dict[str, str]:
    """As the program began with it, with what it has set itself."""
    seen, loaded, listed = taken.last(CircumstancesSeen), taken.last(ModulesLoaded), taken.last(DevicesListed)
    known = dict(seen.variables) if seen else dict(listed.variables) if listed else {}
    path = known.get("PYTHONPATH")  # as given: for the program Unstall's own folder was on it
    known.update(loaded.variables if loaded else {})
    known.pop("PYTHONPATH", None)
    return dict(sorted({**known, **({"PYTHONPATH": path} if path else {})}.items()))


def record_machine(taken: JournalSummary) -> dict[str, Any]:
    seen, host = taken.last(CircumstancesSeen), taken.first(HostSampled)
    if seen is not None and seen.machine:
        return dict(seen.machine)
    return {"memory_bytes": host.total_bytes, "cgroup_limit_bytes": host.cgroup_limit_bytes} if host else {}


def record_devices(taken: JournalSummary) -> list[dict[str, Any]]:
    """Cards as they were before the start: what was free, and who else held what."""
    rows = []
    for card in taken.cards():
        ours = sum(process.get("bytes") or 0 for process in card.processes if process.get("ours"))
        foreign = [
            {"pid": process.get("pid"), "name": process.get("name"), "bytes": process.get("bytes")}
            for process in card.processes
            if not process.get("ours")
        ]
        rows.append(
            {
                "index": card.index,
                "name": card.name,
                "total_bytes": card.total_bytes,
                "free_bytes_before": card.total_bytes - card.used_bytes + ours,
                "foreign": foreign,
            }
        )
    return rows


def record_inputs(taken: JournalSummary) -> dict[str, Any]:
    """What fed the training: its kind, its arguments, the stages of tf.data with how much each does at a time."""
    described = [event for event in taken.of(InputDescribed) if event.role == "train"]
    last = described[-1] if described else None
    own = taken.last(InputMeasured)
    plain: dict[str, Any] = {}
    if last is not None:
        plain = {"kind": last.kind, "where": last.where, "batches": last.batches, "arguments": last.arguments}
    elif own is not None:
        plain = {"kind": f"unstall, {own.engine}", "workers": own.workers}
    measured, built = _measured(taken), _built(taken)
    if measured or built:
        plain.setdefault("kind", "tf.data")
        plain["stages"] = measured or built
        plain["stages_are"] = "measured" if measured else "built"
        plain["stages_built"] = built
    return plain


def _measured(taken: JournalSummary) -> list[dict[str, Any]]:
    """The stages of the pipeline that ran, where TensorFlow could be asked: of a run that went on for a while."""
    known = [event for event in taken.of(PipelineMeasured) if event.stages and event.role == "train"]
    stages = [stage for stage in known[-1].stages if stage.get("stage")] if known else []  # others were added by a library
    return _stage_rows([(str(stage["stage"]), stage.get("arguments") or {}, stage.get("where")) for stage in stages])


def _built(taken: JournalSummary) -> list[dict[str, Any]]:
    """All that the program has built, in its order."""
    return _stage_rows([(event.stage, event.arguments, event.where) for event in taken.of(PipelineBuilt)])


def _stage_rows(stages: list[tuple[str, dict[str, Any], str | None]]) -> list[dict[str, Any]]:
    return [{"stage": stage, "arguments": _named(stage, given), "where": where} for stage, given, where in stages[:MAX_STAGES]]


def _named(stage: str, given: dict[str, Any]) -> dict[str, Any]:
    """Arguments that were given by their place have the names that TensorFlow gives them."""
    plain: dict[str, Any] = {}
    names = STAGE_ARGUMENTS.get(stage, ())
    after_function = 1 if stage in {"map", "interleave", "flat_map", "filter"} else 0
    for key, value in given.items():
        place = int(key.removeprefix("argument_")) - after_function if key.startswith("argument_") else -1
        plain[names[place] if 0 <= place < len(names) else key] = value
    return plain


# The fingerprint of the data, as far as it was met.


def record_data(taken: JournalSummary) -> dict[str, Any]:
    """Of the trainer's own data set where there is one; else the newest measurement of the files, which holds most of them."""
    measured = taken.last(DataMeasured)
    if measured is not None:
        return {"source": measured.source, **measured.fingerprint}
    began = taken.last(TrainingBegan)
    return {"examples": began.examples} if began is not None and began.examples else {}
