"""What calls for a restart while a worker still runs: it stands still, its input starves it, host memory is nearly full.

Pure functions of the journal, but for the clock that says how long a stall has lasted.
"""

from __future__ import annotations

from unstall.diagnosis.findings import Diagnosis
from unstall.diagnosis.host_memory import room
from unstall.diagnosis.stalls import current_stall
from unstall.diagnosis.verdict import Certainty
from unstall.journal.events import (
    CheckpointCompleted,
    DeviceSampled,
    EpochScored,
    HostSampled,
    RunStarted,
    StallBegan,
    StepsEnded,
    TrainingBegan,
)
from unstall.journal.reader import Journal
from unstall.remedies.plan import Fault, Kind, step_reached, wait_share
from unstall.supervisor.train.fault import WorkerState, describe_cause

# --- a stall ---

MIN_STALL_S = 20.0  # of a worker that idles where it has done so often what it does
MIN_FIRST_STALL_S = 120.0  # where it does it for the first time
FIRST_STEPS = 10  # of a worker: a device is given several before the first is waited for, so they seem to take no time
TIMES_LIMIT = 2.0  # the time after which it was looked at is given once more
MIN_BUSY_STALL_S = 900.0  # of one that computes, or whose device does: a first compilation may take long
BUSY_PERCENT = 10.0  # of a device
MIN_STALL_OUTSIDE_S = 300.0  # before the training, where data is read and a model is built


def is_hung(journal: Journal, stall: StallBegan, seconds: float) -> bool:
    """Whether waiting any longer is in vain. A stall is called by the run's own history; this is later."""
    now = current_stall(journal)
    devices = journal.since(DeviceSampled, stall.since)
    if (now is not None and now.is_busy) or any((device.busy_percent or 0.0) >= BUSY_PERCENT for device in devices):
        least = MIN_BUSY_STALL_S
    elif stall.phase in {"", "start", "between"}:
        least = MIN_STALL_OUTSIDE_S
    else:
        is_known = stall.usual_s is not None and not 0 <= stall.step < FIRST_STEPS
        least = MIN_STALL_S if is_known else MIN_FIRST_STALL_S
    return seconds > max(least, TIMES_LIMIT * stall.limit_s)


# --- host memory ---

FULL_SHARE = 0.95  # of the memory that the run may use
OWN_SHARE = 0.5  # of it that the run itself must hold: others' memory is not ours to save
FULL_SAMPLES = 3  # in a row


def memory_near_its_limit(worker_state: WorkerState) -> Fault | None:
    hosts = worker_state.journal.of(HostSampled)[-FULL_SAMPLES:]
    if len(hosts) < FULL_SAMPLES or not all(_is_full(host) for host in hosts):
        return None
    step, left = step_reached(worker_state.journal), room(hosts[-1])
    assert left is not None
    claim = f"{left.share:.0%} of {left.of} is in use, and {hosts[-1].rss_bytes / left.limit_bytes:.0%} by this run"
    return worker_state.has(Kind.HOST_MEMORY, step, f"Host memory was nearly full in step {step:,}.", claim)


def _is_full(host: HostSampled) -> bool:
    left = room(host)
    return left is not None and left.share >= FULL_SHARE and host.rss_bytes >= OWN_SHARE * left.limit_bytes


# --- starved input ---

MIN_LEFT_S = 300.0  # below this a restart is not worth it
TIMES_COST = 3.0  # the time to be gained, against what a restart costs
RECENT_GROUPS = 60


def find_starvation(worker_state: WorkerState, diagnosis: Diagnosis) -> Fault | None:
    """Found by the watching half, steady, with enough of the run left for a restart to be worth it."""
    found = next((each.found for each in diagnosis.findings if each.cause == Kind.STARVED), None)
    if found is None or found.certainty < Certainty.LIKELY:
        return None
    groups = [group for group in worker_state.journal.of(StepsEnded) if group.phase == "train"][-RECENT_GROUPS:]
    share, left_s, cost_s = wait_share(groups), seconds_left(worker_state.journal, groups), start_s(worker_state.journal)
    if share is None or left_s is None or cost_s is None or left_s < MIN_LEFT_S or share * left_s < TIMES_COST * cost_s:
        return None
    step = step_reached(worker_state.journal)
    happened = f"Steps wait for their input for {share:.0%} of the time, up to step {step:,}."
    return worker_state.has(Kind.STARVED, step, happened, f"about {left_s / 60:.0f} min are left", *describe_cause(diagnosis))


def seconds_left(journal: Journal, groups: list[StepsEnded]) -> float | None:
    began = journal.last(TrainingBegan)
    steps = sum(group.last - group.first + 1 for group in groups)
    if began is None or not steps:
        return None
    return (began.epochs * began.steps_per_epoch - step_reached(journal)) * sum(group.seconds for group in groups) / steps


def start_s(journal: Journal) -> float | None:
    """What the worker took from its start to the end of its first step: what another start would cost."""
    started, first = journal.last(RunStarted), journal.first(StepsEnded)
    return first.at - started.at if started is not None and first is not None else None


def epoch_has_ended_since(journal: Journal, at: float) -> bool:
    """A good moment for a restart that can wait."""
    began, saved = journal.last(TrainingBegan), journal.last(CheckpointCompleted)
    at_an_end = began is not None and saved is not None and saved.at > at and saved.step % max(1, began.steps_per_epoch) == 0
    return at_an_end or bool(journal.since(EpochScored, at))
