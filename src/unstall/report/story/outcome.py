"""Which of three answers a story is: what is wrong was found, nothing is wrong in what could be seen, or it cannot be told.

That no cause was found says little where little could be looked at. So an answer names what was seen, and where that is not
enough for an answer, what is missing.
"""

from __future__ import annotations

from typing import Any

from unstall.base.errors import InvalidInputError
from unstall.base.exit_codes import CANNOT_TELL, VERDICT_FOUND
from unstall.diagnosis.printed_output import find_not_finite, is_loss_hooked, is_training_printed, read_printed_losses
from unstall.diagnosis.probe_facts import find_journal_refusal, find_probe_failure, has_lost_steps, shorten_path
from unstall.journal.events import (
    DeviceSampled,
    FitBegan,
    FrameworkLoaded,
    HostSampled,
    LoopSeen,
    ModulesLoaded,
    ProcessEnded,
    ProgramStarted,
    ProgressPrinted,
    RunStarted,
    SampleFailed,
    SignalsSeen,
    StackSampled,
    StepsEnded,
)
from unstall.journal.reader import Journal

FOUND, CLEAR, UNKNOWN = "found", "clear", "unknown"
# Of the commands that look for what is wrong: attach, diagnose.
EXIT_CODES = {CLEAR: 0, FOUND: VERDICT_FOUND, UNKNOWN: CANNOT_TELL}
EVERY_CAUSE = "every cause"  # what a row hides without which no answer can be given
# States in which something is not as it should be, or nobody knows: what is said where no cause was found.
UNEXPLAINED = {
    "stuck": "no cause was found for this stall",
    "failed": "no cause was found for this end",
    "killed": "no cause was found for this end",
    "unknown": "nothing says how it is",
    "idle": "nothing says whether the program waits on purpose",
}
QUESTIONS = {"stuck": "why it is stuck", "failed": "why it failed", "killed": "why it was killed"}  # what cannot be told then
# The error that refuses an input, as stories name it; the second is its name in those of earlier versions.
REFUSALS = (f"{InvalidInputError.__module__}.{InvalidInputError.__name__}", "unstall.errors.WrongInput")
_TITLES = {"torch": "PyTorch", "tensorflow": "TensorFlow", "jax": "JAX"}
_NAMES = {**_TITLES, "keras": "Keras"}
_OWN_LOOP = "write `with unstall.watch() as run: for batch in run.steps(loader):` around the training loop"


def find_outcome(story: dict[str, Any], reason: str | None) -> str:
    """`reason`: why it cannot be told, if it cannot."""
    if story["verdicts"] or describe_known_end(story):
        return FOUND
    return CLEAR if reason is None else UNKNOWN


def describe_known_end(story: dict[str, Any]) -> str:
    """Of a training of ours that failed: what it had that could not be helped, or why it was refused."""
    repair_failed, failure = story.get("repair_failed"), story.get("failure")
    if story["state"] not in {"failed", "killed"}:
        return ""
    if repair_failed:
        return f"{repair_failed['cause']}: {repair_failed['happened']}"
    is_refused = failure is not None and failure["kind"] in REFUSALS
    return f"refused: {failure['message']}" if failure and is_refused else ""


def describe_own_exit(story: dict[str, Any]) -> str:
    """Of a program that no error ended: it called sys.exit with a code that says that something is wrong."""
    exited = story.get("own_exit")
    if exited is None or story["state"] != "failed":
        return ""
    at = f", at {exited['where']}" if exited["where"] else ""
    message = f": {exited['message']}" if exited["message"] else ""
    handled = f"; it was handling {exited['handled']}" if exited["handled"] else ""
    given = exited.get("given")
    why = f": sys.exit was called with a {given.removeprefix('builtins.')}, which counts as a failure" if given else ""
    return f"the program ended itself with exit code {exited['exit_code']}{at}{handled}{message}{why}"


def find_worst(outcomes: list[str]) -> str:
    """Of several stories that are told together."""
    return next((each for each in (FOUND, UNKNOWN) if each in outcomes), CLEAR)


def list_seen(journal: Journal) -> list[str]:
    """What could be looked at, in words."""
    steps, ended = journal.of(StepsEnded), journal.last(ProcessEnded)
    found = {
        "steps": bool(steps),
        "loss": any(each.loss is not None for each in steps),
        "printed steps": not steps and journal.last(ProgressPrinted) is not None,
        "printed loss": bool(read_printed_losses(journal)) and not is_loss_hooked(journal),
        "stacks": journal.last(StackSampled) is not None,
        "CPU": journal.last(HostSampled) is not None,
        "memory": journal.last(HostSampled) is not None,
        "GPU": journal.last(DeviceSampled) is not None,
        "exit code": ended is not None and ended.exit_code is not None,
    }
    return [name for name, is_seen in found.items() if is_seen]


