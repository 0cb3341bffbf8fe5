"""The stall that a journal ends in, if it does, with the stack samples taken during it."""

from __future__ import annotations

import math
import operator
import re
import signal
from dataclasses import dataclass

from unstall.diagnosis.thread_waits import find_sleep_call, is_standing, measure_standing_s
from unstall.diagnosis.verdict import Clear, Evidence, Unknown
from unstall.journal.events import (
    ChildSeen,
    ClusterSeen,
    ErrorRaised,
    FitBegan,
    HostSampled,
    IdleSeen,
    ProcessEnded,
    SampleFailed,
    SignalSent,
    SourceRead,
    StackSampled,
    StallBegan,
    StallEnded,
    StepsEnded,
    ThreadsSeen,
    ThreadStack,
    VerdictReached,
)
from unstall.journal.reader import Journal
from unstall.journal.stack_frames import find_same_position, get_position, main_thread, select_python_frames, select_user_frames

BUSY_CORES = 0.25  # a process tree that uses more is working, however slowly
STOPPED_SHARE = 0.5  # of the looks of one sample
MIN_SAMPLES = 2  # a thread must stand at the same line in at least so many samples, and in all of them
LOOKED_AT = 3
HEEDS_WITHIN_S = 5.0  # a program that stands where it stood so long after a request to end has taken no notice of it
LASTED = {"save": "saves", "validate": "steps of validation", "predict": "steps of prediction"}  # else steps of training
LEAVING = frozenset({"KeyboardInterrupt", "SystemExit"})  # by which a program is left where it stands: no error of its own


@dataclass(frozen=True)
class StuckThread:
    """A thread that has not moved: the same line in all the latest samples of its process."""

    pid: int
    is_main: bool  # of the process that trains
    thread: ThreadStack  # with native frames where there are some
    samples: tuple[StackSampled, ...]  # of its process
    call: str | None  # the system call it sleeps in, as far as the kernel tells
    awaits: str | None  # what that call waits on
    kernel_name: str = ""  # of the thread


