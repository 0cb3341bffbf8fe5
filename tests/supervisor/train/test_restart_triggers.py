"""What calls for a restart while a worker still runs, and what does not."""

from dataclasses import replace

import pytest

from tests.remedies.builders import T0, began, host, measured, steps
from unstall.config.settings import Settings
from unstall.diagnosis.findings import Diagnosis, Finding, diagnose
from unstall.diagnosis.verdict import Certainty, Evidence, Found
from unstall.journal.events import CheckpointCompleted, DeviceSampled, EpochScored, Event, HostSampled, RunStarted, StallBegan
from unstall.journal.reader import Journal
from unstall.remedies.plan import Kind
from unstall.supervisor.train.fault import WorkerState
from unstall.supervisor.train.stuck_worker import is_hung
from unstall.supervisor.train.worker_monitor import find_memory_shortage, find_starvation, has_epoch_ended_since

# --- a stall ---


def stalled(phase: str = "train", limit_s: float = 8.0, busy: bool = False, step: int = 50) -> tuple[Journal, StallBegan]:
    usual_s = 0.1 if phase == "train" else None
    stall = StallBegan(at=T0 + 10, since=T0, phase=phase, limit_s=limit_s, usual_s=usual_s, step=step)
    cores = 1.5 if busy else 0.0
    return Journal([stall, HostSampled(at=T0 + 12, interval_s=1.0, cpu_cores=cores)]), stall


@pytest.mark.parametrize(
    ("phase", "limit_s", "busy", "seconds", "hung"),
    [
        ("train", 8, False, 15, False),  # it may come back
        ("train", 8, False, 25, True),
        ("train", 60, False, 100, False),  # by its own history it takes long
        ("train", 60, False, 130, True),
        ("train", 8, True, 600, False),  # it computes: slow, not hung
        ("first_step", 10, True, 1000, True),
        ("first_step", 10, False, 60, False),  # nobody knows how long it takes
        ("first_step", 10, False, 130, True),
        ("start", 10, False, 200, False),  # before the training much may be waited for
        ("start", 10, False, 400, True),
    ],
)
def test_waiting_is_in_vain_when_nothing_has_moved_for_long(
    phase: str, limit_s: float, busy: bool, seconds: float, hung: bool
) -> None:
    journal, stall = stalled(phase, limit_s, busy)
    assert is_hung(journal, stall, seconds) is hung


def test_the_first_steps_only_seem_to_be_quick() -> None:
    journal, stall = stalled(step=3)
    assert not is_hung(journal, stall, 60)
    assert is_hung(journal, stall, 130)


def test_a_device_that_computes_is_waited_for() -> None:
    journal, stall = stalled()
    journal.extend([DeviceSampled(at=T0 + 5, busy_percent=97.0)])
    assert not is_hung(journal, stall, 600)
    assert is_hung(journal, stall, 1000)


# --- memory ---


def worker_state(*events: Event) -> WorkerState:
    return WorkerState(Settings(), Journal(events))


def test_memory_that_this_run_has_nearly_filled() -> None:
    full = host(free_gib=1.0, rss_gib=50.0)
    fault = find_memory_shortage(worker_state(full, full, full))
    assert fault is not None
    assert fault.kind is Kind.HOST_MEMORY
    assert find_memory_shortage(worker_state(full, full)) is None  # for a moment only
    assert find_memory_shortage(worker_state(*3 * [host(free_gib=1.0, rss_gib=10.0)])) is None  # others hold it
    assert find_memory_shortage(worker_state(*3 * [host(free_gib=20.0, rss_gib=44.0)])) is None


# --- input ---


def starved(certainty: Certainty = Certainty.LIKELY) -> Diagnosis:
    found = Found(certainty, "It starves.", (Evidence("waits", 0.5, 0.1, (host(),)),), ("feed it",))
    return replace(diagnose(Journal()), findings=(Finding("input_starved", found),))


def test_starved_input_is_worth_a_restart_while_enough_is_left_to_gain() -> None:
    """A step takes a second, half of it waiting; a start took 60 s."""
    started, looks = RunStarted(at=T0), (steps(0.5), measured(10, 10), host())
    assert find_starvation(worker_state(started, began(epochs=10), *looks), starved()) is not None
    assert find_starvation(worker_state(started, began(epochs=3), *looks), starved()) is None  # 240 s are left
    assert find_starvation(worker_state(started, began(epochs=4), steps(0.2), host()), starved()) is None  # 68 s to be gained
    assert find_starvation(worker_state(started, began(epochs=10), *looks), starved(Certainty.POSSIBLE)) is None
    assert find_starvation(worker_state(started, began(epochs=10), *looks), diagnose(Journal())) is None


def test_such_a_restart_waits_for_the_end_of_an_epoch() -> None:
    within = CheckpointCompleted(at=T0 + 5, step=150)
    assert not has_epoch_ended_since(Journal([began(), within]), T0)
    assert has_epoch_ended_since(Journal([began(), replace(within, step=200)]), T0)
    assert not has_epoch_ended_since(Journal([began(), replace(within, step=200)]), T0 + 6)
    assert has_epoch_ended_since(Journal([began(), EpochScored(at=T0 + 7)]), T0 + 6)
