"""What a run was: its command, its machine, versions, the model, the input and its stages, settings. Facts, as plain data."""

from __future__ import annotations

from typing import Any

from unstall.base.redact.environment import redact_command
from unstall.diagnosis.pipelines import read_pipelines, shorten_stage
from unstall.journal.events import (
    DeviceSampled,
    DevicesListed,
    FitBegan,
    FrameworkLoaded,
    HostSampled,
    InputDescribed,
    InputMeasured,
    ModelDescribed,
    ProgramStarted,
    RunStarted,
)
from unstall.journal.events.record import CircumstancesSeen, ModulesLoaded, VersionsRead
from unstall.journal.reader import Journal
from unstall.journal.stack_frames import find_program_folder

MAX_LAYERS = 60
MAX_STAGES = 24
OWN_STAGES = ("read", "decode", "augment", "batch", "transfer")


def describe_environment(journal: Journal) -> dict[str, Any]:
    started, program, host = journal.first(RunStarted), journal.first(ProgramStarted), journal.last(HostSampled)
    loaded = {event.name: event.version for event in journal.of(FrameworkLoaded)}
    listed, circumstances = journal.last(DevicesListed), journal.last(CircumstancesSeen)
    machine = circumstances.machine if circumstances else {}
    return {
        "command": redact_command(started.command if started else program.argv if program else []),
        "folder": find_program_folder(journal),
        "pid": started.pid if started else program.pid if program else None,
        "watched_by": started.mode if started else None,
        "unstall": started.version if started else None,
        "python": program.python if program else None,
        "frameworks": dict(sorted(loaded.items())),
        "host_memory_bytes": host.total_bytes if host else None,
        "memory_limit_bytes": host.cgroup_limit_bytes if host else None,
        "cards": [f"{event.name} ({event.index})" for event in _cards(journal)],
        "computes_on": listed.devices if listed else [],
        "variables": _variables(journal),
        "packages": _packages(journal),
        "drivers": circumstances.drivers if circumstances else {},
        "processor": machine.get("processor"),
        "cores": machine.get("cores"),
        "kernel": machine.get("kernel"),
    }


def _variables(journal: Journal) -> dict[str, str]:
    """Those that can change a training, as the program had them in the end; what names a secret was never written down."""
    started_with = [event.variables for event in journal.of(CircumstancesSeen)]
    set_since = [event.variables for event in journal.of(ModulesLoaded)]
    set_variables = [event.variables for event in journal.of(DevicesListed)]
    in_the_end = {name: value for each in (*started_with, *set_variables, *set_since) for name, value in each.items()}
    return dict(sorted(in_the_end.items()))


def _packages(journal: Journal) -> dict[str, str]:
    plain: dict[str, str] = {}
    for event in journal.of(VersionsRead):
        plain.update(event.versions)
    return dict(sorted(plain.items()))


def _cards(journal: Journal) -> list[DeviceSampled]:
    by_index = {event.index: event for event in journal.of(DeviceSampled)}
    return [by_index[index] for index in sorted(by_index)]


def describe_model(journal: Journal) -> dict[str, Any] | None:
    """Of the model that was described last: what it is made of, and how it is trained."""
    described, fit = journal.last(ModelDescribed), journal.last(FitBegan)
    if described is None:
        return None
    facts = described.facts
    layers = [layer for layer in facts.get("layers") or [] if isinstance(layer, dict)]
    return {
        "model": facts.get("model"),
        "layers": [{key: layer.get(key) for key in ("name", "class", "activation")} for layer in layers[:MAX_LAYERS]],
        "layers_left_out": max(0, len(layers) - MAX_LAYERS),
        "losses": [loss.get("name") for loss in facts.get("losses") or [] if isinstance(loss, dict)],
        "optimizer": facts.get("optimizer"),
        "compiled_at": shorten_stage(facts.get("compiled_at"), find_program_folder(journal)),
        "backend": fit.backend if fit else None,
        "epochs": fit.epochs if fit else None,
        "steps_per_epoch": fit.steps_per_epoch if fit else None,
    }


def describe_inputs(journal: Journal) -> dict[str, Any]:
    """What was given to the training, and the stages that made it, from the source on."""
    described = [event for event in journal.of(InputDescribed) if event.role == "train"]
    last = described[-1] if described else None
    return {
        "kind": last.kind if last else None,
        "where": shorten_stage(last.where, find_program_folder(journal)) if last else None,
        "batches": last.batches if last else None,
        "arguments": last.arguments if last else {},
        "stages": (_own_stages(journal) or _stages(journal))[:MAX_STAGES],
    }


def _stages(journal: Journal) -> list[dict[str, Any]]:
    """As TensorFlow measured them in the last pipeline of the training."""
    measured = read_pipelines(journal)
    if not measured:
        return []
    return [
        {
            "stage": stage.words,
            "where": stage.where,
            "seconds": stage.seconds,
            "elements": stage.elements,
            "at_a_time": stage.at_a_time,
            "waiting": stage.buffered,
        }
        for stage in measured[-1].worked()
    ]


def _own_stages(journal: Journal) -> list[dict[str, Any]]:
    last = journal.last(InputMeasured)
    if last is None:
        return []
    return [
        {
            "stage": name,
            "where": None,
            "seconds": getattr(last, f"{name}_s"),
            "elements": last.examples,
            "at_a_time": last.at_work or last.workers,
            "waiting": last.ready_batches if name == "batch" else None,
        }
        for name in OWN_STAGES
    ]
