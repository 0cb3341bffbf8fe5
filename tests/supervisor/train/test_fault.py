"""From how a worker ended to what is done about it: pure functions of events."""

import signal
from dataclasses import replace
from typing import Any

import pytest

from tests.remedies.builders import T0, began, fault, host, made
from unstall.config.settings import GIB, Settings
from unstall.diagnosis.findings import Diagnosis, Finding, diagnose
from unstall.diagnosis.verdict import Certainty, Evidence, Found
from unstall.journal.events import (
    ErrorRaised,
    Event,
    MemoryExhausted,
    OthersLost,
    OthersMissed,
    ProcessEnded,
    RunStarted,
    StallBegan,
    UpdateSkipped,
)
from unstall.journal.reader import Journal
from unstall.remedies.plan import Fault, Kind, Plan
from unstall.supervisor.train.fault import NoRemedy, WorkerState, create_stuck_fault, find_fault, find_ineffective_plan, treat

NOTHING = diagnose(Journal())


def ended(*events: Event, diagnosis: Diagnosis = NOTHING, step: int = 7, **how: Any) -> Fault | None:
    return find_fault(WorkerState(Settings(), Journal(events)), ProcessEnded(at=T0, **how), step, diagnosis)


def found(cause: str) -> Diagnosis:
    seen = host()
    verdict = Found(Certainty.CERTAIN, "It was so.", (Evidence("seen", 1, None, (seen,)),), ("do this",))
    return replace(NOTHING, findings=(Finding(cause, verdict),))


# --- what it had ---


@pytest.mark.parametrize("code", [0, 2, 3, 4, 5])
def test_an_end_and_a_users_mistake_are_no_fault(code: int) -> None:
    assert ended(exit_code=code) is None


def test_an_error_of_unstalls_own_is_no_fault_and_one_of_python_is() -> None:
    assert ended(exit_code=1) is None
    raised = ended(ErrorRaised(at=T0, kind="ValueError", message="bad\nmore", fatal=True), exit_code=1)
    assert raised is not None
    assert raised.kind is Kind.DIED and "ValueError: bad" in raised.evidence


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("RESOURCE_EXHAUSTED: Out of memory allocating 17179869184 bytes.", Kind.DEVICE_MEMORY),
        ("OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.", Kind.DEVICE_MEMORY),
        ("MemoryError: Unable to allocate 3.05 GiB for an array", Kind.HOST_MEMORY),
        ("RuntimeError: can't start new thread", Kind.HOST_MEMORY),
        ("RuntimeError: DefaultCPUAllocator: can't allocate memory", Kind.HOST_MEMORY),
    ],
)
def test_memory_of_the_device_and_of_the_host(message: str, kind: Kind) -> None:
    met = ended(MemoryExhausted(at=T0, step=7, phase="train", micro_batch_size=4, message=message), exit_code=76)
    assert met is not None
    assert (met.kind, met.evidence) == (kind, (message,))


@pytest.mark.parametrize(
    ("code", "kind"), [(77, Kind.NOT_FINITE), (78, Kind.DIVERGED), (76, Kind.DEVICE_MEMORY), (75, Kind.DIED)]
)
def test_a_worker_that_had_no_time_to_tell_is_believed_its_exit_code(code: int, kind: Kind) -> None:
    fault = ended(exit_code=code)
    assert fault is not None
    assert fault.kind is kind


def test_updates_that_earlier_workers_skipped_are_not_counted_again() -> None:
    earlier = UpdateSkipped(at=T0 - 10, step=3, what="loss", in_a_row=1)
    fault = ended(earlier, RunStarted(at=T0), UpdateSkipped(at=T0 + 1, step=9, what="gradient", in_a_row=5), exit_code=77)
    assert fault is not None
    assert fault.step == 9 and "1 updates were not applied; 5 of them in a row, last the gradient" in fault.evidence


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([], "lost the others in step 7: one of them is gone, or cannot be reached."),
        ([OthersLost(at=T0, of=4, gone=[2, 3])], "lost the others in step 7: worker 2 of 4 is gone."),
        (
            [OthersMissed(at=T0, of=4, silent=[2]), OthersLost(at=T0 + 40, of=4, silent=[2])],
            "nothing was heard any more of worker 2 of 4.",
        ),
        ([OthersMissed(at=T0, of=4, silent=[2]), OthersMissed(at=T0 + 1, of=4)], "one of them is gone, or cannot be reached."),
    ],
)
def test_whoever_lost_the_others_says_which_as_far_as_it_is_known(rows: list[Event], words: str) -> None:
    lost, killed = (_of_four(Journal(rows), **how) for how in ({"exit_code": 79}, {"signal": signal.SIGABRT}))
    assert lost.kind is killed.kind is Kind.DIED
    assert lost.happened.startswith("Worker 1 of 4 lost") and lost.happened.endswith(words)
    assert killed.happened.startswith("Worker 1 of 4 was ended by SIGABRT in step 7")
    assert (
        killed.happened.endswith(words.rpartition(": ")[2])
        or "as frameworks end a worker when another is gone" in killed.happened
    )


