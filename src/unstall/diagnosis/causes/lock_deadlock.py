"""Threads of the program wait for each other's locks, or one for a lock that it holds itself, so that none ever goes on.

What it is
----------
Two threads each hold a lock and want the other's; or a function takes a plain Lock and calls one that takes it again; or a
lock was taken and never given back. None of it raises an error: the threads wait for ever.

How we know
-----------
The program stands still and uses next to no CPU. A thread stands at a line that takes a lock, in every stack sample. The
program's own source around the lines of all stacks says which locks each thread holds: `with a:` around the line, or
`a.acquire()` before it. Where these close a ring, or a thread wants what it holds, the verdict is certain; where the
`acquire()` stands in a branch or has a timeout, or the two names may mean locks of two objects, it is likely.

When this is wrong
------------------
A plain lock may also be a sign: one thread takes it twice, and another gives it back when it is done. Where the source shows that
somebody gives it back who has not taken it, nothing is said as long as a thread goes on.

Locks are told apart by their names in the source. Two objects of one class have two locks of the same name: a thread that
holds the one and waits for the other may wait for a third thread, which is slow and not shown.

What to do
----------
Take locks in one order everywhere, or use one lock for both things. Where a function is called with the lock held, make the
lock a threading.RLock or move the call out of the `with`. Never acquire without a `with` or a try/finally.
"""

from __future__ import annotations

from unstall.diagnosis.causes.generator_blocked import find_input_frames
from unstall.diagnosis.dead_threads import find_dead_threads
from unstall.diagnosis.locks import (
    HeldLock,
    Waiter,
    can_be_given_back,
    find_cycle,
    find_double_lock,
    find_holders,
    find_waiters,
    is_for_a_thread,
    is_moving,
    is_one_object,
)
from unstall.diagnosis.stalls import Stall, find_idle_stall
from unstall.diagnosis.thread_waits import find_wait
from unstall.diagnosis.verdict import Certainty, Clear, Evidence, Found, Verdict
from unstall.journal.reader import Journal
from unstall.journal.stack_frames import find_program_folder, format_where

EXPLAINS = ("generator_blocked", "callback_blocked")


def examine(journal: Journal) -> Verdict:
    stall = find_idle_stall(journal)
    if not isinstance(stall, Stall):
        return stall
    waiting = [waiter for waiter in find_waiters(stall) if not _is_forked(stall, waiter)]
    if not waiting:
        return Clear("no thread waits for a lock")
    if not _training_waits(stall, waiting):
        return Clear("the thread that waits for a lock holds nobody up")
    folder = find_program_folder(journal)
    return (
        _ring(stall, waiting, folder)
        or _twice(stall, waiting, folder)
        or _held_by_a_waiting_thread(stall, waiting, folder)
        or _left_behind(journal, stall, waiting, folder)
    )


def _ring(stall: Stall, waiting: list[Waiter], folder: str) -> Found | None:
    ring = find_cycle(waiting)
    if not ring:
        return None
    first = min(ring, key=_distance_from_training)
    start = ring.index(first)
    ring = ring[start:] + ring[:start]
    held = [_held(waiter, ring[number - 1]) for number, waiter in enumerate(ring)]
    accounts = [
        f"{_name(waiter)} holds {held_lock.lock.name} and waits for {_wanted(waiter)} at {format_where(waiter.frame, folder)}"
        for waiter, held_lock in zip(ring, held, strict=True)
    ]
    evidence = [
        _evidence(f"{account}; it stands {_standing(waiter, held_lock, folder)} ({_count(waiter)})", waiter)
        for account, waiter, held_lock in zip(accounts, ring, held, strict=True)
    ]
    return Found(
        Certainty.CERTAIN if all(held_lock.is_sure for held_lock in held) else Certainty.LIKELY,
        f"{len(ring)} threads wait for each other's locks and none can go on. " + "; ".join(accounts) + ".",
        (*evidence, *_state(stall)),
        ("take these locks in the same order everywhere", "or guard both things with one lock"),
        format_where(first.frame, folder),
    )


def _standing(waiter: Waiter, held_lock: HeldLock, folder: str) -> str:
    """inside `with self.lock` of line 12, or: at a.py:20, inside … where a caller of the line took it"""
    return (
        held_lock.words if held_lock.frame is waiter.frame else f"at {format_where(held_lock.frame, folder)}, {held_lock.words}"
    )


def _twice(stall: Stall, waiting: list[Waiter], folder: str) -> Found | None:
    for waiter in waiting:
        held = find_double_lock(waiter)
        if held is None:
            continue
        own, sample = waiter.still.thread["id"], waiter.still.samples[-1]
        others = find_holders(stall, sample, waiter.wants, but=own)
        is_one = is_one_object(stall, waiter, held)
        if others and (not is_one or (not held.is_sure and any(other.is_sure for other in others))):
            continue
        if held.taken_by != "with" and can_be_given_back(stall, sample, [held.lock], own):
            continue  # a lock by which one thread waits for another
        place, name = format_where(waiter.frame, folder), held.lock.name
        is_caller = held.frame is not waiter.frame
        at = f"was called from {format_where(held.frame, folder)}, {held.words}" if is_caller else f"stands there {held.words}"
        return Found(
            Certainty.LIKELY if others or not (held.is_sure and is_one) else Certainty.CERTAIN,
            _account(waiter, held, place, at, is_one),
            (_evidence(f"it stands at {place} and {at} ({_count(waiter)})", waiter), *_state(stall)),
            (f"make {name} a threading.RLock", _advise_separately(held, is_caller)),
            place,
        )
    return None


