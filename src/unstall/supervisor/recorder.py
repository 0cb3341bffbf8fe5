"""Records what a run was made of, beside the watching: what can be known at its start at once, the rest as it comes to be known,
and what an error was about at its end.

Reading sources, versions and data takes its time, so it is done by a thread of the watcher, one thing after the other. What
failed is an event, and the run goes on.
"""

from __future__ import annotations

import gzip
import json
import math
import os
import queue
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from unstall.base.files import write_private
from unstall.base.redact.text import register_command, register_variables
from unstall.diagnosis.causes.record_corrupt import MET_S
from unstall.diagnosis.errors.fatal_error import find_fatal_error, find_unmatched_pattern, find_unread_image
from unstall.journal.events import (
    DataMeasured,
    DataMet,
    ErrorInspected,
    Event,
    FileMet,
    ModulesLoaded,
    RunStarted,
    SourcesCopied,
    StepsEnded,
    VersionsRead,
)
from unstall.journal.reader import Journal
from unstall.journal.run_folder import RunFolder
from unstall.journal.stack_frames import find_program_folder
from unstall.sensors import (
    cluster,
    data_files,
    data_paths,
    environment,
    faulty_data,
    packages,
    project,
    record_classes,
    record_features,
)
from unstall.sensors.project import Sources

ASK_MEMORY_AFTER_S = 8.0  # a program that tells nothing of its imports by then is looked at from outside
MEASURE_AFTER_S = 3.0  # after data was met: more of it may come
MEASURE_AT_LATEST_S = 12.0  # by then a program that shows nothing from inside is taken at its word: the paths that it names
OPEN_LOOKS_S = (3.0, 6.0, 9.0, 11.0)  # when it is asked which files it holds open
WAIT_AT_END_S = 5.0
MAX_PATHS = 400
NICENESS = 5
STARTED_BEFORE_S = 1.0  # the program may have begun a moment before it is recorded