def list_not_seen(journal: Journal) -> list[dict[str, Any]]:
    """What the probe does not see of the frameworks that are loaded, as its hooks do not find their places in them.

    Left out: frameworks that were loaded, but with which nothing was trained; and what the hooks of another one saw.
    """
    event = journal.last(SignalsSeen)
    if event is None:
        return []
    trained_with = {fit.backend for fit in journal.of(FitBegan)} & set(_TITLES)
    seen = set(list_seen(journal))
    rows = []
    for name, missing in event.not_seen.items():
        signals = [signal for signal in missing if signal not in seen]
        if signals and (name not in _TITLES or not trained_with or name in trained_with):
            rows.append({"framework": _NAMES.get(name, name), "version": event.frameworks.get(name, ""), "signals": signals})
    return rows


def explain_unknown(journal: Journal, state: str) -> str | None:
    """Why no answer can be given where no cause was found; None where one can."""
    if state in UNEXPLAINED:
        return UNEXPLAINED[state]
    started = journal.last(RunStarted)
    mode = started.mode if started is not None else ""
    if mode == "attach":
        return _not_readable(journal)
    return _not_seen_inside(journal) if mode == "run" and state != "starting" else None


def _not_readable(journal: Journal) -> str | None:
    has_stacks = any(sample.main for sample in journal.of(StackSampled))
    return "the stacks of the program could not be read" if _refusals(journal) and not has_stacks else None


def _refusals(journal: Journal) -> list[SampleFailed]:
    return [event for event in journal.of(SampleFailed) if event.signal == "stacks"]


def _not_seen_inside(journal: Journal) -> str | None:
    """Of a program that was started by `unstall run`; the probe starts with the first framework that is imported."""
    refused = find_journal_refusal(journal) is not None
    has_started = journal.last(FitBegan) is not None and journal.last(ProcessEnded) is None
    if has_lost_steps(journal):
        return "what the program told could not be written any more"
    if journal.last(StepsEnded) is not None or (has_started and not refused):
        return None
    if (bad := find_not_finite(journal)) is not None:
        return f"whether its loss is finite: it printed {bad.events[-1].line!r}"
    if is_training_printed(journal):
        return None  # what it printed was looked at
    if refused:
        return "what the program told could not be written"
    if journal.last(ProgramStarted) is not None:
        return "no training step was seen"
    return "no training was seen" if find_probe_failure(journal) is None else "the probe inside the program did not run"


def list_missing_rows(journal: Journal, reason: str | None) -> list[dict[str, str]]:
    """What is missing for an answer, and how to give it, in the form of the story's other such rows."""
    if reason is not None and reason == _not_readable(journal):
        last = _refusals(journal)[-1]
        return [_row(last.missing, last.fix)]
    refused = find_journal_refusal(journal)
    if reason is not None and refused is not None:
        return [_row(refused.missing, refused.fix)]
    if reason is None or reason != _not_seen_inside(journal):
        return []
    failed = find_probe_failure(journal)
    if journal.last(ProgramStarted) is None and failed is not None:
        return [_row(failed.missing, failed.fix)]
    if journal.last(ProgramStarted) is None:
        return [_row("the program loaded no framework that Unstall knows, or it is not Python", "")]
    call = next((seen.facts for seen in reversed(journal.of(LoopSeen)) if seen.facts.get("kind") == "steps_per_call"), None)
    if call is not None:  # steps are counted when a call has returned
        at = f" at {place}" if (place := shorten_path(journal, call.get("where"))) else ""
        return [_row(f"the first call of {call['function']}{at}, which makes several steps, had not returned yet", "")]
    loaded = _frameworks(journal)
    was = " and ".join(loaded) + (" was loaded, but " if len(loaded) == 1 else " were loaded, but ") if loaded else ""
    return [_row(f"{was}the steps of a training loop were not recognised", _OWN_LOOP)]


def _frameworks(journal: Journal) -> list[str]:
    """By their own names, as far as the probe tells."""
    packages = {name for event in journal.of(ModulesLoaded) for name in event.packages}
    names = {event.name for event in journal.of(FrameworkLoaded)} | packages
    return [title for name, title in _TITLES.items() if name in names]


def _row(missing: str, fix: str) -> dict[str, str]:
    return {"missing": missing, "fix": fix, "causes": EVERY_CAUSE}