@dataclass(frozen=True)
class Stall:
    """From the last sign of progress until now. `samples` are main-process stacks taken in it, oldest first."""

    began: StallBegan
    seconds: float
    samples: tuple[StackSampled, ...]
    children: tuple[StackSampled, ...]  # stacks of child processes
    hosts: tuple[HostSampled, ...]
    threads: tuple[ThreadsSeen, ...] = ()
    relatives: tuple[ChildSeen, ...] = ()
    clusters: tuple[ClusterSeen, ...] = ()
    sources: tuple[SourceRead, ...] = ()

    def still(self, strict: bool = True) -> list[StuckThread]:
        """All threads that have not moved, those of the training process first. Not strict: by their lines alone, whatever
        the kernel says of when they last ran."""
        by_pid: dict[int, list[StackSampled]] = {}
        for sample in (*self.samples, *self.children):
            by_pid.setdefault(sample.pid, []).append(sample)
        return [still for pid, samples in by_pid.items() for still in self._still_in(pid, samples, strict)]

    def _still_in(self, pid: int, all_samples: list[StackSampled], strict: bool) -> list[StuckThread]:
        native = next((sample for sample in reversed(all_samples) if sample.native), None)
        samples = all_samples[-LOOKED_AT:]
        if len(samples) < MIN_SAMPLES:
            return []
        result = []
        for thread in samples[-1].threads:
            stood = measure_standing_s(self.threads, pid, thread["id"])
            if find_same_position(samples, thread) < len(samples) or (strict and not self.began.sure and not is_standing(stood)):
                continue
            deep = next((other for other in native.threads if other["id"] == thread["id"]), thread) if native else thread
            shown = deep if get_position(deep) == get_position(thread) else thread
            call, on, name = find_sleep_call(self.threads, pid, thread["id"])
            result.append(StuckThread(pid, samples[-1].main, shown, tuple(samples), call, on, name))
        return result

    def source(self, file: str, line: int) -> SourceRead | None:
        return next((source for source in self.sources if source.file == file and source.line == line), None)

    @property
    def cpu_cores(self) -> float | None:
        """Busy cores of the whole process tree during the stall; None if it was not measured."""
        return self._mean([host.cpu_cores for host in self._measured])

    @property
    def is_busy(self) -> bool:
        """Whether it works, or would if it got a core: on a crowded machine threads that are ready to run must queue."""
        ready = self._mean([count_ready_cores(host) for host in self._measured])
        return ready is not None and ready >= BUSY_CORES

    @property
    def is_stopped(self) -> bool:
        """Whether its process is stopped, by a signal or a debugger: its stacks tell of no wait then. By several samples, as a
        look at native stacks stops it for a moment, too."""
        latest = self._measured[-LOOKED_AT:]
        return bool(latest) and all(host.stopped_share >= STOPPED_SHARE for host in latest)

    @property
    def _measured(self) -> list[HostSampled]:
        return [host for host in self.hosts if host.interval_s > 0]

    def _mean(self, cores: list[float]) -> float | None:
        """Over the time of the stall: a sample counts for as long as it took."""
        seconds = [host.interval_s for host in self._measured]
        return sum(map(operator.mul, cores, seconds)) / sum(seconds) if seconds else None

    @property
    def native(self) -> StackSampled | None:
        """The latest sample with native frames."""
        return next((sample for sample in reversed(self.samples) if sample.native), None)

    def lateness(self) -> Evidence:
        """How late this is against the run's own history."""
        usual = self.began.usual_s
        if usual and self.began.printed:
            claim = (
                f"it printed its progress every {_seconds(usual)}, and not for {_seconds(self.seconds)} now: {self.began.printed}"
            )
        elif usual:
            times = f"{self.seconds / usual:,.0f} times as long"
            what = LASTED.get(self.began.phase, "steps")
            claim = f"{what} before took {_seconds(usual)}; this one {_seconds(self.seconds)}, {times}"
        else:
            claim = f"nothing has moved for {_seconds(self.seconds)}"
        return Evidence(claim, self.seconds, self.began.limit_s, (self.began,))

    def idleness(self) -> Evidence | None:
        cores = self.cpu_cores
        if cores is None:
            return None
        return Evidence(f"the program uses {cores * 100:.0f} % of one core meanwhile", cores, BUSY_CORES, self.hosts)


def count_ready_cores(host: HostSampled) -> float:
    """Cores that it used, or would have used had they been free."""
    return host.cpu_cores + host.queued_cores


def _seconds(value: float) -> str:
    return f"{value:.0f} s" if value >= 10 else f"{value:.2g} s"


def find_sampled_stall(journal: Journal, counts_children: bool = False) -> Stall | Clear | Unknown:
    """The one that goes on, if its stacks were seen, of the process that trains or (`counts_children`) of any; else why not."""
    stall = find_current_stall(journal)
    if stall is None:
        return Clear("the program makes progress")
    if stall.samples or (counts_children and stall.children):
        return stall
    failed = journal.last(SampleFailed)
    return Unknown(failed.missing if failed else "a stack sample of the stall", failed.fix if failed else "")


def find_idle_stall(journal: Journal, counts_children: bool = False) -> Stall | Clear | Unknown:
    """The same, of a program that does not work meanwhile: for causes that are about waiting."""
    stall = find_sampled_stall(journal, counts_children)
    if isinstance(stall, Stall) and stall.is_stopped:
        return Clear("the process is stopped, by a signal or a debugger")
    return Clear("the program works: slow, not blocked") if isinstance(stall, Stall) and stall.is_busy else stall