def _account(waiter: Waiter, held: HeldLock, place: str, at: str, is_one: bool) -> str:
    """What the source leaves open is told as open."""
    name, who = held.lock.name, _name(waiter)
    if held.is_sure and is_one:
        return f"{who} takes {name} at {place} although it holds it already: it {at}. A plain Lock cannot be taken twice."
    may_be_two = "" if is_one else f" {name} may also be the locks of two objects: then who holds this one was not seen."
    return f"{who} waits for {name} at {place} and may hold it already: it {at}. A plain Lock cannot be taken twice.{may_be_two}"


def _advise_separately(held: HeldLock, is_caller: bool) -> str:
    """How the two takings are kept apart, in the words of the program's own source."""
    after = f"the `with {held.lock.name}`" if held.taken_by == "with" else f"`{held.lock.name}.release()`"
    return f"or call that function only after {after}" if is_caller else "or take it once"


def _held_by_a_waiting_thread(stall: Stall, waiting: list[Waiter], folder: str) -> Found | None:
    """One waits for a lock, and who holds it waits for another thread's work: most likely for that of the first."""
    for waiter in sorted(waiting, key=_distance_from_training):
        for held_lock in find_holders(stall, waiter.still.samples[-1], waiter.wants, but=waiter.still.thread["id"]):
            other = next((still for still in stall.still() if still.thread["id"] == held_lock.thread["id"]), None)
            words = find_wait(other.thread, other.call) if other else None
            both = {waiter.still.thread["id"], held_lock.thread["id"]}
            if is_for_a_thread(words) and not is_moving(stall, waiter.still.samples[-1], both):
                return _held_up(stall, waiter, held_lock, str(words), folder)
    return None


def _held_up(stall: Stall, waiter: Waiter, held_lock: HeldLock, words: str, folder: str) -> Found:
    place, at = format_where(waiter.frame, folder), format_where(held_lock.frame, folder)
    holder = held_lock.thread["name"] or "another thread"
    return Found(
        Certainty.LIKELY,
        f"{_name(waiter)} waits for {held_lock.lock.name} at {place}. {holder} holds it at {at} and itself waits for {words}.",
        (
            _evidence(f"it stands at {place} ({_count(waiter)})", waiter),
            _evidence(f"{holder} stands at {at}, {held_lock.words}", waiter),
            *_state(stall),
        ),
        (f"do not wait for {words} while holding {held_lock.lock.name}",),
        place,
    )


def _left_behind(journal: Journal, stall: Stall, waiting: list[Waiter], folder: str) -> Verdict:
    """Nobody's stack shows that it holds the lock: it was taken and not given back."""
    for waiter in sorted(waiting, key=_distance_from_training):
        own, sample = waiter.still.thread["id"], waiter.still.samples[-1]
        if (
            not waiter.wants
            or find_holders(stall, sample, waiter.wants, but=own)
            or can_be_given_back(stall, sample, waiter.wants, own)
        ):
            continue
        place = format_where(waiter.frame, folder)
        return Found(
            Certainty.LIKELY,
            f"{_name(waiter)} waits for {_wanted(waiter)} at {place}, and no thread stands inside a `with` of it or after its"
            " `acquire()` in one function. Most likely it was taken and not given back.",
            (
                _evidence(f"it stands at {place} ({_count(waiter)})", waiter),
                *_state(stall),
                *[dead.evidence for dead in find_dead_threads(journal, stall, folder)[:2] if waiter.still.is_main],
            ),
            (f"take {_wanted(waiter)} only by `with`, so that an error gives it back too",),
            place,
        )
    return Clear("who holds the lock works, or waits for something outside the program")


def _is_forked(stall: Stall, waiter: Waiter) -> bool:
    """A lock that came locked into a forked child is another cause."""
    return any(child.pid == waiter.still.pid and child.forked for child in stall.relatives)


def _training_waits(stall: Stall, waiting: list[Waiter]) -> bool:
    """Whether the training can be waiting for one of these threads."""
    if any(waiter.still.thread["name"] == "MainThread" or find_input_frames(waiter.still.thread) for waiter in waiting):
        return True
    mains = [
        still
        for still in stall.still()
        if still.is_main and (still.thread["name"] == "MainThread" or find_input_frames(still.thread))
    ]
    return any(is_for_a_thread(find_wait(still.thread, still.call)) for still in mains)


def _distance_from_training(waiter: Waiter) -> int:
    return 0 if waiter.still.thread["name"] == "MainThread" else 1 if find_input_frames(waiter.still.thread) else 2


def _name(waiter: Waiter) -> str:
    name = waiter.still.thread["name"]
    if name == "MainThread":
        return "The main thread"
    return f"Thread {name}" if name else "The input's thread" if find_input_frames(waiter.still.thread) else "A thread"


def _wanted(waiter: Waiter) -> str:
    return " or ".join(lock.name for lock in waiter.wants) or "a lock"


def _held(waiter: Waiter, wanted_by: Waiter) -> HeldLock:
    """In a ring there is one: it is what makes it a ring."""
    return next(held_lock for held_lock in waiter.holds if any(held_lock.lock.is_same(lock) for lock in wanted_by.wants))


def _count(waiter: Waiter) -> str:
    return f"{len(waiter.still.samples)} of {len(waiter.still.samples)} samples"


def _evidence(claim: str, waiter: Waiter) -> Evidence:
    return Evidence(claim, waiter.frame["line"], None, waiter.still.samples)


def _state(stall: Stall) -> list[Evidence]:
    idle = stall.idleness()
    return [*([idle] if idle else []), stall.lateness()]
