"""What is looked at, beside the stacks, in a program that stands still: its threads, children, source, cluster and data bases.

All of it is read from /proc and from files, and stops nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from unstall.diagnosis.causes.record_corrupt import MET_S
from unstall.diagnosis.errors.fatal_error import find_fatal_error, find_unmatched_pattern, find_unread_image
from unstall.journal.events import DataMet, ErrorInspected, Event, FileMet, RunStarted, StackSampled, ThreadsSeen
from unstall.journal.reader import Journal
from unstall.journal.stack_frames import find_program_folder
from unstall.sensors import cluster, data_paths, databases, faulty_data, packages, source_lines, threads


def look_at_threads(pid: int, others: Sequence[int] = ()) -> list[ThreadsSeen]:
    """Cheap: done with every sample. A native sample wakes all threads, so this comes before it."""
    thread_events = [threads.sample(pid), *(threads.sample(other, main=False) for other in others)]
    return [event for event in thread_events if event is not None]


def look_around(pid: int, others: Sequence[int], samples: Sequence[Event]) -> list[Event]:
    """Once, when the stacks have been sampled."""
    stacks = [sample for sample in samples if isinstance(sample, StackSampled)]
    around: list[Event | None] = [packages.sample(pid), *(cluster.sample(each) for each in (pid, *others))]
    around += [databases.sample(each, main=each == pid) for each in (pid, *others)]
    return [*threads.sample_children(others), *source_lines.read(stacks), *(event for event in around if event is not None)]


# What is looked at when a program has ended with an error: a path that it could not find, an image that is
# cut off, a record file that is damaged, a label that the model has no output for.


def look(journal: Journal) -> list[Event]:
    error = find_fatal_error(journal)
    if error is None:
        return []
    started = journal.last(RunStarted)
    unmatched, image = find_unmatched_pattern(journal, error), find_unread_image(journal, error)
    unread = image.path if image is not None and not image.exists else None
    looked = data_paths.look(
        error, find_program_folder(journal), dict(os.environ), started.command if started else (), unmatched, unread
    )
    command, folder = started.command if started else (), find_program_folder(journal)
    met = [path for event in journal.of(DataMet) for path in event.paths]
    images = faulty_data.look_for_damaged_images(error, met, command, folder)
    inspected = [line for event in journal.of(ErrorInspected) if event.error_at == error.at for line in event.lines]
    label = faulty_data.look_for_refused_label(error, inspected, command, folder)
    opened = [file.path for file in journal.of(FileMet) if abs(file.at - error.at) < MET_S and file.how == "open"]
    records = faulty_data.look_for_damaged_records(error, [*met, *opened], folder)
    return [event for event in (looked, images, records, label) if event is not None]


# Finding the processes that run Python among some.


def is_python(pid: int) -> bool:
    """By the program that runs, or by libpython in its memory map (an embedded interpreter)."""
    try:
        program = Path(f"/proc/{pid}/exe").readlink().name
        if program.startswith("python") or program.startswith("pypy"):
            return True
        return "libpython" in Path(f"/proc/{pid}/maps").read_text(errors="replace")
    except OSError:
        return False


def list_python_processes(pids: Iterable[int]) -> list[int]:
    return [pid for pid in pids if is_python(pid)]


def find_other_program(pid: int) -> str | None:
    """The name of a program that is surely not Python; None of one that is, or that we may not look at."""
    try:
        name = Path(f"/proc/{pid}/exe").readlink().name
        Path(f"/proc/{pid}/maps").read_text(errors="replace")
    except OSError:
        return None
    return None if is_python(pid) else name