def find_current_stall(journal: Journal) -> Stall | None:
    """The stall that goes on at the journal's end, or until somebody ended the program. A stall that ended by itself is none."""
    began = journal.last(StallBegan)
    ended = journal.last(StallEnded)
    if began is None or (ended is not None and ended.at >= began.at) or _ended_in_order(journal, began):
        return None
    until = _asked_to_end(journal, began)
    end = _stood_until(journal, until) if is_over(journal, began) else journal.now
    samples = [sample for sample in journal.since(StackSampled, began.since) if sample.at <= until]
    hosts = [host for host in journal.since(HostSampled, began.since) if host.at <= until]
    return Stall(
        began=began,
        seconds=max(0.0, min(journal.now, end) - began.since),
        samples=tuple(sample for sample in samples if sample.main),
        children=tuple(sample for sample in samples if not sample.main),
        hosts=tuple(hosts),
        threads=tuple(seen for seen in journal.since(ThreadsSeen, began.since) if seen.at <= until),
        relatives=tuple(journal.since(ChildSeen, began.since)),
        clusters=tuple(journal.since(ClusterSeen, began.since)),
        sources=tuple(journal.since(SourceRead, began.since)),
    )


def is_interrupted(journal: Journal, began: StallBegan) -> bool:
    """An interrupt has taken the program out of the stall: of a notebook, say, whose process lives on."""
    return any(_leaves(error) for error in journal.since(ErrorRaised, began.since))


def is_asked_to_end(journal: Journal, began: StallBegan) -> bool:
    """Somebody lost patience with it: by a signal, by an interrupt, or by asking Unstall to end what is stuck."""
    asked = any(sent.asks_for_the_end for sent in journal.since(SignalSent, began.since))
    ended = journal.last(ProcessEnded)
    return asked or is_interrupted(journal, began) or (ended is not None and ended.stopped_by_us)


def is_over(journal: Journal, began: StallBegan) -> bool:
    """Nothing more will be seen of it: the program has ended, or was taken out of it."""
    return bool(journal.since(ProcessEnded, began.at)) or is_interrupted(journal, began)


def _ended_in_order(journal: Journal, began: StallBegan) -> bool:
    """The program came to its end without anybody's help, between two looks at it: it must have gone on."""
    ended = journal.last(ProcessEnded)
    in_order = ended is not None and ended.at >= began.at and ended.exit_code == 0
    return in_order and not is_asked_to_end(journal, began)


def _asked_to_end(journal: Journal, began: StallBegan) -> float:
    """When somebody lost patience with it: what the program does from then on is its end, and no part of the stall. Where it was
    hardly looked at by then, all that was seen counts: it stands on in spite of the signal, or nothing more will come."""
    moments = [sent.at for sent in journal.since(SignalSent, began.at) if sent.asks_for_the_end]
    moments += [error.at for error in journal.since(ErrorRaised, began.at) if _leaves(error)]
    asked = min(moments, default=float("inf"))
    seen = sum(began.since <= sample.at <= asked for sample in journal.of(StackSampled) if sample.main)
    return asked if seen >= MIN_SAMPLES else float("inf")


def _stood_until(journal: Journal, asked: float) -> float:
    """A program may take no notice of a request to end, as with a handler for preemption. If a later sample shows its main thread
    where it stood before, it has stood until the last request, or until it was killed."""
    samples = [sample for sample in journal.of(StackSampled) if sample.main]
    before = next((sample for sample in reversed(samples) if sample.at <= asked), None)
    later = [sample for sample in samples if sample.at >= asked + HEEDS_WITHIN_S and before and _is_at_same_place(before, sample)]
    if not later:
        return asked
    moments = [sent.at for sent in journal.of(SignalSent) if sent.asks_for_the_end]
    moments += [ended.at for ended in journal.of(ProcessEnded) if ended.signal == signal.SIGKILL]
    return max([later[-1].at, *moments])


def _is_at_same_place(one: StackSampled, other: StackSampled) -> bool:
    first, second = main_thread(one), main_thread(other)
    return first is not None and second is not None and one.pid == other.pid and get_position(first) == get_position(second)


