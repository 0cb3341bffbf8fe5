"""`unstall confirm`: starts the program of a run again, for experiments alone, and adds what they show to its journal."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from unstall.diagnosis.confirmation import SPEAKS_FOR
from unstall.diagnosis.diagnose import diagnose
from unstall.errors import WrongInput
from unstall.journal.events import ExperimentEnded, RunStarted
from unstall.journal.reader import read_folder
from unstall.journal.writer import JournalWriter
from unstall.redaction import MASK
from unstall.report.story import tell
from unstall.runs import RunFolder
from unstall.supervisor.foreign_run import refuse_foreign
from unstall.supervisor.launch import environment

LONGEST_S = 300.0
Agree = Callable[[Sequence[str], str], None]
VARIABLE = "UNSTALL_EXPERIMENTS"


def experiments_for(causes: list[str]) -> list[str]:
    """The experiments that can speak about these causes, each once."""
    return list(dict.fromkeys(SPEAKS_FOR[cause][0] for cause in causes if cause in SPEAKS_FOR))


def confirm(
    run: RunFolder, wanted: tuple[str, ...] = (), command: Sequence[str] = (), agree: Agree | None = None
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
        raise WrongInput(f"Run '{run.name}' has no command to start again. Expected a run of `unstall run`, Guard or watch.")
    causes = [finding.cause for finding in diagnose(journal).findings]
    names = list(wanted) or experiments_for(causes)
    whole = _whole(command or started.command, started.folder, run) if names else []
    if names and agree is not None:
        agree(whole, started.folder)
    results = _experiment(whole, started.folder, names) if names else []
    writer = JournalWriter(run.journal_path("confirm", os.getpid()))
    for event in results:
        writer.write(event)
    writer.close()
    journal.extend(results)
    story = tell(journal, diagnose(journal), run.name)
    run.write_story(story)
    return results, story


def _whole(command: Sequence[str], folder: str, run: RunFolder) -> Sequence[str]:
    if any(MASK in part for part in (*command, folder)):
        told = " ".join(command)
        raise WrongInput(
            f"The command of run '{run.name}' held a secret, which is not kept: {told}. It cannot be started again from here; "
            "expected: unstall run --confirm -- COMMAND"
        )
    return command


def _experiment(command: Sequence[str], folder: str, names: list[str]) -> list[ExperimentEnded]:
    """The program's output is its own affair in the real run; here it would only confuse."""
    with tempfile.TemporaryDirectory(prefix="unstall-confirm-") as scratch:
        env = {**environment(RunFolder(Path(scratch))), VARIABLE: ",".join(names)}
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
                raise WrongInput(f"Cannot start '{command[0]}' again in {folder}: {error.strerror}.") from None
        made = {event.experiment: event for event in read_folder(Path(scratch)).of(ExperimentEnded)}
    return [made.get(name) or ExperimentEnded(experiment=name, failed=why) for name in names]


def _last_line(log: Path) -> str:
    lines = log.read_text(errors="replace").strip().splitlines()
    return lines[-1][:200] if lines else "it printed nothing"
