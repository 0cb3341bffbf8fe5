"""Who waits for which lock, and who holds it: from the stacks and from the source lines at which threads stand."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass
from itertools import pairwise, zip_longest

from unstall.diagnosis.stalls import Stall, StuckThread
from unstall.diagnosis.thread_waits import find_wait
from unstall.journal.events import Frame, StackSampled, ThreadStack
from unstall.journal.stack_frames import is_native, is_user_file, select_python_frames, select_user_frames

_TAKING = frozenset({"acquire", "__enter__", "_acquireLock", "_acquire_lock"})
_LOCK_FILES = ("threading.py", "multiprocessing/synchronize.py", "logging/__init__.py", "<frozen importlib._bootstrap>")
_FOR_A_THREAD = (
    "a queue",
    "room in a queue",
    "a future",
    "a thread to end",
    "an event that another thread must set",
    "another thread",
    "a pool of worker processes",
)  # of the program, which alone ends such a wait
_NATIVE_WAITS = ("PyThread_acquire_lock", "rlock_acquire", "semlock", "SemLock")


@dataclass(frozen=True)
class Lock:
    """A lock as the source names it. Locks of the same name in two classes are two locks."""

    name: str
    owner: str  # the class of the method that says `self`, else ""

    def is_same(self, other: Lock) -> bool:
        if self.name.rsplit(".", 1)[-1] != other.name.rsplit(".", 1)[-1]:
            return False
        return not self.owner or not other.owner or self.owner == other.owner


@dataclass(frozen=True)
class HeldLock:
    lock: Lock
    frame: Frame  # where the thread stands, or has called from
    thread: ThreadStack
    taken_at: int = 0  # the line of the same file that takes it; 0: not known
    taken_by: str = ""  # with | acquire | maybe; empty: not known

    @property
    def is_sure(self) -> bool:
        """Whether the source leaves no doubt: a call in a branch, or one with a timeout, may not have taken it."""
        return self.taken_by != "maybe"

    @property
    def words(self) -> str:
        """inside `with self.lock` of line 12 | after `self.lock.acquire()` in line 12"""
        if self.taken_by == "with":
            return f"inside `with {self.lock.name}` of line {self.taken_at}"
        if self.taken_by:
            return f"after `{self.lock.name}.acquire()` in line {self.taken_at}"
        return f"in code that holds {self.lock.name}"


@dataclass(frozen=True)
class Waiter:
    """A thread that does not get a lock."""

    still: StuckThread
    frame: Frame  # the user's line that wants it
    wants: tuple[Lock, ...]  # empty where the source does not name it
    holds: tuple[HeldLock, ...]


def find_waiters(stall: Stall) -> list[Waiter]:
    return [waiter for still in stall.still() if (waiter := as_waiter(stall, still)) is not None]


def as_waiter(stall: Stall, still: StuckThread) -> Waiter | None:
    """None if the thread waits for something else than a lock."""
    users = select_user_frames(still.thread)
    if not users or not is_taking_a_lock(stall, still):
        return None
    source = stall.source(users[0]["file"], users[0]["line"])
    wants = tuple(_lock(name, users[0]) for name in source.awaits) if source else ()
    return Waiter(still, users[0], wants, _held_meanwhile(stall, still.thread, users[0]))


def is_taking_a_lock(stall: Stall, still: StuckThread) -> bool:
    """By the library's own acquire, or by a line of the user's that takes a lock with nothing of Python's above it."""
    python = [frame for frame in still.thread["frames"] if not is_native(frame)]
    if not python or (still.call is not None and still.call != "futex"):
        return False
    inner = python[0]
    if is_user_file(inner["file"]):
        source = stall.source(inner["file"], inner["line"])
        native = [frame for frame in still.thread["frames"] if is_native(frame)]
        if native:
            return bool(source and source.awaits) and any(name in frame["function"] for frame in native for name in _NATIVE_WAITS)
        return bool(source and source.awaits)
    return _takes(inner)  # the innermost: a semaphore or a condition waits deeper, and is no lock


def _takes(frame: Frame) -> bool:
    return frame["function"].rsplit(".", 1)[-1] in _TAKING and any(frame["file"].endswith(part) for part in _LOCK_FILES)


def find_held_locks(stall: Stall, thread: ThreadStack) -> Iterator[HeldLock]:
    """The locks that a thread holds, by the source around the lines of its stack."""
    for frame in select_user_frames(thread):
        source = stall.source(frame["file"], frame["line"])
        if source is None:
            continue
        for name, line, by in zip_longest(
            source.holds, source.taken_at[: len(source.holds)], source.taken_by[: len(source.holds)]
        ):
            yield HeldLock(_lock(name, frame), frame, thread, line or 0, by or "")


def _held_meanwhile(stall: Stall, thread: ThreadStack, taking: Frame) -> tuple[HeldLock, ...]:
    """The locks that a thread holds while it takes another: not those of `with lock: work()`, whose work has not begun."""
    held = list(find_held_locks(stall, thread))
    source = stall.source(taking["file"], taking["line"])
    for name in source.either if source else ():
        not_yet = [each for each in held if each.frame is taking and each.lock.name == name]
        held = [each for each in held if not not_yet or each is not not_yet[-1]]
    return tuple(held)


