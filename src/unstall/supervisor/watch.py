"""Watches one program: takes the signals, keeps the journal, notices a stall, asks for the diagnosis.

`tick` is called about twice a second and is cheap; everything that costs more has its own rhythm.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import TypeVar

from unstall.base.errors import attempt
from unstall.base.processes import list_python_processes
from unstall.diagnosis.findings import Diagnosis, diagnose
from unstall.diagnosis.host_memory import estimate_seconds_left, is_filling, measure_room
from unstall.diagnosis.stalls import BUSY_CORES, count_ready_cores, is_interrupted
from unstall.journal.events import (
    Event,
    EventsLost,
    FrameworkLoaded,
    HostSampled,
    ProbeFailed,
    StackSampled,
    StallBegan,
    StallEnded,
    VerdictReached,
)
from unstall.journal.pulse import Beat, read_pulse
from unstall.journal.reader import FolderTail, Journal, select_since
from unstall.journal.run_folder import RunFolder
from unstall.journal.writer import JournalWriter
from unstall.report.timeline import Timeline
from unstall.sensors import source_lines, stacks, threads
from unstall.sensors.device import DeviceSampler
from unstall.sensors.host import HostSampler
from unstall.sensors.oom_kills import KillCounter
from unstall.sensors.printed_output.reader import PrintedOutput
from unstall.supervisor import inspect, timeouts
from unstall.supervisor.inspect import sample_native
from unstall.supervisor.recorder import Recorder, look_at_error
from unstall.supervisor.timeouts import SamplingInterval, is_steady

T = TypeVar("T")

TICK_S = 0.5
STALL_SAMPLES = 3
STALL_SAMPLE_EVERY_S = 0.7
MORE_SAMPLES_EVERY_S = 10.0
MAX_STALL_SAMPLES = 12
CHILDREN_SAMPLED = 12
FULL_SOON_S = 40.0  # when memory will be full so soon, stacks are taken often: they say who fills it
MAX_PRESSURE_SAMPLES = 40
OWN_EVENTS_WITHIN_S = 1.0  # on a slow disk they are written by a thread; a dead one must not hold up the watcher
IDLE_OVER_S = 4.0  # the CPU must have been idle for so long before an idle stall is called


class Watch:
    def __init__(
        self,
        run: RunFolder,
        pid: int,
        writer: JournalWriter,
        since: float = 0.0,
        recorder: Recorder | None = None,
        output: PrintedOutput | None = None,
    ) -> None:
        """`since`: what the journal tells from before is of an earlier program of the same run."""
        self.run = run
        self.pid = pid
        self._since = since
        self.journal = Journal()
        self.timeline = Timeline()
        self.is_timeline_broken = False
        self.diagnosis: Diagnosis | None = None
        self._writer = writer
        self._tail = FolderTail(run.path)
        self._host = HostSampler(pid, is_finely=True)
        self._device = DeviceSampler()
        self._kills = KillCounter(pid)
        self.output = output or PrintedOutput()
        self._began = time.monotonic()
        self._host_interval = SamplingInterval(1.0, 3.0, 15.0)
        self._device_interval = SamplingInterval(2.0, 5.0, 20.0)
        self._profile_interval = SamplingInterval(3.0, 15.0, 120.0, 45.0)
        self._diagnosis_interval = SamplingInterval(5.0, 20.0, 20.0)
        self._close_interval = SamplingInterval(1.0, 1.0, 1.0)
        self.is_suspected = False  # somebody has reason to look closely, for as long as this is so
        self._is_steady = False
        self._pressure_samples = 0
        self._read_lines: set[tuple[str, int]] = set()
        self._stall: StallBegan | None = None
        self._stall_beat: Beat | None = None  # when it was noticed
        self._is_leaving = False  # it moves, but only since it was asked to end
        self._stall_samples = 0
        self._next_stall_sample = 0.0
        self._native_taken = False
        self._examined = 0
        self._examined_at = 0.0
        self._reported: set[str] = set()
        self._reported_in_stall: set[str] = set()
        self._stacks_refused = False
        if self._device.failure:
            self.note(self._device.failure)
        self._recorder = recorder or Recorder.of_process(run, pid, writer.write)
        self.guarded("record", self._begin_record)

    def _begin_record(self) -> None:
        """What is there before the program can have taken anything."""
        self.note(*self._device.sample({self.pid}))
        self._recorder.begin(self._device.drivers(), self.guarded)

    # --- the journal ---

    def note(self, *events: Event) -> None:
        """Our own events go into our own file; `tick` reads them back with the program's, and those that the disk refused."""
        for event in events:
            self._writer.write(event)

    def read_noted(self) -> None:
        """Reads with what was noted just now, which on a slow disk is still being written."""
        self._writer.flush(OWN_EVENTS_WITHIN_S)
        self.read()

    def read(self) -> None:
        lost = self._writer.take_lost()
        if lost:  # the journal cannot say so itself while there is no room
            lost.append(EventsLost(at=time.time(), count=len(lost), why=self._writer.lost_why))
        events = sorted([*self._tail.read(), *lost], key=lambda event: event.at)
        self.journal.extend(select_since(events, self._since))
        self.journal.now = time.time()
        self.guarded("record", lambda: self._recorder.look(events))
        if not self.is_timeline_broken:
            self.guarded("timeline", lambda: self._record(events))

    def _record(self, events: list[Event]) -> None:
        """For the report: a run of weeks cannot be read again at its end. With a hole in it there is rather none."""
        self.is_timeline_broken = True
        self.timeline.extend(events)
        self.is_timeline_broken = False

    # --- one tick ---

    def tick(self) -> Diagnosis | None:
        """Looks once. A new diagnosis when there was reason for one, else None. A defect of ours ends no watching."""
        return self.guarded("watcher", self._tick)

    def guarded(self, what: str, call: Callable[[], T]) -> T | None:
        """What it returns; None, and a note in the journal, if it failed."""

        def failed(error: Exception) -> None:  # the program must be waited for, and its end passed on
            self.note(ProbeFailed(at=time.time(), probe=what, error=f"{type(error).__name__}: {error}"))

        return attempt(call, failed)

    def _tick(self) -> Diagnosis | None:
        now = time.monotonic()
        age = 0.0 if self.is_suspected else now - self._began  # what is early is often
        self._host.update_totals()
        host = self._host.sample() if self._host_interval.is_due(now, age, self._is_steady) else None
        if host is not None:
            self.note(host, *self._kills.look(self._host.seen))
        if self._device_interval.is_due(now, age, self._is_steady):
            self.note(*self._device.sample(set(self._host.tree())))
        self.guarded("printed output", lambda: self.note(*self.output.read(time.time())))
        self.read()
        if host is not None:
            self._look_at_pressure()
        beat = self.beat()
        self._judge_progress(beat, now)
        if self._stall is not None:
            return self._look_at_stall(now) if not self._is_leaving else self._look_at_exit(now, self._stall)
        profiles = self._close_interval if self.is_suspected else self._profile_interval
        if self._is_worth_a_profile(beat) and profiles.is_due(now, age, self._is_steady):
            self._profile(self.find_training_pid(beat))
        if self._diagnosis_interval.is_due(now, age):
            return self.examine()
        return None

    def _is_worth_a_profile(self, beat: Beat | None) -> bool:
        """A training; or, before there is one, a framework at work: it may be compiling."""
        if beat is not None and beat.phase in {"train", "loop", "validate", "first_step", "fit"}:
            return True
        busy = self._is_busy() and self.journal.last(FrameworkLoaded) is not None
        return busy and (beat is None or beat.phase == "start")

    def _profile(self, pid: int) -> None:
        """Where a training that moves spends its time: its stacks, the CPU of their threads, the source of lines not yet seen."""
        sample = self._sample_stack(pid)
        if not isinstance(sample, StackSampled):
            return
        seen = threads.sample(pid, only={thread["id"] for thread in sample.threads})
        fresh = [event for event in source_lines.read([sample]) if (event.file, event.line) not in self._read_lines]
        self._read_lines.update((event.file, event.line) for event in fresh)
        self.note(*([seen] if seen is not None else []), *fresh)

    def _look_at_pressure(self) -> None:
        """While memory runs full: where the program stands. After a kill it is too late to ask."""
        hosts = self.journal.of(HostSampled)
        left = estimate_seconds_left(hosts)
        if left is not None and left < FULL_SOON_S and is_filling(hosts) and self._pressure_samples < MAX_PRESSURE_SAMPLES:
            self._pressure_samples += 1
            sample = self._sample_stack(self.find_training_pid())
            if isinstance(sample, StackSampled):
                self.note(*source_lines.read([sample]))

    def examine(self) -> Diagnosis:
        self.read_noted()  # a diagnosis is often asked for because of an event that was noted just now
        self.diagnosis = diagnose(self.journal)
        self._report(self.diagnosis)
        return self.diagnosis

    def _report(self, diagnosis: Diagnosis) -> None:
        for finding in diagnosis.findings:
            if finding.cause not in self._reported:
                self._reported.add(finding.cause)
                if self._stall is not None:
                    self._reported_in_stall.add(finding.cause)
                found = finding.found
                self.note(
                    VerdictReached(
                        at=time.time(),
                        cause=finding.cause,
                        certainty=found.certainty.word,
                        where=found.where,
                        summary=found.summary,
                        evidence=[each.claim for each in found.evidence],
                        remedies=[each.action for each in found.remedies],
                    )
                )

    @property
    def stall(self) -> StallBegan | None:
        """The one that goes on now."""
        return self._stall

    @property
    def has_looked_closely(self) -> bool:
        """The stacks of the present stall have been taken, as far as they can be."""
        return self._native_taken or self._stacks_refused or self._stall_samples >= MAX_STALL_SAMPLES

    @property
    def has_samples(self) -> bool:
        """Stacks have been taken in the present stall, or cannot be taken."""
        return self._stall_samples >= STALL_SAMPLES or self._stacks_refused

    def sample_now(self) -> None:
        """One more stack, of a worker that is about to be named."""
        self.guarded("watcher", lambda: self._sample_stack(self.find_training_pid()))
        self.read_noted()

    # --- progress ---

    def beat(self) -> Beat | None:
        """The pulse of the process that trains: the one that beat last."""
        beats = [beat for path in self.run.pulse_paths() if (beat := read_pulse(path)) is not None]
        return max(beats, key=lambda beat: beat.beat, default=None)

    def find_training_pid(self, beat: Beat | None = None) -> int:
        """The process whose stacks tell most."""
        beat = beat or self.beat()
        if beat is not None:
            return beat.pid
        pythons = list_python_processes(self._host.tree())
        return pythons[0] if pythons else self.pid

    def _judge_progress(self, beat: Beat | None, now: float) -> None:
        progress = timeouts.find_last_progress(self.journal, beat, now, self.output, self._idle_since)
        since, limit = progress.since, progress.limit
        silent = time.time() - since
        if self._stall is not None:
            moved = since > self._stall.since + 1.0
            self._is_leaving = moved and timeouts.is_leaving(self.journal, self._stall, self._stall_beat, beat, since)
            if moved and not self._is_leaving:
                self.note(
                    StallEnded(
                        at=time.time(),
                        phase=self._stall.phase,
                        step=self._stall.step,
                        seconds=since - self._stall.since,
                    )
                )
                self._stall = None
            return
        self._is_steady = beat is not None and self._has_gone_well(silent, limit)
        idle_s = self._idle_s(now)
        is_late = silent > limit.busy_s or (silent > limit.idle_s and idle_s >= min(IDLE_OVER_S, limit.idle_s))
        if is_late:
            self._begin_stall(beat, progress)

    def _has_gone_well(self, silent_s: float, limit: timeouts.StallLimit) -> bool:
        hosts = self.journal.of(HostSampled)
        memory, full_in_s = (measure_room(hosts[-1]), estimate_seconds_left(hosts)) if hosts else (None, None)
        return is_steady(time.monotonic() - self._began, silent_s, limit.idle_s, memory, full_in_s)

    def _idle_s(self, now: float) -> float:
        """For how long the process tree has used next to no CPU, and waited for none, up to now."""
        idle = 0.0
        for host in reversed(self.journal.of(HostSampled)):
            if host.interval_s <= 0 or count_ready_cores(host) >= BUSY_CORES:
                break
            idle += host.interval_s
        return idle

    def _idle_since(self) -> float:
        """When the process tree was last seen to use the CPU or to queue for it, or was first looked at."""
        hosts = self.journal.of(HostSampled)
        busy = next((host.at for host in reversed(hosts) if count_ready_cores(host) >= BUSY_CORES), None)
        return busy if busy is not None else hosts[0].at if hosts else time.time()

    def _begin_stall(self, beat: Beat | None, progress: timeouts.LastProgress) -> None:
        busy = self._idle_s(time.monotonic()) < IDLE_OVER_S
        self._stall = StallBegan(
            at=time.time(),
            phase=progress.phase,
            step=progress.step,
            epoch=progress.epoch,
            since=progress.since,
            usual_s=progress.limit.usual_s,
            limit_s=progress.limit.busy_s if busy else progress.limit.idle_s,
            waiting_for_input=bool(beat and beat.input_since),
            sure=progress.is_sure,
            printed=progress.printed,
        )
        self._is_steady = self._is_leaving = False
        self._stall_beat = beat
        self._stall_samples = 0
        self._next_stall_sample = 0.0
        self._native_taken = False
        self._reported -= self._reported_in_stall  # what is said of one stall says nothing of the next
        self._reported_in_stall.clear()
        self._host_interval.at_once()
        self.note(self._stall)

    # --- a stall ---

    def _look_at_stall(self, now: float) -> Diagnosis | None:
        pid = self.find_training_pid()
        if self._stall_samples >= STALL_SAMPLES and not self._native_taken:
            return self._look_deeper(pid)
        if now < self._next_stall_sample or self._stall_samples >= MAX_STALL_SAMPLES:
            is_looked_at = self._stall_samples >= STALL_SAMPLES  # before, the stacks of children are not there to compare
            return self.examine() if is_looked_at and self._diagnosis_interval.is_due(now, 0.0) else None
        others = self._others(pid)
        self.note(*inspect.look_at_threads(pid, others))
        self._sample_stack(pid)
        self._stall_samples += 1
        if self._stall_samples > 1:  # two looks tell whether a child moves; the third is one more of the main process
            for other in others:
                self._sample_stack(other, main=False)
        if self._stall_samples < STALL_SAMPLES:
            self._next_stall_sample = now + STALL_SAMPLE_EVERY_S
            return None
        self._next_stall_sample = now + MORE_SAMPLES_EVERY_S
        self.read_noted()
        self.note(*inspect.look_around(pid, others, self.journal.since(StackSampled, self._stall_at())))
        return self.examine()

    def _look_at_exit(self, now: float, stall: StallBegan) -> Diagnosis | None:
        """Nothing more is sampled: it would be the way out. A program that was interrupted may live on, as a notebook does."""
        is_due = is_interrupted(self.journal, stall) and self._diagnosis_interval.is_due(now, 0.0)
        return self.examine() if is_due else None

    def _look_deeper(self, pid: int) -> Diagnosis | None:
        """The native stacks, once in a stall. What Python alone shows has been said by now: this takes seconds."""
        self._native_taken = True
        if self._is_busy():
            return None
        self._sample_stack(pid, native=True)
        return self.examine()

    def _is_busy(self) -> bool:
        host = self.journal.last(HostSampled)
        return host is not None and host.cpu_cores >= BUSY_CORES

    def _sample_stack(self, pid: int, native: bool = False, main: bool = True) -> Event | None:
        if self._stacks_refused:
            return None
        event = sample_native(pid) if native else stacks.sample(pid, main=main)
        if timeouts.is_signal_pending():
            return None  # it may show the program on its way out
        if not isinstance(event, StackSampled) and main and not native:
            self._stacks_refused = "ptrace" in getattr(event, "missing", "")
        self.note(event)
        return event

    def _others(self, pid: int) -> list[int]:
        """The other processes of the program that run Python."""
        return [other for other in list_python_processes(self._host.tree()) if other != pid][:CHILDREN_SAMPLED]

    def _stall_at(self) -> float:
        return self._stall.at if self._stall is not None else 0.0

    def finish(self, events: Iterable[Event] = ()) -> Diagnosis:
        """The last look, when the program has ended."""
        self.guarded("printed output", lambda: self.note(*self.output.finish(time.time())))
        self.note(*events, *self._kills.look(self._host.seen, final=True), *self._device.sample(set()))
        self.read_noted()
        self.guarded("record", self._recorder.finish)
        self.note(*look_at_error(self.journal))
        return self.examine()
