"""Where a program is that no cause explains: the line of each thread, whether it runs or waits, and in which system call.

A thread is told with the user's own innermost line, in how many of the samples it stood there, and, of a wait, with what the
kernel says of it. Threads without Python are told where they sit in a call that waits for a file or a connection.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection
from typing import Any

from unstall.base.formatting import format_duration
from unstall.diagnosis.errors.fatal_error import find_fatal_error
from unstall.diagnosis.stalls import find_current_stall
from unstall.diagnosis.thread_waits import find, find_awaited_thing, find_sleep_call, measure_standing_s
from unstall.journal.events import (
    Frame,
    ProcessEnded,
    RunStarted,
    SourceRead,
    StackSampled,
    StallBegan,
    StallEnded,
    ThreadsSeen,
    ThreadStack,
)
from unstall.journal.reader import Journal
from unstall.journal.stack_frames import (
    find_program_folder,
    format_place,
    get_position,
    is_native,
    is_user_file,
    main_thread,
    select_python_frames,
    select_user_frames,
)

MAX_LINES = 6
MIN_WAIT_S = 1.0  # that is worth its time
SAME_LOOK_S = 2.0  # between a sample of the stacks and what the kernel says of the same threads
# What a thread without Python may sit in that tells something; a futex or a poll is where idle ones always are.
_DISTINCTIVE_CALLS = frozenset(
    {"read", "pread64", "readv", "write", "open", "openat", "stat", "newfstatat", "flock", "fcntl", "fsync"}
    | {"connect", "recvfrom", "recvmsg", "sendto", "sendmsg"}
)


def describe_threads(journal: Journal) -> list[dict[str, Any]]:
    """Of a process that was attached to, of a program in a stall, and of one that ended badly as it was seen last; the main
    thread first. Empty where no stack was seen."""
    samples, looks = _looked_at(journal)
    if not samples:
        return _last_look(journal)
    return _thread_rows(journal, samples, looks)


def _last_look(journal: Journal) -> list[dict[str, Any]]:
    """Of a program that was ended, or ended with an error, while it moved: each process by its last sample, with its age."""
    ended = journal.last(ProcessEnded)
    if ended is None or (ended.signal is None and not ended.exit_code):
        return []
    last = {sample.pid: sample for sample in journal.of(StackSampled) if sample.threads}
    rows = []
    for sample in last.values():
        looks = [look for look in journal.of(ThreadsSeen) if abs(look.at - sample.at) < SAME_LOOK_S]
        rows += [
            {**row, "duration_s": None, "before_end_s": max(0.0, ended.at - sample.at)}
            for row in _thread_rows(journal, [sample], looks)
        ]
    return rows


def _thread_rows(journal: Journal, samples: list[StackSampled], looks: list[ThreadsSeen]) -> list[dict[str, Any]]:
    by_pid: dict[int, list[StackSampled]] = {}
    for sample in samples:
        by_pid.setdefault(sample.pid, []).append(sample)
    folder = find_program_folder(journal)
    rows = [row for group in by_pid.values() for row in _rows(group, looks, folder)]
    rows += [row for group in by_pid.values() if group[-1].main for row in _without_python(group, looks)]
    return sorted(rows, key=lambda row: (not row["main"], not row["is_user_code"], row["state"] != "runs", not row["call"]))


def describe_stacks(journal: Journal) -> list[dict[str, Any]]:
    """Each thread of the last sample of each process, whole, innermost frame first; with native frames where there are some."""
    folder = find_program_folder(journal)
    last: dict[int, StackSampled] = {}
    for sample in _looked_at(journal)[0]:
        known = last.get(sample.pid)
        if known is None or sample.native or not known.native:
            last[sample.pid] = sample
    return [
        {
            "pid": sample.pid,
            "id": thread["id"],
            "name": thread["name"],
            "active": thread["active"],
            "frames": [
                {
                    "function": frame["function"],
                    "where": frame["module"] if is_native(frame) else format_place(frame["file"], frame["line"], folder),
                }
                for frame in thread["frames"]
            ],
        }
        for sample in last.values()
        for thread in sample.threads
    ]


def _looked_at(journal: Journal) -> tuple[list[StackSampled], list[ThreadsSeen]]:
    """The samples of this attach, with those that another remembered of the kernel's; else those of the stall."""
    started, stall = journal.last(RunStarted), find_current_stall(journal)
    if started is not None and started.mode == "attach":
        return list(journal.since(StackSampled, started.at)), list(journal.of(ThreadsSeen))
    return ([*stall.samples, *stall.children], list(stall.threads)) if stall is not None else ([], [])


