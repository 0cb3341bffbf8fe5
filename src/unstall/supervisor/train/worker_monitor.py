"""Beside each worker of this machine: looks at it, says what is worth saying, and ends it where waiting longer is in vain."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from unstall.base.exit_codes import DONE
from unstall.diagnosis.findings import Diagnosis
from unstall.diagnosis.host_memory import measure_room
from unstall.diagnosis.verdict import Certainty
from unstall.journal.events import (
    CheckpointCompleted,
    CheckpointFailed,
    CheckpointRefused,
    EpochScored,
    HostSampled,
    PreemptionNoticed,
    ProcessEnded,
    RunStarted,
    StallBegan,
    StepsEnded,
    TrainingBegan,
    TrainingEnded,
)
from unstall.journal.reader import Journal
from unstall.remedies.plan import Fault, Kind, Plan, find_step_reached, measure_wait_share
from unstall.supervisor.launch import LaunchedProgram, wait_for_any
from unstall.supervisor.train.fault import WorkerState, create_stuck_fault, describe_cause, treat
from unstall.supervisor.train.stuck_worker import end_if_stuck
from unstall.supervisor.watch import Watch
from unstall.training.distributed.engines import ProcessEnv

if TYPE_CHECKING:
    from unstall.supervisor.run.program import Printer
    from unstall.supervisor.train.training_run import TrainingRun

SAVES_WITHIN_S = 25.0  # a worker that was asked to end: most schedulers give half a minute
RESTART_SAVES_S = 60.0  # a healthy one that is to be started again: nothing hurries it
UNENDABLE_S = 120.0  # after which it is said that it cannot even be killed


class WorkerMonitor:
    def __init__(
        self, training_run: TrainingRun, launched: LaunchedProgram, watch: Watch, who: ProcessEnv, printer: Printer
    ) -> None:
        """`printer`: what is said of one of several workers goes into its own story alone."""
        self.who, self._printer, self._is_lead = who, printer, printer is training_run.printer
        self.launched = launched
        self.watch = watch
        self.stopped_for: Fault | None = None
        self.waits_for_others: Callable[[WorkerMonitor], bool] = lambda monitor: (
            False
        )  # who get on: it is not hung, whatever it seems
        self._stopped_at = 0.0
        self._training_run = training_run
        self._waiting: tuple[Fault, float] | None = (
            None  # a fault whose treatment can wait for the end of an epoch, and since when
        )
        self._printed: set[str] = set()
        self._is_asked_to_leave = False
        self._diagnosis: Diagnosis | None = None

    def look(self) -> None:
        self.watch.note(*self.launched.take_new_signals())
        diagnosis = self.watch.tick()
        self._end_if_machine_goes()
        if self.launched.is_asked_to_end or self._training_run.notice is not None:
            self.launched.kill_after(SAVES_WITHIN_S)
            return
        self._see_how_the_run_goes()
        if diagnosis is not None and not self.waits_for_others(self):
            self._diagnosis = diagnosis
            self._printer.print_if_new(self.watch, diagnosis)
        if self.stopped_for is None:
            if self.watch.stall is not None:
                end_if_stuck(self, self.watch.stall)
            else:
                self._end_if_it_pays(diagnosis)
        elif time.monotonic() - self._stopped_at > UNENDABLE_S:
            self._say_once("unendable", "the worker does not end, though it was killed: the kernel waits for a disk or a device.")

    def step(self) -> int:
        """That it is in, counted over all epochs: by the pulse, which knows more than was written."""
        began, beat = self.watch.journal.last(TrainingBegan), self.watch.beat()
        by_pulse = began.from_step + max(0, beat.step) if began is not None and beat is not None else 0
        return max(by_pulse, find_step_reached(self.watch.journal))

    @property
    def is_done(self) -> bool:
        """It has trained to its end; how the process itself ended after that matters no more."""
        event = self.watch.journal.last(TrainingEnded)
        ended = self.launched.ended
        return (event is not None and event.exit_name == DONE.title) or (ended is not None and ended.exit_code == DONE)

    def finish(self) -> None:
        assert self.launched.ended is not None
        self._diagnosis = self.watch.finish([*self.launched.take_new_signals(), self.launched.ended])
        self._see_how_the_run_goes()

    def _see_how_the_run_goes(self) -> None:
        """By the first of several workers alone: the others would tell the same."""
        if self._is_lead:
            self._say_of_checkpoints()
            self._training_run.verify_plans(self)

    def describe_end(self) -> tuple[ProcessEnded, Diagnosis]:
        assert self.launched.ended is not None
        return self.launched.ended, self._known()

    def print_at_once(self) -> None:
        """What was found among several workers, who were looked at more than once: it need not be found again to be said."""
        self._diagnosis = self.watch.examine()
        self._printer.print_if_new(self.watch, self._diagnosis, is_steady=True)

    def print_repair(self) -> None:
        self.watch.read_noted()
        self._training_run.printer.print_repair(self.watch, self._known())

    def print_end(self) -> None:
        self.watch.read_noted()
        self._training_run.printer.print_end(self.watch, self._known())

    def _known(self) -> Diagnosis:
        return self._diagnosis if self._diagnosis is not None else self.watch.examine()

    # --- ending it ---

    def _end_if_machine_goes(self) -> None:
        """The notice comes as a file on a server, and not as a signal to the worker: it is handed on as one."""
        notice = self._training_run.notice
        if notice is not None and not self._is_asked_to_leave:
            self._is_asked_to_leave = True
            self.watch.note(PreemptionNoticed(at=time.time(), source=notice.source, what=notice.what))
            self._say_once("notice", f"{notice.words}: the worker saves and ends, so that the run goes on elsewhere.")
            self.launched.stop(SAVES_WITHIN_S)

    def _end_if_it_pays(self, diagnosis: Diagnosis | None) -> None:
        if diagnosis is None:
            return
        worker_state = self._training_run.worker_state(self)
        full = find_memory_shortage(worker_state)
        if full is not None and isinstance(treat(full), Plan):
            self.stop(full, RESTART_SAVES_S)
            return
        starving = find_starvation(worker_state, diagnosis)
        if starving is None or not isinstance(treat(starving), Plan):
            self._waiting = None
        elif self._waiting is None:
            self._waiting = (starving, time.time())
        elif has_epoch_ended_since(self.watch.journal, self._waiting[1]):
            self.stop(starving, RESTART_SAVES_S)

    def describe_stuck_fault(self, stall: StallBegan, seconds: float) -> Fault:
        self._diagnosis = self.watch.examine()
        return create_stuck_fault(self._training_run.worker_state(self), stall, self.step(), seconds, self._diagnosis)

    def stop(self, fault: Fault, kill_after_s: float) -> None:
        self.stopped_for, self._stopped_at = fault, time.monotonic()
        self.launched.stop(kill_after_s)

    # --- what is worth a line ---

    def _say_of_checkpoints(self) -> None:
        failed, refused = self.watch.journal.last(CheckpointFailed), self.watch.journal.of(CheckpointRefused)
        if failed is not None:
            self._say_once(
                "failed", f"a checkpoint could not be written: {failed.error}. The training goes on, and it is tried again."
            )
        for event in refused:
            lost = f"the run goes on from step {event.instead_step:,}; steps up to {event.step:,} are made again"
            self._say_once(event.path, f"the checkpoint {event.path} is not whole ({event.why}): {lost}.")

    def _say_once(self, about: str, text: str) -> None:
        if about not in self._printed and self._is_lead:
            self._printed.add(about)
            self._training_run.printer.complain(text)


class WorkerGroup:
    """The workers that this machine has of a run. What shows only among several is in `several_workers.py`."""

    def __init__(self, monitors: Sequence[WorkerMonitor]) -> None:
        self.monitors = list(monitors)
        self.lead = self.monitors[0]
        self.stopped_for: Fault | None = None

    def wait(self, seconds: float) -> bool:
        """So long at most; whether any worker still runs."""
        wait_for_any([monitor.launched for monitor in self.monitors], seconds)
        return any(monitor.launched.ended is None for monitor in self.monitors)

    def look(self) -> None:
        for monitor in self.running():
            monitor.look()

    def finish(self) -> None:
        for monitor in self.monitors:
            monitor.finish()
        self.stopped_for = self.stopped_for or self.lead.stopped_for

    @property
    def blamed(self) -> WorkerMonitor:
        """The worker whose fault is treated."""
        return self.lead

    @property
    def is_done(self) -> bool:
        return all(monitor.is_done for monitor in self.monitors)

    @property
    def is_asked_to_end(self) -> bool:
        return any(monitor.launched.is_asked_to_end for monitor in self.monitors)

    def running(self) -> list[WorkerMonitor]:
        return [monitor for monitor in self.monitors if monitor.launched.ended is None]


# What else calls for a restart while a worker still runs: its input starves it, host memory is nearly full. Pure functions of the
# journal. That it stands still is in stuck_worker.py.


# --- host memory ---

FULL_SHARE = 0.95  # of the memory that the run may use
OWN_SHARE = 0.5  # of it that the run itself must hold: others' memory is not ours to save
FULL_SAMPLES = 3  # in a row


def find_memory_shortage(worker_state: WorkerState) -> Fault | None:
    hosts = worker_state.journal.of(HostSampled)[-FULL_SAMPLES:]
    if len(hosts) < FULL_SAMPLES or not all(_is_full(host) for host in hosts):
        return None
    step, left = find_step_reached(worker_state.journal), measure_room(hosts[-1])
    assert left is not None
    claim = f"{left.share:.0%} of {left.of} is in use, and {hosts[-1].rss_bytes / left.limit_bytes:.0%} by this run"
    return worker_state.create_fault(Kind.HOST_MEMORY, step, f"Host memory was nearly full in step {step:,}.", claim)


def _is_full(host: HostSampled) -> bool:
    left = measure_room(host)
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
    share, left_s, cost_s = (
        measure_wait_share(groups),
        estimate_seconds_left(worker_state.journal, groups),
        compute_start_s(worker_state.journal),
    )
    if share is None or left_s is None or cost_s is None or left_s < MIN_LEFT_S or share * left_s < TIMES_COST * cost_s:
        return None
    step = find_step_reached(worker_state.journal)
    happened = f"Steps wait for their input for {share:.0%} of the time, up to step {step:,}."
    return worker_state.create_fault(
        Kind.STARVED, step, happened, f"about {left_s / 60:.0f} min are left", *describe_cause(diagnosis)
    )


def estimate_seconds_left(journal: Journal, groups: list[StepsEnded]) -> float | None:
    began = journal.last(TrainingBegan)
    steps = sum(group.last - group.first + 1 for group in groups)
    if began is None or not steps:
        return None
    return (began.epochs * began.steps_per_epoch - find_step_reached(journal)) * sum(group.seconds for group in groups) / steps


def compute_start_s(journal: Journal) -> float | None:
    """What the worker took from its start to the end of its first step: what another start would cost."""
    started, first = journal.last(RunStarted), journal.first(StepsEnded)
    return first.at - started.at if started is not None and first is not None else None


def has_epoch_ended_since(journal: Journal, at: float) -> bool:
    """A good moment for a restart that can wait."""
    began, saved = journal.last(TrainingBegan), journal.last(CheckpointCompleted)
    at_an_end = began is not None and saved is not None and saved.at > at and saved.step % max(1, began.steps_per_epoch) == 0
    return at_an_end or bool(journal.since(EpochScored, at))
