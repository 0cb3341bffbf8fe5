"""The story of a run as plain data: state, verdicts with the root first, what could not be looked at, where the time went.

Everything that is printed for a person comes from here, and is the JSON of every command that gives verdicts.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from unstall.base.exit_codes import INTERRUPTED
from unstall.base.redact.environment import redact_command
from unstall.config.aliases import update_names
from unstall.diagnosis.dead_threads import DeadThread, find_dead_threads, find_failed_threads
from unstall.diagnosis.errors.fatal_error import find_fatal_error, find_own_exit, find_user_line, get_error_text
from unstall.diagnosis.findings import Diagnosis, Finding
from unstall.diagnosis.pipelines import shorten_stage
from unstall.diagnosis.printed_output import is_training_printed, read_printed_epoch
from unstall.diagnosis.probe_facts import find_probe_failure, has_lost_steps
from unstall.diagnosis.run_summary import measure_speed, summarize_memory, summarize_numerics, summarize_printed, summarize_time
from unstall.diagnosis.stalls import (
    find_current_stall,
    is_asked_to_end,
    is_interrupted,
    is_without_steps,
    measure_idle_s,
    read_idle_state,
    read_polling_state,
)
from unstall.journal.events import (
    DeviceSampled,
    ErrorRaised,
    Event,
    FitBegan,
    HostSampled,
    MembershipSeen,
    PlanMade,
    PlanUndone,
    PlanVerified,
    ProcessEnded,
    ProgramEnded,
    ProgramStarted,
    RepairsEnded,
    RunStarted,
    SampleFailed,
    SignalSent,
    StackSampled,
    StepsEnded,
    TrainingBegan,
    VerdictReached,
)
from unstall.journal.reader import Journal
from unstall.journal.stack_frames import find_program_folder
from unstall.report.story.outcome import explain_unknown, find_outcome, list_missing_rows, list_not_seen, list_seen
from unstall.report.story.threads import describe_threads
from unstall.sensors.stacks import GONE

MAX_EVENTS_PER_EVIDENCE = 5
GOES_ON = frozenset({"stuck", "idle", "slow", "training", "running"})  # as far as the journal knows


def build_story(journal: Journal, diagnosis: Diagnosis, run: str | None = None) -> dict[str, Any]:
    folder = find_program_folder(journal)
    started = journal.first(RunStarted)
    result = describe_state(journal, diagnosis)
    is_explained = bool(diagnosis.findings) or describe_exit(journal) is not None
    reason = None if is_explained else explain_unknown(journal, result)
    dead = _dead(journal, folder)
    story = {
        "state": result,
        "outcome": "",
        "reason": reason,
        "verdicts": [describe_verdict(finding, folder) for finding in diagnosis.findings],
        "earlier": list_earlier(journal, diagnosis, folder),
        "seen": list_seen(journal),
        "not_seen": list_not_seen(journal),
        "threads": [] if diagnosis.findings else describe_threads(journal),
        "unknown": _unknown(journal, diagnosis, list_missing_rows(journal, reason)),
        "events": journal.count,
        "unread": [asdict(each) for each in journal.unread],
        "run": run,
        "command": redact_command(started.command) if started else [],
        "pid": started.pid if started else None,
        "distributed": describe_distributed(journal),
        "progress": _progress(journal),
        "speed": measure_speed(journal),
        "time": summarize_time(journal),
        "memory": summarize_memory(journal),
        "numerics": summarize_numerics(journal),
        "printed": summarize_printed(journal),  # what it said itself of what no hook sees
        "ended": _ended(journal),
        "failure": describe_failure(journal),
        "own_exit": describe_exit(journal),
        "dead_threads": [dead.words for dead in dead],  # that ended shortly before it stood still
        "failed_threads": find_failed_threads(journal, dead, folder),  # that an error ended, while the program went on
        "repairs": list_repairs(journal),
        "repair_failed": describe_failed_repair(journal),
        "since_last_good": None,  # what changed since then and explains a failure: the run, and lines
        "report": None,  # where its page is, once it is written
    }
    story["outcome"] = find_outcome(story, reason)  # found | clear | unknown; the reason says why it is not known
    return story


def describe_distributed(journal: Journal) -> dict[str, Any] | None:
    """Which worker of how many it is; None for a run that tells of no others."""
    event = journal.last(MembershipSeen)
    if event is None:
        return None
    return {"rank": event.worker, "world_size": event.of, "cluster": event.coordinator or ",".join(event.addresses)}


def describe_state(journal: Journal, diagnosis: Diagnosis) -> str:
    """failed | killed | interrupted | done | ended | stuck | idle | slow | training | running | starting | unknown. Ended: nobody
    saw how. Unknown: where nothing could be read, of all or of one journal, its end may have stood."""
    result = find_state(journal, bool(diagnosis.findings))
    if journal.is_beginning:
        return "starting"
    is_lost = journal.count == 0 or any(each.is_all for each in journal.unread)
    return "unknown" if is_lost and result in GOES_ON else result


def find_state(journal: Journal, is_named: bool) -> str:
    """The same, where no more is known of the diagnosis than whether there is a verdict."""
    ended, started, stall = journal.last(ProcessEnded), journal.last(RunStarted), find_current_stall(journal)
    if ended is not None:
        if started is not None and started.mode == "train" and ended.exit_code == INTERRUPTED:
            return "interrupted"
        if ended.signal is not None:
            return "interrupted" if _was_left(journal, ended) else "killed"
        if ended.exit_code is None:
            failed = any(error.fatal and error.thread in {"", "MainThread"} for error in journal.of(ErrorRaised))
            event = "failed" if failed else "done" if journal.last(ProgramEnded) else "ended"
        else:
            event = "failed" if ended.exit_code else "done"
        was_stuck = stall is not None and is_asked_to_end(journal, stall.began)
        return "interrupted" if was_stuck and event in {"done", "ended"} else event
    if any(error.fatal and error.thread in {"", "MainThread"} for error in journal.of(ErrorRaised)):
        return "failed"  # it is on its way out
    if stall is not None and is_interrupted(journal, stall.began):
        return "interrupted"  # its process lives on, as that of a notebook does
    if stall is not None and stall.is_stopped:
        return "stuck"
    if stall is not None and stall.began.phase not in {"", "start", "between"}:
        return "slow" if stall.is_busy else "stuck"
    if stall is not None and is_named:
        return "stuck"
    if stall is not None and (idle := read_idle_state(stall)) is not None:
        return idle
    if (polls := read_polling_state(journal)) is not None:
        return polls
    return "training" if journal.last(StepsEnded) or is_training_printed(journal) else "running"


def _was_left(journal: Journal, ended: ProcessEnded) -> bool:
    """Whether its user ended a program that went on as it should: Ctrl-C, or a signal to Unstall, which passes it on."""
    was_asked = any(sent.signal == ended.signal for sent in journal.of(SignalSent))
    has_failed = any(error.fatal and error.kind != "KeyboardInterrupt" for error in journal.of(ErrorRaised))
    return was_asked and not has_failed and not ended.stopped_by_us and find_current_stall(journal) is None


def describe_verdict(finding: Finding, folder: str = "") -> dict[str, Any]:
    found = finding.found
    return {
        "cause": finding.cause,
        "certainty": found.certainty.word,
        "summary": found.summary,
        "where": _shorten(found.where, folder),
        "evidence": [
            {
                "claim": evidence.claim,
                "value": evidence.value,
                "limit": evidence.limit,
                "events": [_reference(event) for event in evidence.events[:MAX_EVENTS_PER_EVIDENCE]],
            }
            for evidence in found.evidence
        ],
        "remedies": [{"action": remedy.action, "safety": remedy.safety.value} for remedy in found.remedies],
        "changes": [
            {
                "where": _shorten(change.where, folder),
                "before": list(change.before),
                "after": list(change.after),
                "when": change.when,
            }
            for change in found.changes
        ],
        "effect": found.effect.name.lower(),
        "followed_by": list(finding.followed_by),
    }


def list_earlier(journal: Journal, diagnosis: Diagnosis, folder: str = "") -> list[dict[str, Any]]:
    """What was said while the run went on and is not so in its end: each once, as it was said first. While a run goes on, what is
    not said now may be said again."""
    if journal.last(ProcessEnded) is None:
        return []
    holds = {name for finding in diagnosis.findings for name in (finding.cause, *finding.followed_by)}
    first_verdicts: dict[str, VerdictReached] = {}
    for event in journal.of(VerdictReached):
        if event.cause not in holds:
            first_verdicts.setdefault(event.cause, event)
    return [
        {
            "cause": event.cause,
            "certainty": event.certainty,
            "summary": event.summary,
            "where": _shorten(event.where, folder),
            "at": event.at,
            "no_steps_after": is_without_steps(journal, event),
            "evidence": [str(each) for each in event.evidence],
            "remedies": [str(each) for each in event.remedies],
        }
        for event in first_verdicts.values()
    ]


def _shorten(where: str | None, folder: str) -> str | None:
    prefix = folder.rstrip("/") + "/"
    return where[len(prefix) :] if where and folder and where.startswith(prefix) else where


def _reference(event: Event) -> dict[str, Any]:
    return {"event": type(event).__name__, "at": event.at}


def _unknown(journal: Journal, diagnosis: Diagnosis, first: list[dict[str, str]]) -> list[dict[str, str]]:
    """One line for each thing that is missing, with the causes that it hides; `first`, that without which there is no answer."""
    by_missing: dict[tuple[str, str], list[str]] = {}
    for name, unknown in diagnosis.unknown.items():
        by_missing.setdefault((unknown.missing, unknown.fix), []).append(name)
    known = {row["missing"] for row in first}
    by_cause = [(missing, fix, names) for (missing, fix), names in by_missing.items() if missing not in known]
    rows = [*first, *({"missing": missing, "fix": fix, "causes": ", ".join(names)} for missing, fix, names in by_cause)]
    result = {row["missing"] for row in rows}
    failed = find_probe_failure(journal)
    if failed is not None and failed.missing not in result:  # another process of the program was seen from inside
        rows.append({"missing": f"in one process {failed.missing}", "fix": failed.fix, "causes": "probe"})
    failures = [event for event in journal.of(SampleFailed) if not event.missing.endswith(GONE) and event.missing not in result]
    failures = [event for event in failures if not _seen_later(journal, event)]
    not_sampled = {(event.missing, event.fix): event for event in failures}
    rows += [{"missing": missing, "fix": fix, "causes": event.signal} for (missing, fix), event in not_sampled.items()]
    rows += [
        {"missing": f"{name} could not be examined: {crashed.error}", "fix": "", "causes": name}
        for name, crashed in diagnosis.crashed.items()
    ]
    return rows


def _seen_later(journal: Journal, failed: SampleFailed) -> bool:
    """A look that failed once, and was made up for by the next, hides nothing."""
    looks: dict[str, list[Event]] = {
        "stacks": [sample for sample in journal.of(StackSampled) if not sample.native],
        "native_stacks": [sample for sample in journal.of(StackSampled) if sample.native],
        "device": list(journal.of(DeviceSampled)),
        "host": list(journal.of(HostSampled)),
    }
    return any(look.at > failed.at for look in looks.get(failed.signal, []))


def _progress(journal: Journal) -> dict[str, Any]:
    stall = find_current_stall(journal)
    last = next((event for event in reversed(journal.of(StepsEnded)) if event.phase == "train"), None)
    fit = journal.last(FitBegan)
    host = journal.last(HostSampled)
    began = journal.first(RunStarted) or journal.first(ProgramStarted)
    went_on = journal.last(TrainingBegan)
    done = last.last if last else None
    if (
        stall is not None and stall.began.step > 0 and not stall.began.printed
    ):  # the pulse knows of steps that were not written any more
        done = max(done or 0, stall.began.step - 1)
    epoch, epochs = last.epoch if last else None, fit.epochs if fit else None
    if fit is not None and fit.api == "own_loop" and last is not None:  # a loop may draw all its epochs from one endless iterator
        epoch, epochs = read_printed_epoch(journal) or (epoch, epochs)
    return {
        "step": done,
        "has_more_steps": has_lost_steps(journal),  # perhaps: what the program told could not be written any more
        "from_step": went_on.from_step if went_on else 0,  # of a training that goes on; steps are counted from there
        "epoch": epoch,
        "epochs": epochs,
        "steps_per_epoch": fit.steps_per_epoch if fit else None,
        "loss": _last_loss(journal),
        "seconds": max(0.0, journal.now - began.at) if began else None,
        "stalled_s": stall.seconds if stall else None,
        "stalled_in": stall.began.phase if stall else None,
        "stalled_step": stall.began.step if stall else None,
        "stopped": stall is not None and stall.is_stopped,  # by a signal or a debugger
        "idle_s": measure_idle_s(journal),
        "cpu_cores": stall.cpu_cores if stall else (host.cpu_cores if host else None),
    }


def _last_loss(journal: Journal) -> float | None:
    """The newest that was read; none where that was not finite."""
    groups = (group for group in reversed(journal.of(StepsEnded)) if group.phase == "train")
    return next((group.loss for group in groups if group.loss_is_finite is not None), None)


def list_repairs(journal: Journal) -> list[dict[str, Any]]:
    """Each plan of a training that was repaired, oldest first, with whether it helped."""
    helped = {event.attempt: event.how for event in journal.of(PlanVerified)}
    undone = {event.attempt: event.why for event in journal.of(PlanUndone)}
    return [
        {
            "remedy": plan.remedy,
            "cause": plan.cause,
            "verb": plan.verb,
            "change": update_names(plan.change),
            "before": update_names(plan.undo),
            "why": plan.why,
            "happened": plan.happened,
            "evidence": plan.evidence,
            "attempt": plan.attempt,
            "max_attempts": plan.max_attempts,
            "step": plan.step,
            "from_step": plan.from_step,
            "verify": plan.verify,
            "helped": helped.get(plan.attempt),
            "undone": undone.get(plan.attempt),
        }
        for plan in journal.of(PlanMade)
    ]


def describe_failed_repair(journal: Journal) -> dict[str, Any] | None:
    """Why nothing more was done, if nothing was; said before a later start, it is no more so."""
    ended, started = journal.last(RepairsEnded), journal.last(RunStarted)
    if ended is None or (started is not None and started.at > ended.at):
        return None
    names = ("cause", "step", "happened", "evidence", "why", "advice", "command")
    return {name: getattr(ended, name) for name in names}


def describe_failure(journal: Journal) -> dict[str, Any] | None:
    """The error that ended the program, whether or not a cause is known: its innermost sentence, where the program's own code is,
    and the whole text."""
    error = find_fatal_error(journal)
    if error is None:
        return None
    inner = get_error_text(error)
    return {
        "kind": inner.kind,
        "message": inner.message,
        "where": find_user_line(error, find_program_folder(journal)),
        "raised": error.kind,  # what was raised in the end, where that wraps another
        "text": error.message,
    }


def describe_exit(journal: Journal) -> dict[str, Any] | None:
    """That the program ended itself, with an exit code that says that something is wrong."""
    exited = find_own_exit(journal)
    if exited is None or find_fatal_error(journal) is not None:
        return None
    handled = next((error for error in journal.of(ErrorRaised) if error.caught and error.at == exited.error_at), None)
    return {
        "exit_code": exited.exit_code,
        "where": shorten_stage(exited.where, find_program_folder(journal)),
        "message": exited.message,
        "given": exited.given,
        "handled": get_error_text(handled).line if handled is not None else "",
    }


def _dead(journal: Journal, folder: str) -> list[DeadThread]:
    stall = find_current_stall(journal)
    return find_dead_threads(journal, stall, folder) if stall is not None else []


def _ended(journal: Journal) -> dict[str, Any] | None:
    ended = journal.last(ProcessEnded)
    if ended is None:
        return None
    return {"exit_code": ended.exit_code, "signal": ended.signal, "stopped_by_unstall": ended.stopped_by_us}