def _rows(samples: list[StackSampled], looks: list[ThreadsSeen], folder: str) -> list[dict[str, Any]]:
    last = samples[-1]
    main = main_thread(last)
    return [_row(thread, samples, looks, folder, last.main and thread is main) for thread in last.threads if get_position(thread)]


def _row(thread: ThreadStack, samples: list[StackSampled], looks: list[ThreadsSeen], folder: str, main: bool) -> dict[str, Any]:
    pid, number = samples[-1].pid, thread["id"]
    of_thread = [each for sample in samples for each in sample.threads if each["id"] == number]
    counts = Counter(_line(each, folder) for each in of_thread)
    (where, function, is_user_code), count = counts.most_common(1)[0]
    runs = 2 * sum(each["active"] for each in of_thread) >= len(of_thread)
    call, on, _ = (None, None, "") if runs else find_sleep_call(looks, pid, number)
    stood = None if runs else measure_standing_s(looks, pid, number)
    return {
        "pid": pid,
        "id": number,
        "name": thread["name"] or ("MainThread" if main else f"thread {number}"),
        "main": main,
        "state": "runs" if runs else "waits",
        "awaits": None if runs else find_awaited_thing(thread),
        "where": where,
        "function": function,
        "is_user_code": is_user_code,
        "samples": count,
        "total_samples": len(samples),
        "call": call,
        "on": on,
        "duration_s": stood if stood is not None and math.isfinite(stood) else None,
    }


def _line(thread: ThreadStack, folder: str) -> tuple[str, str, bool]:
    """The user's innermost line; where none of the user's code is in the stack, the innermost of all."""
    users = select_user_frames(thread)
    frames = users or select_python_frames(thread)
    return (
        (format_place(frames[0]["file"], frames[0]["line"], folder), frames[0]["function"], bool(users))
        if frames
        else ("", "", False)
    )


def _without_python(samples: list[StackSampled], looks: list[ThreadsSeen]) -> list[dict[str, Any]]:
    pid = samples[-1].pid
    known = {thread["id"] for sample in samples for thread in sample.threads if get_position(thread)}
    newest = next((look for look in reversed(looks) if look.pid == pid), None)
    rows = []
    for thread in newest.threads if newest is not None else []:
        call, on, name = find_sleep_call(looks, pid, thread["id"])
        stood = measure_standing_s(looks, pid, thread["id"])
        is_long = stood is not None and MIN_WAIT_S <= stood < math.inf
        if (
            thread["id"] in known
            or call not in _DISTINCTIVE_CALLS
            or not is_long
            or not _is_in_it(looks, pid, thread["id"], call)
        ):
            continue
        rows.append(
            {"pid": pid, "id": thread["id"], "name": name or f"thread {thread['id']}", "main": False, "state": "waits",
             "awaits": None, "where": None, "function": None, "is_user_code": False, "samples": 0,
             "total_samples": len(samples), "call": call, "on": on, "duration_s": stood}
        )  # fmt: skip
    return rows


def _is_in_it(looks: list[ThreadsSeen], pid: int, thread: int, call: str | None) -> bool:
    """In every look in which the kernel tells its call."""
    calls = [row["call"] for look in looks if look.pid == pid and (row := find(look, thread)) is not None]
    return all(each in (call, None) for each in calls)


# --- in words ---


def format_lines(rows: list[dict[str, Any]], is_over: bool = False) -> list[str]:
    """A sentence for the main thread, for each in which the user's code stands or that runs, and for each in a telling call.
    `is_over`: the program has ended, so nobody can attach to it any more."""
    shown = [row for row in rows if row["main"] or row["is_user_code"] or row["state"] == "runs" or row["where"] is None]
    entries = [describe_thread(row) for row in shown[:MAX_LINES]]
    left = len(rows) - len(entries)
    where = "story.json in the run folder" if is_over else "unstall attach --dump"
    return [*entries, f"{left} more thread{'s' if left > 1 else ''}: {where}"] if left and entries else entries


def describe_thread(row: dict[str, Any]) -> str:
    """MainThread waits at train.py:12 in load (4 of 4 samples), in the system call openat on /data/1.jpg, for 1 min 2 s"""
    before_end_s = row.get("before_end_s")
    state = row["state"] if before_end_s is None else {"runs": "ran", "waits": "waited"}[row["state"]]
    words = f"{row['name']} {state}" + (f" for {row['awaits']}" if row.get("awaits") else "")
    if row["where"]:
        words += f" at {row['where']} in {row['function']}"
        words += f" ({row['samples']} of {row['total_samples']} samples)" if before_end_s is None else ""
    else:
        words += f" (thread {row['id']}, which runs no Python)"
    if row["call"]:
        words += f", in the system call {row['call']}" + (f" on {row['on']}" if row["on"] else "")
    if before_end_s is not None:
        return f"{words}, {format_duration(before_end_s)} before the end"
    return words + (
        f", for {format_duration(row['duration_s'])}" if row["duration_s"] is not None and row["duration_s"] >= MIN_WAIT_S else ""
    )


