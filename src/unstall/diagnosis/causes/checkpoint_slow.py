"""Saving the model takes a large part of the run's time.

What it is
----------
The training stops while a checkpoint is written. Where it is written every few steps, or is large, or goes to a slow disk, the
run spends more time on saving than it can spare, and the device idles meanwhile.

How we know
-----------
Every save is timed. Together they take more than the share below of the time since training began, over several saves.
Or a save that has begun does not end, long after the others did.

When this is wrong
------------------
If so many checkpoints are wanted, because the machine may be taken away at any moment: then the price is known.

What to do
----------
Save less often: once per epoch, or every few minutes. Save the weights only, without the optimizer's state, or only the best.
Write to a local disk first and copy it away beside the training.
"""

from __future__ import annotations

from unstall.diagnosis.stalls import Stall, find_current_stall
from unstall.diagnosis.verdict import Certainty, Clear, Effect, Evidence, Found, Unknown, Verdict
from unstall.journal.events import CheckpointSaved, Event, FitEnded, HostSampled, ProcessEnded, ProgramEnded, StepsEnded
from unstall.journal.reader import Journal
from unstall.journal.stack_frames import find_program_folder, format_where, main_thread, select_user_frames

SAVING_SHARE = 0.4  # of the time since training began
MAX_OF_IT = 0.6  # from here on it is certain
MIN_SAVES = 3
MIN_SAVING_S = 8.0  # what costs less in all is not worth a word


def examine(journal: Journal) -> Verdict:
    stall = find_current_stall(journal)
    if stall is not None and stall.began.phase == "save":
        return _one_that_does_not_end(journal, stall)
    groups = [group for group in journal.of(StepsEnded) if group.phase == "train"]
    if not groups:
        return Unknown("steps of a training")
    began = groups[0].at - groups[0].seconds
    until = _end(journal, groups)
    saves = [save for save in journal.of(CheckpointSaved) if began <= save.at <= until]
    if len(saves) < MIN_SAVES:
        return Clear(f"{len(saves)} checkpoints were saved in the training")
    spent, elapsed = sum(save.seconds for save in saves), until - began
    if elapsed <= 0 or spent < MIN_SAVING_S or spent < SAVING_SHARE * elapsed:
        return Clear(f"saving took {spent:.0f} of {elapsed:.0f} s")
    return _found(journal, saves, spent, elapsed)


def _end(journal: Journal, groups: list[StepsEnded]) -> float:
    """Until now; or until the last step of a training that is over: what is saved after it is in nobody's way."""
    fit = journal.last(FitEnded)
    if fit is not None and fit.at >= groups[-1].at:
        return fit.at
    is_over = journal.last(ProcessEnded) is not None or journal.last(ProgramEnded) is not None
    return groups[-1].at if is_over else max(groups[-1].at, journal.now)


def _found(journal: Journal, saves: list[CheckpointSaved], spent: float, elapsed: float) -> Found:
    share, each = spent / elapsed, spent / len(saves)
    steps = _steps_between(journal, saves)
    often = f", one every {steps:,.0f} steps on average" if steps >= 1 else ""
    path = saves[-1].path
    folder = f" ({path})" if path else ""
    return Found(
        certainty=Certainty.CERTAIN if share >= MAX_OF_IT else Certainty.LIKELY,
        summary=(
            f"Saving the model took {spent:.0f} of the {elapsed:.0f} s since training began ({share:.0%}): "
            f"{len(saves)} saves of {each:.2g} s{often}{folder}."
        ),
        evidence=(
            Evidence(f"{len(saves)} saves took {spent:.0f} s, {share:.0%} of the time", share, SAVING_SHARE, tuple(saves)),
            *_speed(journal, saves, each),
        ),
        actions=(
            "save less often: once per epoch (save_freq='epoch'), or every few minutes",
            "save the weights only (save_weights_only=True), or only the best (save_best_only=True)",
            "write to a local disk and copy the file away beside the training",
        ),
        where=_usual_place(saves),
        effect=Effect.SLOWS,
    )


def _steps_between(journal: Journal, saves: list[CheckpointSaved]) -> float:
    """How many steps are trained between two saves, on average."""
    groups = [group for group in journal.of(StepsEnded) if group.phase == "train"]
    between = [group for group in groups if saves[0].at <= group.at <= saves[-1].at]
    count = sum(group.last - group.first + 1 for group in between)
    return count / (len(saves) - 1)


def _speed(journal: Journal, saves: list[CheckpointSaved], each: float) -> tuple[Evidence, ...]:
    """What was written from one save to the next, as the kernel counted the program's writes: not only those of the saves."""
    hosts = [host for host in journal.of(HostSampled) if saves[0].at <= host.at <= saves[-1].at]
    written = sum(host.write_bytes_s * host.interval_s for host in hosts) / max(1, len(saves) - 1)
    if not hosts or written < 1e6 or each <= 0:
        return ()
    claim = f"the program writes about {written / 1e6:,.0f} MB from one save to the next"
    events: tuple[Event, ...] = (*hosts[:3], saves[-1])
    return (Evidence(claim, written, None, events),)


def _usual_place(saves: list[CheckpointSaved]) -> str | None:
    """The user's line that most of the time went into."""
    seconds: dict[str, float] = {}
    for save in saves:
        if save.where:
            seconds[save.where] = seconds.get(save.where, 0.0) + save.seconds
    return max(seconds, key=lambda place: seconds[place], default=None)


def _one_that_does_not_end(journal: Journal, stall: Stall) -> Found:
    saves = journal.of(CheckpointSaved)
    usual = f"; the one before took {saves[-1].seconds:.2g} s" if saves else ""
    hosts = [host for host in stall.hosts if host.interval_s > 0]
    evidence = [stall.lateness()]
    if hosts:
        rate = sum(host.write_bytes_s * host.interval_s for host in hosts) / sum(host.interval_s for host in hosts)
        evidence.append(Evidence(f"the program writes {rate / 1e6:.2g} MB a second meanwhile", rate, None, tuple(hosts)))
    thread = main_thread(stall.samples[-1]) if stall.samples else None
    frames = select_user_frames(thread) if thread is not None else []
    return Found(
        certainty=Certainty.LIKELY,
        summary=f"A save of the model has not ended{usual}. Nothing has moved for {stall.seconds:.0f} s.",
        evidence=tuple(evidence),
        actions=(
            "look at the disk or server that it is written to: is it there, has it room, is it slow",
            "write to a local disk and copy the file away beside the training",
        ),
        where=format_where(frames[0], find_program_folder(journal)) if frames else None,
        effect=Effect.STOPS,
    )
