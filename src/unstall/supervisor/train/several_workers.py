"""Beside the workers that this machine has of a run of several: what is seen of one is held against the others.

A worker that ends before the others, or that they wait for, is named with its stack; then all are ended, as none can go on
without the others, and what it had is treated as with one worker.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import psutil

from unstall.base import exit_codes
from unstall.diagnosis.causes import worker_slow
from unstall.diagnosis.stalls import BUSY_CORES, count_ready_cores
from unstall.diagnosis.workers import blocker
from unstall.diagnosis.workers.blocker import End, Look, Suspect
from unstall.journal.events import HostSampled, ProcessEnded, StackSampled, WorkerFaltered, WorkerRecovered
from unstall.journal.stack_frames import main_thread, select_python_frames
from unstall.remedies.plan import Kind
from unstall.supervisor.train import stragglers
from unstall.supervisor.train.fault import MAX_EVIDENCE, WorkerState, create_stuck_fault, remove_lost_workers
from unstall.supervisor.train.stragglers import SilenceMonitor, SlownessMonitor, SlowWorker
from unstall.supervisor.train.stuck_worker import KILL_AFTER_S, MIN_BUSY_STALL_S
from unstall.supervisor.train.worker_monitor import WorkerGroup, WorkerMonitor

if TYPE_CHECKING:
    from unstall.supervisor.train.training_run import TrainingRun

SETTLES_S = 2.0  # after one has ended: others that fail by themselves show who was first
DONE_WITHIN_S = 60.0  # after one is done; the others are about to be
STOPPED_S = 4.0  # that a process must have been stopped: a debugger that looks for a moment is none of ours
GONE_S = 15.0  # after another's process has ended: by then the framework has noticed by itself, mostly
IN_A_STEP = frozenset({"first_step", "train"})  # phases; what is done alone, as saving, is none of them
SHOWN_FRAMES = 4  # of a stack, in a sentence
MAX_FRAMES = 30  # of a stack, in the journal
STATES = {psutil.STATUS_STOPPED: "T", psutil.STATUS_TRACING_STOP: "t", psutil.STATUS_DISK_SLEEP: "D"}


@dataclass(frozen=True)
class StoppedWorker:
    """One that was found stopped."""

    worker: int
    used_s: float  # of the CPU, up to then
    since: float  # monotonic


class SeveralWorkers(WorkerGroup):
    """Of a run that has several; one of them may be all that this machine has."""

    def __init__(self, training_run: TrainingRun, monitors: Sequence[WorkerMonitor]) -> None:
        super().__init__(monitors)
        self._training_run = training_run
        self._named: Suspect | None = None
        self._stopped: StoppedWorker | None = None
        self._first_end: float | None = None  # monotonic
        self._slowness = SlownessMonitor(self.monitors)
        self._silence = SilenceMonitor({monitor.who.rank for monitor in self.monitors})
        for monitor in self.monitors:
            monitor.waits_for_others = self._waits_for_others

    def look(self) -> None:
        super().look()
        self._end_with_the_first()
        self._look_who_stands_still()
        self._end_with_one_that_was_stopped()
        self._look_who_is_slow()
        self._look_who_is_silent()
        self._end_if_others_are_gone()

    def finish(self) -> None:
        super().finish()
        if not self.is_done:
            self._report_who_failed()

    @property
    def blamed(self) -> WorkerMonitor:
        if self._named is not None:
            return self._monitor(self._named.worker)
        return self._monitor(blocker.find_first_failure([_end_of(monitor) for monitor in self.monitors]))

    def _monitor(self, worker: int) -> WorkerMonitor:
        return next(monitor for monitor in self.monitors if monitor.who.rank == worker)

    # --- one has ended ---

    def _end_with_the_first(self) -> None:
        running = self.running()
        if len(running) == len(self.monitors) or not running:
            return
        self._first_end = self._first_end or time.monotonic()
        ended = [monitor for monitor in self.monitors if monitor.launched.ended is not None]
        patience_s = DONE_WITHIN_S if all(monitor.is_done for monitor in ended) else SETTLES_S
        if time.monotonic() - self._first_end > patience_s:
            self._end_the_rest()

    def _report_who_failed(self) -> None:
        monitor = self.blamed
        ended = monitor.launched.ended
        if self._named is None and ended is not None and not self._training_run.end_is_wanted(self):
            self._report(monitor, _how(ended), time.time() - ended.at)

    # --- one stands still ---

    def _waits_for_others(self, monitor: WorkerMonitor) -> bool:
        """A worker that idles while another of this machine gets on, compiles say; or one that waits for those of others."""
        stall = monitor.watch.stall
        if stall is None:
            return False
        others = [each for each in self.running() if each is not monitor]
        if any(each.watch.stall is None or _look_at(each).is_busy for each in others):
            return True
        is_elsewhere = monitor.who.world_size > len(self.monitors) and bool(_look_at(monitor).waits_for_others)
        return (
            is_elsewhere and not stragglers.compute_gone_s(monitor.watch.journal) and time.time() - stall.since < MIN_BUSY_STALL_S
        )

    def _look_who_stands_still(self) -> None:
        running = self.running()
        if self._named is not None or len(running) < len(self.monitors):
            return
        looks = [_look_at(monitor) for monitor in running]
        named = blocker.find_stopped(looks)
        is_sure = self._is_stopped_for_good(named)
        if not is_sure:
            named = None
            if any(monitor.watch.stall is not None and monitor.watch.has_samples for monitor in running):
                named = blocker.find_awaited(looks)
        if named is None:
            return
        self._named = named
        monitor = self._monitor(named.worker)
        monitor.watch.sample_now()
        silent_s = next(look.silent_s for look in looks if look.worker == named.worker)
        self._report(monitor, named.how, silent_s)
        where = f" at {_stack_of(monitor)[0]}" if _stack_of(monitor) else ""
        self._training_run.printer.complain(f"{monitor.who.words} {named.how}{where}: {named.why}. The others wait for it.")
        if is_sure:
            self._stop_all(monitor, silent_s)

    def _is_stopped_for_good(self, named: Suspect | None) -> bool:
        """It has not run at all for a while: one that is stopped again and again may be found so each time, and is only slow."""
        if named is None:
            self._stopped = None
            return False
        used_s = _cpu_s(self._monitor(named.worker).launched.pid)
        if self._stopped is None or (self._stopped.worker, self._stopped.used_s) != (named.worker, used_s):
            self._stopped = StoppedWorker(named.worker, used_s, time.monotonic())
        return time.monotonic() - self._stopped.since >= STOPPED_S

    def _end_with_one_that_was_stopped(self) -> None:
        """By the rules that hold for one worker; of several, the one that was named is to blame."""
        if self.stopped_for is not None:
            return
        if self._named is not None and not any(monitor.watch.stall for monitor in self.running()):
            self._named = None  # they get on again: it was a pause
        decided = next((monitor for monitor in self.monitors if monitor.stopped_for is not None), None)
        if decided is None:
            return
        assert decided.stopped_for is not None
        if decided.stopped_for.kind is Kind.STUCK:
            stall = decided.watch.stall
            monitor = decided if self._named is None else self._monitor(self._named.worker)
            self._stop_all(monitor, time.time() - stall.since if stall is not None else 0.0)
        else:
            self.stopped_for = decided.stopped_for
            self._end_the_rest()

    def _stop_all(self, monitor: WorkerMonitor, silent_s: float) -> None:
        """For this worker, if it was named; else for all of them."""
        worker_state = self._training_run.worker_state(monitor)
        if self._named is None:
            worker_state = replace(worker_state, name=WorkerState.name)
        fault = create_stuck_fault(worker_state, monitor.watch.stall, monitor.step(), silent_s, monitor.watch.diagnosis)
        if self._named is not None:
            stood = [f"it stood at {' < '.join(_stack_of(monitor)[:SHOWN_FRAMES])}"] if _stack_of(monitor) else []
            fault = replace(fault, evidence=(self._named.why, *stood, *fault.evidence)[:MAX_EVIDENCE])
        self.stopped_for = fault
        self._end_the_rest()

    # --- one of another machine is not heard any more ---

    def _look_who_is_silent(self) -> None:
        reports = self._silence.look(self.lead.watch.journal)
        if reports is None:
            return
        for worker in reports.again:
            self._training_run.printer.complain(f"worker {worker} of {reports.of} is heard again.")
        for worker, why in reports.silent.items():
            self._training_run.printer.complain(f"{why}. The others wait for it.")
            step = self.lead.step()
            event = WorkerFaltered(
                at=time.time(), worker=worker, of=reports.of, how=stragglers.HOW, step=step, furthest_step=step,
                seconds=reports.seconds, why=f"{why[0].upper()}{why[1:]}.",
            )  # fmt: skip
            self.lead.watch.note(event)

    def _end_if_others_are_gone(self) -> None:
        """A step that lacks one of them is never made, and whatever carries their numbers may wait for it without bound."""
        if self.stopped_for is not None:
            return
        for monitor in self.running():
            beat, gone_s = monitor.watch.beat(), stragglers.compute_gone_s(monitor.watch.journal)
            is_in_a_step = beat is not None and beat.phase in IN_A_STEP and beat.silent_s(time.monotonic()) >= GONE_S
            if is_in_a_step and gone_s >= GONE_S:
                self.stopped_for = remove_lost_workers(self._training_run.worker_state(monitor), monitor.step())
                self._end_the_rest()
                return

    # --- one makes all of them slow ---

    def _look_who_is_slow(self) -> None:
        if self._named is not None or self.stopped_for is not None or len(self.running()) < len(self.monitors):
            return
        before = self._slowness.slow
        slow = self.lead.watch.guarded("slowness", self._slowness.look)
        if slow is not None:
            self._report_slow(slow)
        elif before is not None and self._slowness.slow is None:
            who, seconds = before.monitor.who, time.monotonic() - before.reported_at
            self.lead.watch.note(WorkerRecovered(at=time.time(), worker=who.rank, of=who.world_size, seconds=seconds))

    def _report_slow(self, slow: SlowWorker) -> None:
        slow.monitor.watch.sample_now()
        found = slow.found
        claims = [each.claim for each in found.evidence]
        self._report(
            slow.monitor, worker_slow.SLOWS, found.details["seconds"], why=found.summary, evidence=claims,
            actions=list(found.actions), certainty=found.certainty.word,
        )  # fmt: skip
        self.lead.print_at_once()

    def _end_the_rest(self) -> None:
        for monitor in self.running():
            monitor.launched.stop(KILL_AFTER_S)

    def _report(self, monitor: WorkerMonitor, how: str, seconds: float, **more: Any) -> None:
        stack = _stack_of(monitor)
        event = WorkerFaltered(
            at=time.time(), worker=monitor.who.rank, of=monitor.who.world_size, pid=monitor.launched.pid, how=how,
            step=monitor.step(), furthest_step=max(each.step() for each in self.monitors), seconds=seconds, where=_place(stack),
            stack=stack, **more,
        )  # fmt: skip
        self.lead.watch.note(event)


def _look_at(monitor: WorkerMonitor) -> Look:
    beat, host, sample = monitor.watch.beat(), monitor.watch.journal.last(HostSampled), monitor.watch.journal.last(StackSampled)
    thread = main_thread(sample) if sample is not None else None
    try:
        state = STATES.get(psutil.Process(monitor.launched.pid).status(), "S")
    except psutil.Error:
        state = ""
    return Look(
        worker=monitor.who.rank,
        state=state,
        phase=beat.phase if beat else "",
        steps_done=beat.steps_done if beat else 0,
        silent_s=beat.silent_s(time.monotonic()) if beat else 0.0,
        waits_for_input=bool(beat and beat.input_since),
        is_busy=host is not None and count_ready_cores(host) >= BUSY_CORES,
        waits_for_others=None
        if thread is None
        else blocker.is_waiting([(frame["file"], frame["function"]) for frame in select_python_frames(thread)]),
    )


def _cpu_s(pid: int) -> float:
    try:
        times = psutil.Process(pid).cpu_times()
    except psutil.Error:
        return 0.0
    return float(times.user + times.system)


def _end_of(monitor: WorkerMonitor) -> End:
    ended = monitor.launched.ended
    assert ended is not None
    return End(monitor.who.rank, ended.at, ended.exit_code, ended.signal, ended.stopped_by_us)


def _how(ended: ProcessEnded) -> str:
    if ended.exit_code == exit_codes.INTERRUPTED:
        return "left"
    is_without_others = ended.exit_code == exit_codes.OTHERS_LOST or ended.signal == signal.SIGABRT
    return "lost the others" if is_without_others else "died"


def _stack_of(monitor: WorkerMonitor) -> list[str]:
    """The main thread as it was last seen, innermost first."""
    sample = monitor.watch.journal.last(StackSampled)
    thread = main_thread(sample) if sample is not None else None
    if thread is None:
        return []
    return [f"{frame['function']} ({frame['file']}:{frame['line']})" for frame in select_python_frames(thread)[:MAX_FRAMES]]


def _place(stack: Sequence[str]) -> str:
    return stack[0].rpartition("(")[2].rstrip(")") if stack else ""