def dump_lines(rows: list[dict[str, Any]], entries: list[dict[str, Any]]) -> list[str]:
    """Each thread with its whole stack: `rows` of describe_stacks(), and what describe_threads() says of them."""
    sentences = {(row["pid"], row["id"]): describe_thread(row) for row in entries}
    result = []
    for row in rows:
        head = sentences.get((row["pid"], row["id"]), row["name"] or "a thread")
        result += ["", f"Process {row['pid']}, thread {row['id']}: {head}"]
        result += [f"    {frame['function']} ({frame['where']})" for frame in row["frames"]]
    return result


# Where a program stood: its stacks at each stall and at the error that ended it, the user's own lines before all others.


MAX_STALLS = 4
MAX_THREADS = 10
MAX_FRAMES = 40
MAX_LETTERS = 240  # of a name
MAX_MESSAGE = 4000


def list_stalls(journal: Journal, named: Collection[str | None] = ()) -> list[dict[str, Any]]:
    """The last ones first. `named` are the places that the verdicts name: the threads that stand there come before all others."""
    rows = []
    ends = journal.of(StallEnded)
    for began in reversed(journal.of(StallBegan)[-MAX_STALLS:]):
        ended = next((event for event in ends if event.at >= began.at), None)
        until = ended.at if ended is not None else journal.now
        rows.append(
            {
                "at": began.since,
                "phase": began.phase,
                "step": began.step if began.step >= 0 else None,
                "seconds": max(0.0, until - began.since),
                "goes_on": ended is None,
                "threads": _threads(journal, began.since, until, named),
            }
        )
    return rows


def _threads(journal: Journal, since: float, until: float, named: Collection[str | None]) -> list[dict[str, Any]]:
    """The last sample of each process, with native frames if there is one. Threads in which the user's code stands come first."""
    samples: dict[int, StackSampled] = {}
    for sample in journal.of(StackSampled):
        known = samples.get(sample.pid)
        if since <= sample.at <= until and (known is None or sample.native or not known.native):
            samples[sample.pid] = sample
    source = _source(journal)
    folder = find_program_folder(journal)
    rows = [_thread(thread, sample, source, folder) for sample in samples.values() for thread in sample.threads]
    rows.sort(
        key=lambda row: (
            not any(frame["where"] in named for frame in row["user_frames"]),
            not row["user_frames"],
            not row["main"],
        )
    )
    return rows[:MAX_THREADS]


def _source(journal: Journal) -> dict[tuple[str, int], str]:
    return {(read.file, read.line): read.text for read in journal.of(SourceRead)}


def _thread(thread: ThreadStack, sample: StackSampled, source: dict[tuple[str, int], str], folder: str) -> dict[str, Any]:
    return {
        "name": thread["name"][:MAX_LETTERS] or f"thread {thread['id']}",
        "main": sample.main and thread["name"] == "MainThread",
        "pid": sample.pid,
        "active": thread["active"],
        **_describe_stack(thread["frames"], source, folder),
    }


def _describe_stack(frames: list[Frame], source: dict[tuple[str, int], str], folder: str) -> dict[str, Any]:
    """All frames, innermost first, and those of the user's own again, with the text of their lines as far as it was read."""
    rows = [_frame(frame, source, folder) for frame in frames]
    return {
        "user_frames": [row for row in rows if row["is_user_code"]][:MAX_FRAMES],
        "frames": rows[:MAX_FRAMES],
        "frames_left_out": max(0, len(rows) - MAX_FRAMES),
    }


def _frame(frame: Frame, source: dict[tuple[str, int], str], folder: str) -> dict[str, Any]:
    native = is_native(frame)
    return {
        "function": frame["function"][:MAX_LETTERS],
        "where": frame["module"] if native else format_place(frame["file"], frame["line"], folder),
        "is_user_code": not native and is_user_file(frame["file"]),
        "text": source.get((frame["file"], frame["line"]), "")[:MAX_LETTERS],
    }


def describe_error(journal: Journal) -> dict[str, Any] | None:
    """The error that ended the program."""
    fatal = find_fatal_error(journal)
    if fatal is None:
        return None
    return {
        "at": fatal.at,
        "kind": fatal.kind,
        "message": fatal.message[:MAX_MESSAGE],
        "chain": [text[:MAX_MESSAGE] for text in fatal.chain[:5]],
        "thread": fatal.thread,
        **_describe_stack(fatal.frames, _source(journal), find_program_folder(journal)),
    }