def _leaves(error: ErrorRaised) -> bool:
    return error.kind in LEAVING and error.thread in {"", "MainThread"}


def list_verdicts(journal: Journal) -> list[VerdictReached]:
    """What was said of the stall that the program was ended in, the first of each cause; nothing of a program that goes on."""
    stall = find_current_stall(journal)
    if stall is None or not is_over(journal, stall.began):
        return []
    said = {event.cause: event for event in reversed(journal.since(VerdictReached, stall.began.at))}
    return list(said.values())


def is_without_steps(journal: Journal, said: VerdictReached) -> bool:
    """Whether it was said in a stall, and no training step was seen afterwards. Steps from before may be written later: their
    numbers tell."""
    stalls = [event for event in journal.of(StallBegan) if event.at <= said.at]
    if not stalls or any(stalls[-1].at <= ended.at <= said.at for ended in journal.of(StallEnded)):
        return False
    later = [group for group in journal.since(StepsEnded, said.at) if group.phase == "train"]
    fit, step = journal.last(FitBegan), stalls[-1].step
    is_counted_on = step >= 0 and (fit is None or fit.at < said.at)
    return not any(group.last >= step or not is_counted_on for group in later)


# Whether a program that no cause explains has been idle for so long that this itself must be said.
#
# Stuck is only what waits inside a framework, in a call of the user's own line: a server that waits for a request, a shell at
# its prompt and a notebook's kernel between two cells are idle as well, and nothing is wrong with them.


IDLE_S = 60.0  # a program that has done nothing for so long is called idle, or stuck
IDLE_CORES = 0.05  # what it may use meanwhile: some threads of frameworks look around now and then
_FRAMEWORK = re.compile(
    r"/(tensorflow|tensorflow_core|tensorflow_estimator|keras|tf_keras|torch|jax|flax|lightning|pytorch_lightning)/"
)
_SERVES = "/tensorflow/python/training/server_lib.py"  # a server of a cluster waits until it is ended


def read_idle_state(stall: Stall) -> str | None:
    """'stuck', 'idle', or None for one that has not been idle for long, as far as the kernel tells."""
    cores = stall.cpu_cores
    if stall.seconds < IDLE_S or stall.is_busy or cores is None or cores > IDLE_CORES:
        return None
    standing = [still for still in stall.still() if still.is_main]
    main = next((still for still in standing if is_main_thread(still)), None)
    stood = measure_standing_s(stall.threads, main.pid, main.thread["id"]) if main is not None else None
    if main is None or stood is None or math.isinf(stood) or stood < IDLE_S:
        return None
    return "stuck" if select_user_frames(main.thread) and any(map(is_waiting_in_framework, standing)) else "idle"


def read_polling_state(journal: Journal) -> str | None:
    """The same of a program that looks for something now and then and does nothing else: a server, or one that waits in vain.
    For how long it has done so is known only as far as it was looked at."""
    idle = journal.last(IdleSeen)
    sample = next((sample for sample in reversed(journal.of(StackSampled)) if sample.main), None)
    main = main_thread(sample) if sample is not None else None
    if idle is None or main is None:
        return None
    is_long = idle.at - idle.since >= IDLE_S
    return "stuck" if is_long and select_user_frames(main) and _is_in_framework(main) else "idle"


def measure_idle_s(journal: Journal) -> float | None:
    """For how long, at least, such a program has done nothing."""
    idle = journal.last(IdleSeen)
    return idle.at - idle.since if idle is not None else None


def is_main_thread(still: StuckThread) -> bool:
    main = main_thread(still.samples[-1])
    return main is not None and main["id"] == still.thread["id"]


def is_waiting_in_framework(still: StuckThread) -> bool:
    return _is_in_framework(still.thread)


def _is_in_framework(thread: ThreadStack) -> bool:
    files = [frame["file"] for frame in select_python_frames(thread)]
    return any(_FRAMEWORK.search(file) for file in files) and not any(_SERVES in file for file in files)
