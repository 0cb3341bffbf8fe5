"""Runs as they lie in a folder, written by the journal's own writer: of programs that train, stand still, have ended."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

from unstall.journal.events import Event, FitBegan, HostSampled, ProcessEnded, RunStarted, StallBegan, StepsEnded, VerdictReached
from unstall.journal.run_folder import RunFolder
from unstall.journal.writer import JournalWriter

GONE = 2**22 - 3  # a number that no process has: beyond what kernels give
OLD_S = 3600.0


class Written:
    """A run whose journal is written here. Moments are seconds from its begin."""

    def __init__(self, folder: Path, name: str, began: float | None = None, pid: int = GONE) -> None:
        self.run = RunFolder(folder / name)
        self.run.path.mkdir(parents=True, exist_ok=True)
        self.began = time.time() - 100 if began is None else began
        self.journal = self.run.journal_path("watcher", pid)
        self._writer = JournalWriter(self.journal)

    def write(self, *events: Event) -> Written:
        for event in events:
            self._writer.write(event)
        return self

    def starts(self, command: str = "python train.py", mode: str = "run") -> Written:
        return self.write(RunStarted(at=self.began, mode=mode, command=command.split(), folder="/home/user", pid=GONE))

    def fits(self, epochs: int = 10, steps_per_epoch: int = 100) -> Written:
        return self.write(FitBegan(at=self.began + 1, api="keras", epochs=epochs, steps_per_epoch=steps_per_epoch))

    def steps(self, first: int, last: int, at: float, each_s: float = 0.1, loss: float = 0.5) -> Written:
        took = (last - first + 1) * each_s
        epoch = last // 100
        return self.write(
            StepsEnded(
                at=self.began + at, first=first, last=last, epoch=epoch, seconds=took, busy_s=took, longest_s=each_s, loss=loss
            )
        )

    def stalls(self, since: float, at: float, step: int = 40) -> Written:
        idle = [
            HostSampled(at=self.began + since + second, interval_s=1.0, cpu_cores=0.01) for second in range(1, int(at - since))
        ]
        stall = StallBegan(at=self.began + at, phase="train", step=step, since=self.began + since, usual_s=0.1, limit_s=8.0)
        return self.write(*idle, stall)

    def verdict(
        self, at: float, cause: str = "generator_blocked", state: str = "stuck", effect: str = "stops", **more: Any
    ) -> Written:
        """Reached, and in the story that the watcher writes then."""
        self.write(VerdictReached(at=self.began + at, cause=cause, certainty="certain", summary="It waits."))
        plain = {
            "cause": cause,
            "certainty": "certain",
            "summary": "It waits for the network.",
            "where": "train.py:7",
            "effect": effect,
        }
        self.run.write_story({"state": state, "verdicts": [{**plain, **more}], "progress": {}, "ended": None})
        return self

    def ends(self, at: float, exit_code: int | None = 0, signal: int | None = None) -> Written:
        return self.write(ProcessEnded(at=self.began + at, exit_code=exit_code, signal=signal))

    def rests(self, seconds: float = OLD_S) -> Written:
        """Nothing was written for so long."""
        at = time.time() - seconds
        for path in self.run.path.iterdir():
            os.utime(path, (at, at))
        return self


def training(folder: Path, name: str = "training", seconds: float = 60.0, ago: float = 0.0) -> Written:
    """A run that trains, up to now or so many seconds ago: 10 steps a second of 1,000."""
    written = Written(folder, name, time.time() - seconds - ago).starts().fits().steps(0, 0, 2, each_s=1.0)
    for second in range(3, int(seconds)):
        written.steps(10 * (second - 3) + 1, 10 * (second - 2), second, loss=5 / second)
        written.write(
            HostSampled(at=written.began + second, interval_s=1.0, cpu_cores=1.0, rss_bytes=second << 20, total_bytes=1 << 33)
        )
    return written


def stuck(folder: Path, name: str = "stuck") -> Written:
    written = training(folder, name, ago=12)
    return written.stalls(60, 69, step=571).verdict(70)


def finished(folder: Path, name: str, state: str = "done", **story: Any) -> RunFolder:
    """A run that ended an hour ago, as its story tells it."""
    written = (
        Written(folder, name, time.time() - OLD_S - 60).starts().fits().steps(0, 99, 12).ends(20, 0 if state == "done" else 1)
    )
    ended = {"exit_code": 0 if state == "done" else 1, "signal": None, "stopped_by_unstall": False}
    progress = {"step": 99, "epoch": 0, "epochs": 10, "steps_per_epoch": 100, "seconds": 20.0, "loss": 0.5}
    plain = {
        "state": state,
        "verdicts": [],
        "command": ["python", "train.py"],
        "progress": progress,
        "ended": ended,
        "repairs": [],
    }
    written.run.story_path.write_text(json.dumps({**plain, **story}))
    written.rests()
    return written.run
