"""What the probe inside the program told of the training loop: facts by kind, of the fit or the loop that is going on."""

from __future__ import annotations

from unstall.diagnosis.verdict import Unknown
from unstall.journal.events import (
    EventsLost,
    FitBegan,
    LoopSeen,
    ProbeFailed,
    ProgramEnded,
    ProgramStarted,
    RunStarted,
    StepsEnded,
)
from unstall.journal.reader import Journal
from unstall.journal.stack_frames import find_program_folder, format_place

PROBE_FAILED = "the probe failed to start"
_TOO_OLD = " is too old. Expected Python "  # as probe/start/sitecustomize.py has it


def find_missing_probe(journal: Journal) -> Unknown | None:
    """For causes that only the probe can see."""
    if journal.first(ProgramStarted) is not None:
        return None
    failed = find_probe_failure(journal) or find_journal_refusal(journal)
    if failed is not None:
        return failed
    started = journal.first(RunStarted)
    if started is not None and started.mode == "run":
        return Unknown("a training: the program loaded no framework that Unstall knows, or not in Python")
    return Unknown("a look inside the program", "start it with `unstall run`, or give fit `callbacks=[unstall.Guard()]`")


def find_probe_failure(journal: Journal) -> Unknown | None:
    """That the probe could not begin in a process of the program, with why."""
    failed = next((event for event in journal.of(ProbeFailed) if event.probe == "start"), None)
    if failed is None:
        return None
    missing = f"{PROBE_FAILED}: {failed.error}; only what can be seen from outside was watched"
    if _TOO_OLD in failed.error:
        return Unknown(missing, "use a later Python, or let the program print its steps and losses: these are read")
    return Unknown(missing, "correct what the error says, and start the program again")


def find_journal_refusal(journal: Journal) -> Unknown | None:
    """That events could not be written: then those of the program, which nobody has read, say nothing by their absence."""
    lost = journal.last(EventsLost)
    if lost is None:
        return None
    missing = f"events could not be written to the run folder ({lost.why}); only what can be seen from outside was watched"
    return Unknown(missing, "make room where the runs are kept, or set UNSTALL_HOME to another folder")


def has_lost_steps(journal: Journal) -> bool:
    """Whether steps were seen, and then events could no longer be written: the program may have made more of them."""
    lost, steps = journal.last(EventsLost), journal.last(StepsEnded)
    return lost is not None and steps is not None and lost.at > steps.at and journal.last(ProgramEnded) is None


def read_facts(journal: Journal, kind: str, since: float = 0.0) -> list[LoopSeen]:
    return [event for event in journal.since(LoopSeen, since) if event.facts.get("kind") == kind]


def find_current_fit(journal: Journal) -> FitBegan | None:
    """The fit, or the loop, that is going on or was the last."""
    return journal.last(FitBegan)


def train_groups(journal: Journal) -> list[StepsEnded]:
    """Groups of training steps of the current fit."""
    fit = find_current_fit(journal)
    return [group for group in journal.since(StepsEnded, fit.at if fit else 0.0) if group.phase == "train"]


def count_steps_done(groups: list[StepsEnded]) -> int:
    return groups[-1].last + 1 if groups else 0


def shorten_path(journal: Journal, where: str | None) -> str | None:
    """file:line as the user would write it."""
    if not where:
        return None
    file, _, line = where.rpartition(":")
    return format_place(file, int(line), find_program_folder(journal)) if line.isdigit() else where


def format_list(names: list[str], most: int = 3) -> str:
    """`a, b, c and 4 more`."""
    if len(names) <= most:
        return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)
    return f"{', '.join(names[:most])} and {len(names) - most} more"
