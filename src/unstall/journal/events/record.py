"""The events that say what a run was made of, each once in a run, so that two runs can be compared.

They are written as early as they can be known: a run that dies in its first step has told them. Secrets are masked before.

Standard library only, syntax of Python 3.7, as all of the journal.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from unstall.journal.events.base import Event

OF_TRAINER = "the data set of the trainer"  # a source of DataMeasured: all of it was read, and nothing need be guessed


@dataclass(frozen=True)
class CircumstancesSeen(Event):
    """Where the program was started, right after its start: what was there before it could take anything."""

    script: str = ""  # the file that it runs; empty where none can be told
    variables: dict[str, str] = field(default_factory=dict)  # of the environment, those that can change a training
    machine: dict[str, Any] = field(default_factory=dict)  # cores, memory_bytes, cgroup_limit_bytes, hostname, kernel, ...
    drivers: dict[str, str] = field(default_factory=dict)  # of the cards: driver, cuda


@dataclass(frozen=True)
class SourcesCopied(Event):
    """The program's own source lies in the run folder."""

    path: str = ""  # of the copy, relative to the run folder
    folder: str = ""  # that the names are relative to
    script: str = ""  # the name of the script among them
    files: int = 0
    size_bytes: int = 0
    left_out: int = 0  # files: too many, too large or not to be read


@dataclass(frozen=True)
class ModulesLoaded(Event):
    """What the program had imported when its training began, or when it ended without one."""

    pid: int = 0
    files: list[str] = field(default_factory=list)  # of the user's own
    packages: dict[str, str] = field(default_factory=dict)  # installed ones: the name that is imported, and the folder it lies in
    variables: dict[str, str] = field(default_factory=dict)  # as CircumstancesSeen has them, as the program has set them since


@dataclass(frozen=True)
class VersionsRead(Event):
    """Of the distributions that the program has imported, by what lies beside them on the disk."""

    versions: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ModelRecorded(Event):
    """A model as it is about to be trained. Each layer is a row: name, class, output_shape, parameters, trainable ones, dtype."""

    facts: dict[str, Any] = field(default_factory=dict)
    layers: list[list[Any]] = field(default_factory=list)
    layers_left_out: int = 0


@dataclass(frozen=True)
class BatchesCounted(Event):
    """The shapes of the batches that were seen up to now: each a list of arrays (role, name, shape, dtype) and its count."""

    shapes: list[dict[str, Any]] = field(default_factory=list)
    different: int = 0  # shapes; more than are listed, where they are very many
    batches: int = 0  # that were looked at


@dataclass(frozen=True)
class DataMet(Event):
    """Where the program's data lies, as far as it passed by: files or folders that it opened, listed or was given."""

    paths: list[str] = field(default_factory=list)
    how: str = ""  # glob, list_files, TFRecordDataset, directory, open, named in the program, ...


@dataclass(frozen=True)
class DataMeasured(Event):
    """The fingerprint of the data: files, bytes, examples, image_px, boxes_per_image, largest, digest.
    See compare/record/store.py."""

    source: str = ""  # how it was met, or OF_TRAINER
    fingerprint: dict[str, Any] = field(default_factory=dict)
