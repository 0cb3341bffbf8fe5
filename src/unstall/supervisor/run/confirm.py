"""`unstall confirm`: starts the program of a run again, for experiments alone, and adds what they show to its journal."""

from __future__ import annotations

import os
import platform
import stat
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from unstall.base.errors import InvalidInputError
from unstall.base.redact.text import MASK
from unstall.diagnosis.confirmation import SPEAKS_FOR
from unstall.diagnosis.findings import diagnose
from unstall.journal.events import CircumstancesSeen, ExperimentEnded, RunStarted
from unstall.journal.reader import JOURNAL_FILES, Journal, read_folder
from unstall.journal.run_folder import RunFolder, get_user_name
from unstall.journal.writer import JournalWriter
from unstall.report.story.run import build_story
from unstall.storage.download import is_copy
from unstall.supervisor.launch import build_environment

LONGEST_S = 300.0
Agree = Callable[[Sequence[str], str], None]
VARIABLE = "UNSTALL_EXPERIMENTS"


def list_experiments(causes: list[str]) -> list[str]:
    """The experiments that can speak about these causes, each once."""
    return list(dict.fromkeys(SPEAKS_FOR[cause][0] for cause in causes if cause in SPEAKS_FOR))


def confirm(
    run: RunFolder, experiments: tuple[str, ...] = (), command: Sequence[str] = (), agree: Agree | None = None
) -> tuple[list[ExperimentEnded], dict[str, Any]]:
    """Makes the experiments that the verdicts call for, or those that are wanted; gives them and the new story.

    `command` as it was typed, where it is still known: the journal has it without secrets. Else it is the one of the journal, and
    the run must be the user's own; `agree` is called with it and its folder before it is started, and raises to prevent that.
    """
    journal = read_folder(run.path)
    if not command:
        refuse_foreign(run, journal)
    started = journal.first(RunStarted)
    if started is None or not started.command or started.mode == "attach":
        raise InvalidInputError(
            f"Run '{run.name}' has no command to start again. Expected a run of `unstall run`, Guard or watch."
        )
    causes = [finding.cause for finding in diagnose(journal).findings]
    names = list(experiments) or list_experiments(causes)
    whole = _whole(command or started.command, started.folder, run) if names else []
    if names and agree is not None:
        agree(whole, started.folder)
    results = _experiment(whole, started.folder, names) if names else []
    writer = JournalWriter(run.journal_path("confirm", os.getpid()))
    for event in results:
        writer.write(event)
    writer.close()
    journal.extend(results)
    story = build_story(journal, diagnose(journal), run.name)
    run.write_story(story)
    return results, story


def _whole(command: Sequence[str], folder: str, run: RunFolder) -> Sequence[str]:
    if any(MASK in part for part in (*command, folder)):
        text = " ".join(command)
        raise InvalidInputError(
            f"The command of run '{run.name}' held a secret, which is not kept: {text}. It cannot be started again from here; "
            "expected: unstall run --confirm -- COMMAND"
        )
    return command


def _experiment(command: Sequence[str], folder: str, names: list[str]) -> list[ExperimentEnded]:
    """The program's output is its own affair in the real run; here it would only confuse."""
    with tempfile.TemporaryDirectory(prefix="unstall-confirm-") as scratch:
        env = {**build_environment(RunFolder(Path(scratch))), VARIABLE: ",".join(names)}
        log = Path(scratch, "output")
        with log.open("wb") as output:
            try:
                subprocess.run(
                    command, cwd=folder or None, env=env, stdout=output, stderr=output, stdin=subprocess.DEVNULL,
                    timeout=LONGEST_S, check=False,
                )  # fmt: skip
                why = "the program ended before its first fit: " + _last_line(log)
            except subprocess.TimeoutExpired:
                why = f"the program did not reach its first fit, or the experiments their end, in {LONGEST_S:.0f} s"
            except OSError as error:
                raise InvalidInputError(f"Cannot start '{command[0]}' again in {folder}: {error.strerror}.") from None
        made = {event.experiment: event for event in read_folder(Path(scratch)).of(ExperimentEnded)}
    return [made.get(name) or ExperimentEnded(experiment=name, failed=why) for name in names]


def _last_line(log: Path) -> str:
    lines = log.read_text(errors="replace").strip().splitlines()
    return lines[-1][:200] if lines else "it printed nothing"


# Refuses to start the command of a run that somebody else could have written.


def refuse_foreign(run: RunFolder, journal: Journal) -> None:
    """InvalidInputError, with what shows that the run is not this user's own on this machine."""
    why = explain_foreign(run, journal)
    if why is not None:
        raise InvalidInputError(
            f"The command of run '{run.name}' is not started: {why} Expected a run of your own, recorded on this machine. "
            "To watch the program and make the experiments: unstall run --confirm -- COMMAND"
        )


def explain_foreign(run: RunFolder, journal: Journal) -> str | None:
    """None: nothing shows that anybody else has written it."""
    if is_copy(run):
        return f"the run is a copy of {run.bucket or 'one in a bucket'}."
    for path in (run.path, *sorted(run.path.glob(JOURNAL_FILES))):
        if (why := _why_not_own(path)) is not None:
            return why
    circumstances = journal.last(CircumstancesSeen)
    recorded = str(circumstances.machine.get("hostname") or "") if circumstances is not None else ""
    if not recorded:
        return "its journal does not say on which machine it was recorded."
    if recorded != platform.node():
        return f"it was recorded on '{recorded}', and this machine is '{platform.node()}'."
    return None


def _why_not_own(path: Path) -> str | None:
    status = path.stat()
    if status.st_uid != os.geteuid():
        return f"'{path}' belongs to user {get_user_name(status.st_uid)}."
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        folder = path if path.is_dir() else path.parent
        mode = stat.filemode(status.st_mode)
        return f"others can write to '{path}' ({mode}). If all in it is yours: chmod -R go-w '{folder}'."
    return None