def find_holders(stall: Stall, sample: StackSampled, locks: Iterable[Lock], but: int) -> list[HeldLock]:
    """Who, except one thread, holds one of these locks."""
    wanted = list(locks)
    return [
        held_lock
        for thread in sample.threads
        if thread["id"] != but
        for held_lock in find_held_locks(stall, thread)
        if any(held_lock.lock.is_same(lock) for lock in wanted)
    ]


def can_be_given_back(stall: Stall, sample: StackSampled, locks: Iterable[Lock], but: int) -> bool:
    """Whether the program gives one of these locks back where it has not taken it, and a thread goes on that may come to that."""
    names = {lock.name.rpartition(".")[2] for lock in locks}
    is_handed = any(names & set(source.handed) for source in stall.sources)
    return is_handed and is_moving(stall, sample, {but})


def is_moving(stall: Stall, sample: StackSampled, but: Set[int]) -> bool:
    """Whether another thread runs the user's code, or is to, and is not seen to wait for a thread itself."""
    standing = {still.thread["id"]: still for still in stall.still() if still.pid == sample.pid}
    for thread in sample.threads:
        if thread["id"] in but or not (select_user_frames(thread) or _is_timer(thread)):
            continue
        still = standing.get(thread["id"])
        if still is None or _is_timer(thread) or not _waits_for_a_thread(still):
            return True
    return False


def is_for_a_thread(words: str | None) -> bool:
    """Whether such a wait is ended by another thread of the program alone."""
    return words in _FOR_A_THREAD


def _waits_for_a_thread(still: StuckThread) -> bool:
    words = find_wait(still.thread, still.call)
    return is_for_a_thread(words) or words == "a lock" or (words is None and still.call == "futex")


def _is_timer(thread: ThreadStack) -> bool:
    """A threading.Timer until its time has come, which has no code of the user's on its stack; or the loop of asyncio."""
    frames = select_python_frames(thread)
    in_loop = any(frame["file"].endswith("asyncio/base_events.py") for frame in frames)
    waits = bool(frames) and all(frame["file"].endswith("threading.py") for frame in frames)
    return in_loop or (waits and any(frame["function"].rpartition(".")[2] == "run" for frame in frames))


def find_cycle(waiting: list[Waiter]) -> list[Waiter]:
    """Threads of one process each of which waits for a lock that the next one holds, the last for one of the first's."""
    for start in waiting:
        chain = _chain(start, waiting, [start])
        if chain:
            return chain
    return []


def _chain(start: Waiter, waiting: list[Waiter], so_far: list[Waiter]) -> list[Waiter]:
    last = so_far[-1]
    if len(so_far) > 1 and _waits_for(last, start):
        return so_far
    for other in waiting:
        if other.still.pid == start.still.pid and all(other is not each for each in so_far) and _waits_for(last, other):
            found = _chain(start, waiting, [*so_far, other])
            if found:
                return found
    return []


def _waits_for(waiter: Waiter, other: Waiter) -> bool:
    return any(held_lock.lock.is_same(lock) for lock in waiter.wants for held_lock in other.holds)


def find_double_lock(waiter: Waiter) -> HeldLock | None:
    """The lock that a thread wants although it holds it already."""
    return next((held_lock for held_lock in waiter.holds for lock in waiter.wants if held_lock.lock.is_same(lock)), None)


def is_one_object(stall: Stall, waiter: Waiter, held: HeldLock) -> bool:
    """Whether the lock of this name that the thread holds is the one that it waits for: two objects of a class have a lock each,
    and two calls of a function what each was given. Both names stand in one call, or mean what all calls share, or each call from
    the one place to the other is a call of `self`."""
    if held.frame is waiter.frame:
        return True
    if held.frame["file"] != waiter.frame["file"] or held.lock.name not in {lock.name for lock in waiter.wants}:
        return False
    users = select_user_frames(waiter.still.thread)
    between = users[_index(users, waiter.frame) : _index(users, held.frame) + 1]
    if held.lock.name.startswith("self."):
        return all(_is_call_of_self(stall, caller, callee) for callee, caller in pairwise(between))
    read = [stall.source(frame["file"], frame["line"]) for frame in (waiter.frame, held.frame)]
    return all(source is not None and held.lock.name not in source.bound for source in read)


def _index(frames: list[Frame], wanted: Frame) -> int:
    return next(number for number, frame in enumerate(frames) if frame is wanted)


def _is_call_of_self(stall: Stall, caller: Frame, callee: Frame) -> bool:
    source = stall.source(caller["file"], caller["line"])
    function = callee["function"].rsplit(".", 1)[-1]
    return source is not None and bool(re.search(rf"\b(?:self|super\(\))\.{re.escape(function)}\(", source.text))


def _lock(name: str, frame: Frame) -> Lock:
    first = frame["function"].split(".", 1)
    return Lock(name, first[0] if name.startswith("self.") and len(first) > 1 and first[0] != "<locals>" else "")