@pytest.mark.parametrize(("phase", "what"), [("train", "steps"), ("save", "saves"), ("validate", "steps of validation")])
def test_a_stall_is_compared_with_what_took_its_time_before(phase: str, what: str) -> None:
    stall = StallBegan(at=T0, phase=phase, step=7, since=T0 - 30, usual_s=0.5)
    fault = create_stuck_fault(WorkerState(Settings(), Journal()), stall, 7, 30.0, None)
    assert fault.happened == f"The training stood still for 30 s in step 7, where {what} took 0.5 s."


def _of_four(journal: Journal, **how: Any) -> Fault:
    fault = find_fault(WorkerState(Settings(), journal, name="Worker 1 of 4"), ProcessEnded(at=T0 + 50, **how), 7, NOTHING)
    assert fault is not None
    return fault


def test_a_kill_for_want_of_memory_is_told_from_others() -> None:
    killed = ended(signal=signal.SIGKILL, diagnosis=found("host_memory_exhausted"))
    other = ended(signal=signal.SIGKILL, diagnosis=found("killed_from_outside"))
    assert killed is not None and other is not None
    assert (killed.kind, other.kind) == (Kind.HOST_MEMORY, Kind.DIED)


def test_a_crash_of_native_code_when_memory_was_full_is_want_of_memory() -> None:
    full = replace(host(), address_space_bytes=GIB, address_space_limit_bytes=GIB)
    assert (at := ended(full, signal=signal.SIGABRT)) is not None and at.kind is Kind.HOST_MEMORY
    assert (at := ended(host(), signal=signal.SIGABRT)) is not None and at.kind is Kind.DIED
    assert (at := ended(full, signal=signal.SIGTERM)) is not None and at.kind is Kind.DIED


# --- what is done ---


def test_remedies_have_their_turns() -> None:
    """Fewer images at once, down to one; then blocks computed again; then less precision, if asked for."""
    settings = Settings(batch_size=4)
    taken = []
    while isinstance(plan := treat(replace(fault(Kind.DEVICE_MEMORY), settings=settings)), Plan):
        taken.append(dict(plan.change))
        settings = plan.applied_to(settings)
    assert taken == [{"micro_batch_size": 2}, {"micro_batch_size": 1}, {"remat": True}]
    assert plan.asks is not None and plan.asks.change == {"precision": "bfloat16"}


def test_host_memory_is_first_that_of_the_input_and_then_that_of_the_step_and_then_somebody_else_s() -> None:
    settings = Settings(batch_size=2, num_input_workers=2)
    taken: list[str] = []
    while isinstance(plan := treat(replace(fault(Kind.HOST_MEMORY, began("cpu")), settings=settings)), Plan) and plan.change:
        taken += plan.change
        settings = plan.applied_to(settings)
    assert taken == ["prefetch_bytes", "num_input_workers", "prefetch_bytes", "micro_batch_size"]
    assert isinstance(plan, Plan) and plan.remedy == "wait_for_memory"


def test_host_memory_that_runs_out_at_the_same_place_with_nothing_left_to_shrink_is_waited_for_and_then_ends_the_run() -> None:
    smaller, waited = (made(remedy, Kind.HOST_MEMORY, step=100) for remedy in ("shrink_micro_batch", "wait_for_memory"))
    smallest = Settings(batch_size=1, num_input_workers=1, prefetch_bytes=1)
    met = replace(fault(Kind.HOST_MEMORY, began("cpu"), plans=(smaller, smaller)), settings=smallest)
    assert isinstance(plan := treat(met), Plan) and plan.wait_s > 0
    assert isinstance(treat(replace(met, plans=(smaller, smaller, waited, waited, waited))), NoRemedy)


def test_repairs_have_a_most() -> None:
    plans = tuple(made("resume_from_checkpoint", Kind.DIED, step=step, attempt=step + 1) for step in range(3))
    assert isinstance(treat(fault(Kind.DIED, plans=plans, max_restarts=4)), Plan)
    stopped = treat(fault(Kind.DIED, plans=plans, max_restarts=3))
    assert isinstance(stopped, NoRemedy) and "max_restarts is 3" in stopped.why


def test_what_was_remembered_from_an_earlier_run_is_no_repair() -> None:
    remembered = made("shrink_micro_batch", Kind.DEVICE_MEMORY, attempt=0, micro_batch_size=4)
    assert isinstance(treat(fault(Kind.DIED, plans=(remembered,), max_restarts=1)), Plan)


def test_only_what_did_not_help_is_undone() -> None:
    skip = made("skip_bad_examples", Kind.NOT_FINITE, attempt=1, exclude_examples=[1])
    met = fault(Kind.NOT_FINITE, plans=(skip,))
    lower = treat(met)
    assert isinstance(lower, Plan) and lower.remedy == "lower_learning_rate"
    assert find_ineffective_plan(met, lower, frozenset()) == skip
    assert find_ineffective_plan(met, lower, frozenset({1})) is None
    smaller = made("shrink_micro_batch", Kind.DEVICE_MEMORY, attempt=1, micro_batch_size=1)
    again = fault(Kind.DEVICE_MEMORY, plans=(smaller,), micro_batch_size=1)
    remat = treat(again)
    assert isinstance(remat, Plan) and find_ineffective_plan(again, remat, frozenset()) is None
