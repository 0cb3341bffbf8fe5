"""A thread of the framework itself reads a data file and does not come back, and the training waits for it.

What it is
----------
The readers of an input pipeline (of `tf.data`, for example) are threads that run no Python. One of them opens or reads a file
that does not answer: a named pipe into which nobody writes, a file on a network disk whose server is gone, a mounted bucket
that waits. No error is raised, and no Python stack shows it.

How we know
-----------
No step has ended for much longer than the run's history allows, the program uses next to no CPU, and the main thread waits inside
a framework. The kernel says that a thread without any Python frame has slept in the opening or in the reading of a file all the
while, and of which.

When this is wrong
------------------
If the file is merely slow, by more than all that the run has shown before. When it goes on, the verdict is taken back.

What to do
----------
Read the file that is named with `head -c 100`: if that does not return either, the file or its disk is to blame. Correct the
pattern that takes it in, or mount the disk anew, and copy the data to a local disk before the training.
"""

from __future__ import annotations

from dataclasses import dataclass

from unstall.base.formatting import format_duration
from unstall.diagnosis.stalls import Stall, StuckThread, find_idle_stall, is_main_thread, is_waiting_in_framework
from unstall.diagnosis.thread_waits import LONG_S, OPENS, find, find_sleep_call, measure_standing_s
from unstall.diagnosis.verdict import Certainty, Clear, Evidence, Found, Verdict
from unstall.journal.events import ThreadsSeen
from unstall.journal.reader import Journal
from unstall.journal.stack_frames import find_program_folder, format_where, get_position, select_program_frames

MIN_LOOKS = 2  # at the threads, in all of which one stands in the same call on the same file

EXPLAINS = ("input_starved", "storage_slow", "collective_stuck")
_READS = ("read", "readv", "pread64")
_NO_DATA = ("/dev/", "/proc/", "/sys/", "/memfd:")  # devices, and what the kernel itself shows


@dataclass(frozen=True)
class _Reader:
    path: str
    opens: bool
    seconds: float
    looks: tuple[ThreadsSeen, ...]


def examine(journal: Journal) -> Verdict:
    stall = find_idle_stall(journal)
    if not isinstance(stall, Stall):
        return stall
    main = next((still for still in stall.still() if still.is_main and is_main_thread(still)), None)
    if main is None or not is_waiting_in_framework(main):
        return Clear("the main thread does not wait inside a framework")
    readers = _readers(stall, main.pid)
    if not readers:
        return Clear("no thread of a framework stands in the reading of a file")
    return _found(journal, stall, main, readers)


def _readers(stall: Stall, pid: int) -> list[_Reader]:
    """The threads without Python frames that sleep in a call on a file, the longest first."""
    python = {thread["id"] for sample in stall.samples if sample.pid == pid for thread in sample.threads if get_position(thread)}
    looks = [seen for seen in stall.threads if seen.pid == pid]
    found = []
    for row in looks[-1].threads if len(looks) >= MIN_LOOKS else []:
        number = row["id"]
        call, path, _ = find_sleep_call(looks, pid, number)
        stood = measure_standing_s(looks, pid, number)
        if number in python or call not in (*OPENS, *_READS) or stood is None or not LONG_S <= stood < float("inf"):
            continue
        if path is None or not path.startswith("/") or path.startswith(_NO_DATA) or not _stays(looks, number, path):
            continue
        found.append(_Reader(path, call in OPENS, stood, tuple(looks)))
    return sorted(found, key=lambda reader: -reader.seconds)


def _stays(looks: list[ThreadsSeen], number: int, path: str) -> bool:
    """Whether it had the same file in every look; one that a native sample interrupts has none for a moment."""
    rows = [row for look in looks if (row := find(look, number)) is not None]
    return len(rows) >= MIN_LOOKS and all(row.get("on") in (path, None) for row in rows)


def _found(journal: Journal, stall: Stall, main: StuckThread, readers: list[_Reader]) -> Found:
    folder = find_program_folder(journal)
    frames = select_program_frames(main.thread)
    at = format_where(frames[0], folder) if frames else None
    first = readers[0]
    does = "opening" if first.opens else "reading"
    others = [reader.path for reader in readers[1:] if reader.path != first.path]
    also = f" Others do not come back from {', '.join(dict.fromkeys(others))}." if others else ""
    waits = f" The main thread waits at {at}." if at else ""
    since = f" since step {stall.began.step}" if stall.began.step >= 0 else ""
    evidence = [
        Evidence(
            f"a thread of the framework has slept for {format_duration(first.seconds)} in {does} {first.path}",
            first.seconds,
            LONG_S,
            first.looks,
        ),
        stall.lateness(),
    ]
    idle = stall.idleness()
    if idle is not None:
        evidence.insert(1, idle)
    return Found(
        certainty=Certainty.CERTAIN,
        summary=f"The program has not gone on{since}: {does} {first.path} does not return, in a thread of the framework."
        f"{also}{waits}",
        evidence=tuple(evidence),
        actions=(
            f"try it yourself: head -c 100 {first.path}",
            "leave the file out of the pattern or list that takes it in, or repair the disk or mount that it lies on",
            "or copy the data to a local disk before the training",
        ),
        where=at,
    )
