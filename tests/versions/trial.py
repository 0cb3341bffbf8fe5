"""Runs one program on one stack, under `unstall run` or looked at by `unstall attach`, and judges what was said of it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tests.versions import recorded_stacks
from tests.versions.programs_index import Program
from unstall.journal.events import ProbeFailed
from unstall.journal.reader import read_folder

UNSTALL = [sys.executable, "-m", "unstall"]
SETTLES_S = 240.0  # a program that hangs, from its start to a verdict: imports, what limits the first stall has, two looks
ENDS_S = 900.0  # one that ends by itself
ATTACH_AFTER_S = 8.0  # of no CPU used: by then the program hangs
IDLE_CORES = 0.05
QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONWARNINGS": "ignore", "CUDA_VISIBLE_DEVICES": "", "JAX_PLATFORMS": "cpu"}


@dataclass
class Row:
    stack: str
    program: str
    how: str  # run or attach
    expected: str
    named: list[str] = field(default_factory=list)
    is_right: bool = False
    is_line_right: bool | None = None  # None where no line can be known
    is_progress_right: bool | None = None  # steps, loss and epochs; None where none are expected
    is_unharmed: bool | None = None  # exit code and output as alone; None where not compared
    state: str = "no story"
    where: str | None = None
    step: int | None = None
    not_seen: list[str] = field(default_factory=list)
    probe_failures: list[str] = field(default_factory=list)
    seconds: float = 0.0
    why: str = ""  # what is wrong, in words

    @property
    def key(self) -> tuple[str, str, str]:
        return (self.stack, self.program, self.how)

    @property
    def is_passed(self) -> bool:
        return (
            self.is_right
            and not self.probe_failures
            and False not in (self.is_line_right, self.is_progress_right, self.is_unharmed)
        )

    def plain(self) -> dict[str, Any]:
        return asdict(self)


def run(stack: str, python: Path, program: Program, keep: Path | None = None) -> Row:
    """Watched from its start."""
    row = Row(stack, program.name, "run", program.cause)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="unstall-versions-", ignore_cleanup_errors=True) as scratch:
        home, text = Path(scratch, "home"), Path(scratch, "story.json")
        bare = [str(python), str(program.path)]
        words = [*UNSTALL, "run", "--quiet", "--on-stall", "stop", "--json", str(text), "--", *bare]
        watched = _run(words, {"UNSTALL_HOME": str(home)}, SETTLES_S if program.hangs else ENDS_S)
        story = _read(text)
        _judge(row, program, story)
        _judge_progress(row, program, story)
        row.probe_failures = _probe_failures(home, story)
        if program.compare:
            alone = _run(bare, {}, ENDS_S)
            row.is_unharmed = alone == watched
            if not row.is_unharmed:
                row.why = (
                    row.why
                    or f"alone it ended with {alone[0]} and wrote {alone[1][-80:]!r}; watched {watched[0]}, {watched[1][-80:]!r}"
                )
        row.seconds = round(time.monotonic() - began, 1)
        if keep is not None and not row.is_passed:
            folder = keep / f"{stack}-{program.name}"
            shutil.rmtree(folder, ignore_errors=True)
            keep.mkdir(parents=True, exist_ok=True)
            if home.exists():
                shutil.move(next(iter(home.iterdir()), home), folder)  # another disk, maybe
    return row


def attach(stack: str, python: Path, program: Program, record: Path | None = None) -> Row:
    """Started alone, and looked at once it hangs. Its stacks are recorded in a folder, if one is given."""
    row = Row(stack, program.name, "attach", program.cause)
    with tempfile.TemporaryDirectory(prefix="unstall-versions-", ignore_cleanup_errors=True) as scratch:
        text = Path(scratch, "story.json")
        env = {**os.environ, **QUIET, "UNSTALL_HOME": scratch}
        process = subprocess.Popen(
            [str(python), str(program.path)],
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            _wait_until_idle(process)
            began = time.monotonic()
            subprocess.run([*UNSTALL, "attach", str(process.pid), "--json", str(text)], env=env, capture_output=True, check=False)
            row.seconds = round(time.monotonic() - began, 1)
            if record is not None:
                recorded_stacks.record(record, stack, program, process.pid)
        finally:
            process.kill()
            process.wait()
        _judge(row, program, _read(text))
    return row


def _run(words: list[str], env: dict[str, str], limit_s: float) -> tuple[int, bytes]:
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            words, env={**os.environ, **QUIET, **env}, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.DEVNULL
        )
        try:
            process.wait(limit_s)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        output.seek(0)
        return process.returncode, output.read()


def _wait_until_idle(process: subprocess.Popen[bytes]) -> None:
    """Until it has used no CPU for some seconds, after having used some."""
    began, since, before = time.monotonic(), time.monotonic(), 0.0
    while process.poll() is None and time.monotonic() - began < SETTLES_S:
        time.sleep(0.5)
        used = _cpu_s(process.pid)
        if used - before > IDLE_CORES * 0.5 or used < 1.0 or _is_ready_to_run(process.pid):
            since = time.monotonic()
        before = used
        if time.monotonic() - since > ATTACH_AFTER_S:
            return


def _is_ready_to_run(pid: int) -> bool:
    """Whether a thread of it runs or queues for a core, or waits for a disk: on a busy machine that uses no CPU for a while, either."""
    states = (path.read_text().rpartition(")")[2].split()[0] for path in Path(f"/proc/{pid}/task").glob("*/stat"))
    try:
        return any(state in "RD" for state in states)
    except OSError:
        return True  # a thread has just ended


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _probe_failures(home: Path, story: dict[str, Any]) -> list[str]:
    """Hooks that raised, and of which the summary says nothing."""
    said = " ".join(row["missing"] for row in story.get("unknown", ()))
    failures = [event for run in home.iterdir() for event in read_folder(run).of(ProbeFailed)] if home.exists() else []
    return sorted({f"{event.probe}: {event.error}" for event in failures if event.error not in said})


def _read(text: Path) -> dict[str, Any]:
    try:
        story: dict[str, Any] = json.loads(text.read_text())
    except (OSError, ValueError):
        return {}
    return story


def _judge(row: Row, program: Program, story: dict[str, Any]) -> None:
    verdicts = story.get("verdicts") or []
    row.state = story.get("state", "no story")
    row.named = [verdict["cause"] for verdict in verdicts]
    row.not_seen = [f"{each['framework']} {each['version']}: {', '.join(each['signals'])}" for each in story.get("not_seen", ())]
    row.where = verdicts[0].get("where") if verdicts else None
    if not story:
        row.why = "no story was written"
        return
    if program.cause:
        row.is_right = row.named[:1] == [program.cause] and set(row.named) <= {program.cause, *program.also}
    else:
        row.is_right = not verdicts and story["outcome"] == "clear" and story["state"] == "done"
    if program.where:
        row.is_line_right = _line(row.where) in program.where
    if not row.is_right:
        row.why = f"{row.state}, {', '.join(row.named) or story.get('reason') or 'no verdict'}"
    elif row.is_line_right is False:
        row.why = f"line: {row.where}"


def _judge_progress(row: Row, program: Program, story: dict[str, Any]) -> None:
    progress, numbers = story.get("progress") or {}, story.get("numerics") or {}
    row.step = progress.get("step")
    expected = []
    if program.steps is not None:
        expected.append((f"step {program.steps}, not {row.step}", (row.step or -1) >= program.steps))
    if program.loss:
        was_seen = numbers.get("first_loss") is not None or numbers.get("not_finite_since_step") is not None
        expected.append(("a loss", was_seen))
    if program.epochs is not None:
        expected.append((f"{program.epochs} epochs, not {progress.get('epochs')}", progress.get("epochs") == program.epochs))
    if expected:
        row.is_progress_right = all(is_met for _, is_met in expected)
        missing = [words for words, is_met in expected if not is_met]
        row.why = row.why or (f"expected {', '.join(missing)}" if missing else "")


def _line(where: str | None) -> int | None:
    number = (where or "").rpartition(":")[2]
    return int(number) if number.isdigit() else None
