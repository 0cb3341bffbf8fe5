"""One run as a row of the list, plain data: from its story where that tells all, and from its journal while it goes on.

A run that has ended is read once. Of a long journal only the begin and the end are read; then only what is added to it.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from unstall.board.status import ENDED_STATES, FRESH_S, RunStatus, compute_late_s, is_live
from unstall.diagnosis.workers.snapshot import WorkerSnapshot, describe_worker
from unstall.journal.reader import JOURNAL_FILES, Tail, UnreadLines
from unstall.journal.run_folder import RunFolder, explain_unreadable
from unstall.report.story.outcome import FOUND
from unstall.report.terminal.story import format_failure, format_outcome
from unstall.training import summary

Row = dict[str, Any]
HEAD_BYTES = 2**16  # what a run was started with stands in its first lines
TAIL_BYTES = 2**18
STORY_WITHIN_S = 2.0  # of the last event, the story of a run that has ended is written
SEEN_TWICE_S = 3.0  # between two diagnoses there are at least five seconds
MAX_LETTERS = 200
DAMAGED = (TypeError, ValueError, KeyError, AttributeError, ArithmeticError, IndexError)  # what odd values in a journal lead to
# States from the most urgent; the colour that says so
TONES = {
    "stuck": "alarm", "failed": "bad", "killed": "bad", "idle": "warn", "slow": "warn", "interrupted": "warn", "repaired": "good",
    "training": "good", "running": "good", "starting": "good", "done": "quiet", "ended": "quiet", "unknown": "quiet",
}  # fmt: skip


@dataclass
class Reader:
    """Of one run folder, again and again."""

    run: RunFolder
    status: RunStatus = field(default_factory=RunStatus)
    snapshot: WorkerSnapshot = field(default_factory=lambda: WorkerSnapshot(""))
    row: Row = field(default_factory=dict)
    is_over: bool = False  # nothing more will come, unless the folder changes
    _is_closed: bool = False  # to us: a permission that is given later changes no time of the folder
    _tails: dict[Path, Tail] = field(default_factory=dict)
    _story: dict[str, Any] = field(default_factory=dict)
    _story_at: float = 0.0

    def read(self, now: float | None = None) -> Row:
        now = time.time() if now is None else now
        try:
            self.row = self._read(now)
        except (*DAMAGED, OSError) as error:
            self.row = {**_nothing_known(self.run, now), "note": f"its journal cannot be read: {type(error).__name__}: {error}"}
        self.snapshot.run, self.snapshot.heard_at = self.run.name, self.row["changed_at"]
        self.snapshot.late_s = compute_late_s(self.run)
        self.row["distributed"] = describe_worker(self.snapshot)
        self.is_over = self.row["state"] in {*ENDED_STATES, "unknown"} and not self._is_closed
        return self.row

    def _read(self, now: float) -> Row:
        why = explain_unreadable(self.run.path)
        self._is_closed = why is not None
        if why is not None:
            return {**_nothing_known(self.run, self.run.path.stat().st_mtime), "note": f"it cannot be read: {why}"}
        self._read_story()
        journals = sorted(self.run.path.glob(JOURNAL_FILES))
        written = [path.stat().st_mtime for path in journals if path.exists()]
        newest = max([*written, self._story_at]) or self.run.path.stat().st_mtime
        if self._is_story_complete(newest):
            self._take_story()
            return _of_story(self.run, self._story, newest)
        self._take(journals)
        status = self.status
        if not status.last_at:
            unread = [tail.unread for tail in self._tails.values() if tail.unread is not None]
            is_new = now - newest < FRESH_S and not self._story_at and not unread
            about_to = (
                {"is_live": True, "state": "starting", "tone": TONES["starting"]} if is_new else {"note": _lost(journals, unread)}
            )
            return {**_nothing_known(self.run, newest), **about_to}
        started = status.started
        pid, began = (started.pid, started.at) if started is not None else (0, status.began_at or 0.0)
        live = is_live(journals, newest, began, pid, now, compute_late_s(self.run))
        return self._of_status(now, newest, live)

    def _read_story(self) -> None:
        try:
            at = self.run.story_path.stat().st_mtime
        except OSError:
            return
        if at != self._story_at:
            self._story, self._story_at = self.run.read_story() or {}, at

    def _take_story(self) -> None:
        """Which worker it was, where its journal need not be read."""
        text = self._story.get("distributed") or {}
        self.snapshot.worker, self.snapshot.of = text.get("rank"), text.get("world_size")
        self.snapshot.cluster = str(text.get("cluster", ""))
        self.snapshot.ended = "done" if self._story.get("state") == "done" else "failed"

    def _is_story_complete(self, newest: float) -> bool:
        """It has ended, and its story was told after that. Of a training of ours that is not done, the journal knows more."""
        has_ended = bool(self._story.get("ended")) and newest - self._story_at < STORY_WITHIN_S
        is_ours = self.run.settings_path.exists() and self._story.get("state") != "done"
        return has_ended and not is_ours and not self.status.last_at

    def _take(self, journals: list[Path]) -> None:
        events = []
        for path in journals:
            if path not in self._tails:
                self._tails[path] = Tail(path)
                events += _first_look(self._tails[path])
            events += self._tails[path].read()
        events.sort(key=lambda event: event.at)
        self.status.take(events)
        self.snapshot.take(events, 0.0)

    def _of_status(self, now: float, newest: float, live: bool) -> Row:
        status = self.status
        verdicts = self._verdicts(now)
        first = verdicts[0] if verdicts else None
        state = status.state(now, live, any(verdict["effect"] == "stops" for verdict in verdicts))
        if first is not None and first["effect"] == "slows" and state in {"training", "repaired"}:
            state = "slow"
        text = self._story.get("progress") or {}
        progress = status.progress()
        if progress["step"] is None and text.get("step") is not None:
            progress["step"] = text["step"] + 1
        started = status.started
        is_moving = state in {"training", "repaired", "slow"}
        stalled = status.stalled_s(now) if state in {"slow", "stuck"} else None
        return {
            **_nothing_known(self.run, newest),
            "state": state,
            "tone": _tone(state, first),
            "is_live": live and state not in ENDED_STATES,
            "command": started.command if started is not None else self._story.get("command", []),
            "model": status.training.model if status.training is not None else None,
            "progress": progress,
            "speed": status.speed() if is_moving and stalled is None else None,
            "remaining_s": status.left_s() if is_moving and stalled is None else None,
            "stalled_s": stalled,
            "verdict": first,
            "outcome": FOUND if verdicts else None,  # while it goes on, that there is no verdict says nothing
            "repairs": status.repairs,
            "began_at": status.began_at,
            "seconds": (now if live else status.last_at) - (status.began_at or status.last_at),
            "note": _note(state, stalled, bool(verdicts)),
            "failure": _failure(self._story) if state == "failed" else None,
        }

    def _verdicts(self, now: float) -> list[dict[str, Any]]:
        """Those that still stand. While a run moves, only what was reached twice: as on the terminal."""
        rows = [_verdict(each) for each in self._story.get("verdicts") or []]
        is_still = self.status.ended is not None or self.status.stalled_s(now) is not None
        if self._story.get("state") == "stuck" and not is_still:
            return []  # it moves again, and the watcher has not looked since
        reached = self.status.verdict_at
        return [
            each
            for each in rows
            if is_still or (each["certainty"] != "possible" and self._story_at - reached.get(each["cause"], now) > SEEN_TWICE_S)
        ]


def read_row(run: RunFolder) -> Row:
    """Once, as it is now."""
    return Reader(run).read()


def _lost(journals: list[Path], unread: list[UnreadLines]) -> str:
    """Why nothing is known of it."""
    if not unread:
        return "its journal is empty" if journals else "it holds no journal"
    why = next((each.why for each in unread if each.why), "")
    return "nothing in its journal could be read" + (f": {why}" if why else "")


def _first_look(tail: Tail) -> list[Any]:
    """The begin of a long journal; the tail then goes on near its end."""
    events = tail.read(HEAD_BYTES)
    tail.skip_to_end(TAIL_BYTES)
    return events


def _of_story(run: RunFolder, story: dict[str, Any], newest: float) -> Row:
    """Of a run that has ended: its story has all of it."""
    text = story.get("progress") or {}
    step, epochs, in_each = text.get("step"), text.get("epochs"), text.get("steps_per_epoch")
    verdicts = [_verdict(each) for each in story.get("verdicts") or []]
    state = story.get("state", "unknown")
    seconds = text.get("seconds")
    steps = epochs * in_each if epochs and in_each and in_each > 0 else None
    model = summary.read_settings(run).get("model")
    done = step + 1 if step is not None else None
    return {
        **_nothing_known(run, newest),
        "state": state if state in TONES else "unknown",
        "tone": _tone(state, verdicts[0] if verdicts else None),
        "command": story.get("command") or [],
        "model": model if isinstance(model, str) else None,
        "progress": {
            "step": max(done, steps or 0) if done and model and state == "done" else done,  # with those of earlier workers
            "steps": steps,
            "epoch": text["epoch"] + 1 if text.get("epoch") is not None else None,
            "epochs": epochs,
            "loss": text.get("loss"),
        },
        "verdict": verdicts[0] if verdicts else None,
        "outcome": format_outcome(story) if {"verdicts", "state"} <= set(story) else None,
        "repairs": sum(bool(repair.get("attempt")) for repair in story.get("repairs") or []),
        "began_at": newest - seconds if seconds else None,
        "seconds": seconds,
        "failure": _failure(story) if state == "failed" else None,
    }


def _nothing_known(run: RunFolder, newest: float) -> Row:
    return {
        "run": run.name, "state": "unknown", "tone": "quiet", "is_live": False, "command": [], "model": None,
        "progress": {"step": None, "steps": None, "epoch": None, "epochs": None, "loss": None}, "speed": None,
        "remaining_s": None, "stalled_s": None, "verdict": None, "outcome": None, "repairs": 0, "began_at": None,
        "changed_at": newest, "seconds": None, "note": None, "failure": None, "distributed": None,
    }  # fmt: skip


def _failure(story: dict[str, Any]) -> str | None:
    """The error that ended it, for a run of which no cause is known."""
    result = story.get("failure")
    return format_failure(result) if isinstance(result, dict) and {"kind", "message", "where"} <= set(result) else None


def _verdict(plain: dict[str, Any]) -> dict[str, Any]:
    summary = " ".join(str(plain.get("summary", "")).split())
    return {
        "cause": str(plain["cause"])[:MAX_LETTERS],
        "certainty": plain.get("certainty", ""),
        "where": plain.get("where"),
        "effect": plain.get("effect", ""),
        "summary": summary if len(summary) <= MAX_LETTERS else summary[: MAX_LETTERS - 1] + "…",
    }


def _tone(state: str, verdict: dict[str, Any] | None) -> str:
    """That of the state; of one that is in order, that of the verdict."""
    tone = TONES.get(state, "quiet")
    if verdict is None or tone not in {"good", "quiet"}:
        return tone
    return "warn" if verdict["effect"] == "slows" else "bad"


def _note(state: str, stalled_s: float | None, is_named: bool) -> str | None:
    if state == "ended":
        return "nobody saw how it ended"
    if stalled_s is not None and not is_named:
        return "no progress, and no verdict yet"
    return None


def find_script(row: Row) -> str:
    """Its script, or its program; of a training of ours, the model."""
    if row["model"]:
        return str(row["model"])
    command = [str(part) for part in row["command"]]
    return next((part for part in command if part.endswith(".py")), os.path.basename(command[0]) if command else "")  # noqa: PTH119