class Recorder:
    def __init__(
        self,
        run: RunFolder,
        pid: int,
        note: Callable[[Event], None],
        command: Sequence[str],
        folder: str,
        variables: Mapping[str, str],
    ) -> None:
        self._run = run
        self._pid = pid
        self._note = note
        self._command = list(command)
        self._folder = folder
        self._variables = dict(variables)
        register_variables(self._variables)
        register_command(self._command)
        self._search = [part for part in self._variables.get("PYTHONPATH", "").split(os.pathsep) if part]
        script = environment.find_script(self._command, folder, self._search)
        self._script = script if project.is_own(script) else ""  # that of the trainer is nobody's
        self._sources: Sources | None = None
        self._began, self._began_at = time.monotonic(), time.time() - STARTED_BEFORE_S
        self._knows_packages = False
        self._data: dict[str, str] = {}  # paths, and how they were met
        self._data_due = MEASURE_AT_LATEST_S  # seconds from the start
        self._is_under_way = (
            False  # what is met later, a run that died early would not have met: it would seem to have other data
        )
        self._open_looks = list(OPEN_LOOKS_S)
        self._held_open: set[str] = set()
        self._is_trainer = "unstall.training" in self._command  # it tells of its data set itself
        self._digest = ""
        self._work: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    @classmethod
    def of_process(cls, run: RunFolder, pid: int, note: Callable[[Event], None]) -> Recorder:
        """Of a program that was there before its watcher."""
        command, folder = environment.read_command(pid), environment.read_folder(pid)
        return cls(run, pid, note, command, folder, environment.read_variables(pid))

    def begin(self, drivers: Mapping[str, str], guarded: Callable[[str, Callable[[], None]], None]) -> None:
        """At once, before the program has taken anything. `guarded` makes an event of what fails."""
        self._guarded = guarded
        self._note(environment.look(self._pid, self._script, self._folder, self._variables, drivers))
        self._note(cluster.look())
        rank_seen = cluster.create_rank_event(self._pid, self._variables)
        if rank_seen is not None:
            self._note(rank_seen)
        self._later(self._read_sources)

    def look(self, events: Iterable[Event]) -> None:
        """What the journal tells by and by. Cheap: the work is done beside."""
        for event in events:
            if event.at < self._began_at:
                continue  # of an earlier program of the same run
            if isinstance(event, ModulesLoaded):
                self._knows_packages = True
                self._later(lambda event=event: self._take_modules(event))  # type: ignore[misc]
            elif isinstance(event, DataMet) and not self._is_under_way:
                self._meet([path for path in event.paths if event.how != "glob" or not data_paths.is_written(path)], event.how)
            elif isinstance(event, StepsEnded):
                self._is_under_way = True
        age = time.monotonic() - self._began
        if not self._knows_packages and age > ASK_MEMORY_AFTER_S:
            self._knows_packages = True
            self._later(self._read_memory)
        if self._open_looks and age > self._open_looks[0]:
            self._open_looks.pop(0)
            self._held_open.update(data_paths.find_open_files(self._pid))
        if age > self._data_due:
            self._measure()

    def finish(self) -> None:
        """What is under way is waited for, but not long."""
        if self._data_due < math.inf:
            self._measure()
        if self._thread is not None:
            self._work.put(None)
            self._thread.join(WAIT_AT_END_S)

    # --- the thread ---

    def _later(self, work: Callable[[], None]) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run_all, name="unstall-record", daemon=True)
            self._thread.start()
        self._work.put(work)

    def _run_all(self) -> None:
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)  # the program comes first
        while (work := self._work.get()) is not None:
            self._guarded("record", work)

    # --- sources and versions ---

    def _read_sources(self) -> None:
        self._sources = project.read(self._script, self._command, self._folder, self._search)
        self._keep_sources()

    def _take_modules(self, event: ModulesLoaded) -> None:
        self._note(VersionsRead(at=time.time(), versions=packages.read_versions(event.packages)))
        if self._sources is None or self._is_trainer:
            return
        before = len(self._sources.files)
        files = [Path(os.path.realpath(file)) for file in event.files if project.is_own(file)]
        if not self._sources.script and files:  # started through something else, a shell say
            self._sources.folder = str(files[0].parent)
            self._sources.script = files[0].name
        for file in files:
            self._sources.add(file)
        if len(self._sources.files) > before:
            self._keep_sources()

    def _read_memory(self) -> None:
        found = packages.read_loaded(self._pid)
        if found:
            self._note(VersionsRead(at=time.time(), versions=packages.read_versions(found)))

    def _keep_sources(self) -> None:
        """Written aside and renamed: whoever reads finds all of it, or what was there before."""
        sources = self._sources
        if sources is None or not (sources.files or sources.named_files):
            return
        plain = {"folder": sources.folder, "script": sources.script, "files": sources.files, "named_files": sources.named_files}
        path = self._run.sources_path
        aside = path.with_name(f".{path.name}.new")
        write_private(aside, gzip.compress(json.dumps(plain).encode("utf-8"), 6, mtime=0))
        aside.replace(path)
        self._note(
            SourcesCopied(
                at=time.time(),
                path=path.name,
                folder=sources.folder,
                script=sources.script,
                files=len(sources.files),
                size_bytes=sources.size_bytes,
                left_out=sources.left_out,
            )
        )

    # --- data ---

    def _meet(self, paths: Sequence[str], how: str) -> None:
        fresh = [path for path in paths if path not in self._data][: MAX_PATHS - len(self._data)]
        if fresh:
            self._data.update(dict.fromkeys(fresh, how))
            self._data_due = min(self._data_due, time.monotonic() - self._began + MEASURE_AFTER_S)

    def _measure(self) -> None:
        """What was met up to now, with the annotations that the program names; where nothing was met, all data that it names, or
        at last what it holds open."""
        self._data_due = math.inf
        met, held_open = dict(self._data), sorted(self._held_open)

        def measure() -> None:
            if self._is_trainer or self._sources is None:
                return  # a data set of the trainer's own has told more
            texts = [file["text"] for file in self._sources.files.values()]
            named = data_paths.find_named_paths(texts, self._command, list(dict.fromkeys([self._folder, self._sources.folder])))
            paths = {**dict.fromkeys(data_paths.find_labels(named) if met else named, "named by the program"), **met}
            paths = paths or dict.fromkeys(held_open, "open")
            found = data_files.measure(list(paths), self._folder)
            if found and found["digest"] != self._digest:
                self._digest = found["digest"]
                source = ", ".join(sorted(set(paths.values())))
                self._note(DataMeasured(at=time.time(), source=source, fingerprint=found))
                compared = record_classes.compare_classes(list(paths), self._command, self._folder)
                if compared is not None:
                    self._note(compared)

        self._later(measure)


# What is looked at when a program has ended with an error: a path that it could not find, an image that is
# cut off, a record file that is damaged, a label that the model has no output for.


def look_at_error(journal: Journal) -> list[Event]:
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
    features = record_features.look_for_features(error, [*met, *opened], folder)
    return [event for event in (looked, images, records, label, features) if event is not None]
