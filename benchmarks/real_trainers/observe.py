"""Runs one case: watched from its start, or alone and looked at with `unstall attach` once it has become quiet."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

from benchmarks.real_trainers.trainer import Case, Fault

LIMIT_S = 1500.0  # of a case that should end by itself: two busy cores, and imports
WATCHED_S = 600.0  # of one that goes on
HANGS_S = 60.0  # a hang is ended so long after a verdict, or after it became quiet without one
QUIET_S, QUIET_CORES = 12.0, 0.01  # also on a busy machine, where a program that works gets little
JOINED_WITHIN_S = 10.0  # after the first verdict: others may join it
HEEDS_WITHIN_S = 20.0
KILL_AFTER_STEPS_S = 5.0


def run_case(case: Case, fault: Fault, folder: Path, unstall: str) -> dict[str, Any]:
    """With `unstall run`. `unstall`: the interpreter that it is installed in."""
    story_path, began = folder / "story.json", time.monotonic()
    command = [unstall, "-m", "unstall", "run", "--json", str(story_path), "--", *case.command]
    process = _start(command, case, folder, folder / "output.txt")
    try:
        first_at = _wait(process, case, fault, story_path, began)
        if process.poll() is None:
            _stop(process)
    finally:
        _end(process)
    story = _read(story_path)
    return _row(story, case, fault, folder) | {
        "exit_code": process.returncode,
        "seconds": round(time.monotonic() - began, 1),
        "verdict_after_s": first_at,
    }


def run_alone(case: Case, folder: Path) -> tuple[int, set[str]]:
    """Without Unstall: the exit code, and what it printed, without its figures."""
    output = folder / "output_alone.txt"
    process = _start(case.command, case, folder, output)
    try:
        process.wait(LIMIT_S)
    finally:
        _end(process)
    return process.returncode, _lines(output, folder)


def harm_done(alone: tuple[int, set[str]], exit_code: int, folder: Path) -> list[str]:
    """Whether it ended otherwise with Unstall, and what it printed without it alone."""
    exit_alone, printed_alone = alone
    ended = [f"exit code {exit_code}, alone {exit_alone}"] if exit_code != exit_alone else []
    return ended + [f"not printed: {line}" for line in sorted(printed_alone - _lines(folder / "output.txt", folder))]


def _lines(output: Path, folder: Path) -> set[str]:
    """Times, rates and bars differ from one run to the next."""
    text = re.sub(r"\x1b\[[\d;]*[A-Za-z]", "", output.read_text(errors="replace")).replace(str(folder), "")
    text = re.sub(r"0x[\da-f]+", "", text)
    return {" ".join(re.findall(r"[A-Za-z_]{3,}", line)) for line in re.split(r"[\r\n]+", text)} - {""}


def attach_case(case: Case, fault: Fault, folder: Path, unstall: str) -> dict[str, Any]:
    """Started alone; one `unstall attach` when it has become quiet."""
    story_path, began = folder / "attached.json", time.monotonic()
    process = _start(case.command, case, folder, folder / "output_alone.txt")
    try:
        _wait_until_quiet(process, case, folder, began + LIMIT_S)
        asked = time.monotonic()
        command = [unstall, "-m", "unstall", "attach", str(process.pid), "--json", str(story_path)]
        if process.poll() is None:
            subprocess.run(command, env=_environ(case, folder), capture_output=True, timeout=60, check=False)
        took = time.monotonic() - asked
    finally:
        _end(process)
    return _row(_read(story_path), case, fault, folder) | {"seconds": round(took, 1)}


def _stop(process: subprocess.Popen[bytes]) -> None:
    """A trainer may handle the signal itself, and heed it at its next step, which a hang never comes to."""
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(HEEDS_WITHIN_S)
    except subprocess.TimeoutExpired:
        for child in _tree(process.pid)[:0:-1]:
            os.kill(child, signal.SIGKILL)
        process.wait(60)


def _start(command: list[str], case: Case, folder: Path, output: Path) -> subprocess.Popen[bytes]:
    with output.open("wb") as stream:
        return subprocess.Popen(
            command, cwd=folder, env=_environ(case, folder), stdin=subprocess.DEVNULL, stdout=stream, stderr=stream
        )


def _environ(case: Case, folder: Path) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "VIRTUAL_ENV"))}
    fixed = {"UNSTALL_HOME": str(folder / "runs"), "PYTHONPATH": "", "TF_CPP_MIN_LOG_LEVEL": "1", "CUDA_VISIBLE_DEVICES": ""}
    return {**kept, **fixed, **case.environ}


def _wait(process: subprocess.Popen[bytes], case: Case, fault: Fault, story_path: Path, began: float) -> float | None:
    """Until it has ended, or was seen for long enough. Gives the seconds to the first verdict, if one was there by then."""
    first, quiet_since, is_training, killed = None, None, False, False
    while process.poll() is None:
        now = time.monotonic() - began
        if first is None and _read(story_path).get("verdicts"):
            first = round(now, 1)
        if not is_training and _steps_seen(story_path.parent, case.prints):
            is_training = True
            if case.when_training is not None:
                case.when_training()
        if fault.kills and is_training and not killed:
            time.sleep(KILL_AFTER_STEPS_S)
            killed = _kill_child(process.pid)
        if fault.hangs:
            is_quiet = now > QUIET_S and _cores(_tree(process.pid)[1:], 2.0) < QUIET_CORES
            quiet_since = (quiet_since or now) if is_quiet else None
            is_complete = first is not None and now - first > JOINED_WITHIN_S
            if is_complete or (quiet_since is not None and now - quiet_since > (case.seconds or HANGS_S)):
                break
        if now > (case.seconds or (WATCHED_S if fault.goes_on else LIMIT_S)):
            break
        time.sleep(0.5)
    return first


def _steps_seen(folder: Path, prints: str) -> bool:
    """Whether the program has printed that it trains, or its journal has a training step."""
    text = "".join(path.read_text(errors="replace") for path in folder.glob("output*.txt"))
    journals = folder.glob("runs/*/events-probe-*.jsonl")
    is_seen = any('"event":"StepsEnded"' in path.read_text(errors="replace") for path in journals)
    return is_seen or re.search(prints, text) is not None


def _kill_child(pid: int) -> bool:
    """The trainer itself, not what watches it."""
    children = [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    for child in children:
        variables = Path(f"/proc/{child}/environ").read_bytes()
        if b"UNSTALL_RUN=" in variables:
            os.kill(child, signal.SIGKILL)
            return True
    return False


def _wait_until_quiet(process: subprocess.Popen[bytes], case: Case, folder: Path, until: float) -> None:
    quiet, when_training = 0.0, case.when_training
    while process.poll() is None and time.monotonic() < until and quiet < QUIET_S:
        if when_training is not None and _steps_seen(folder, case.prints):
            when_training()
            when_training = None
        quiet = quiet + 2.0 if _cores(_tree(process.pid), 2.0) < QUIET_CORES else 0.0


def _tree(pid: int) -> list[int]:
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [pid, *(found for child in children for found in _tree(int(child)))]


def _cores(pids: list[int], seconds: float) -> float:
    before = sum(map(_ran_s, pids))
    time.sleep(seconds)
    return (sum(map(_ran_s, pids)) - before) / seconds


def _ran_s(pid: int) -> float:
    ran = 0.0
    for path in Path(f"/proc/{pid}/task").glob("*/schedstat"):
        try:
            ran += int(path.read_text().split()[0]) / 1e9
        except OSError:
            continue
    return ran


def _end(process: subprocess.Popen[bytes]) -> None:
    pids = _tree(process.pid) if process.poll() is None else []
    for pid in reversed(pids):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    process.wait()


def _read(path: Path) -> dict[str, Any]:
    try:
        story = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return story if isinstance(story, dict) else {}


def _shorten(text: str, folder: Path) -> str:
    """Without the folders of this machine."""
    return re.sub(r"/[^\s:]*/(?:site-packages/|(?=bin/[\w.-]+:\d))", "", text.replace(str(folder), "…"))


def _is_seen(progress: dict[str, Any], printed: dict[str, Any]) -> bool:
    """Steps, epoch and loss, by hooks or in what is printed."""
    pairs = (("step", "step"), ("epoch", "epoch"), ("loss", "last_loss"))
    return all(progress.get(key) is not None or printed.get(other) is not None for key, other in pairs)


def _row(story: dict[str, Any], case: Case, fault: Fault, folder: Path) -> dict[str, Any]:
    verdicts, progress = story.get("verdicts") or [], story.get("progress") or {}
    printed = story.get("printed") or {}  # where no hook sees the steps or the loss
    first = verdicts[0] if verdicts else {}
    said = f"{first.get('where') or ''} {first.get('summary') or ''}"
    expected = () if case.is_handled else case.causes or fault.causes
    is_right = first.get("cause") in expected if expected else not verdicts
    return {
        "state": story.get("state", "no story"),
        "steps": progress.get("step"),
        "epoch": progress.get("epoch"),
        "loss": progress.get("loss"),
        "printed": {key: printed.get(key) for key in ("step", "epoch", "last_loss")} if printed else None,
        "named": [verdict["cause"] for verdict in verdicts],
        "certainty": first.get("certainty"),
        "where": _shorten(first["where"], folder) if first.get("where") else None,
        "summary": _shorten(str(first.get("summary") or ""), folder),
        "right": bool(story) and is_right,
        "seen": _is_seen(progress, printed),
        "where_right": bool(re.search(case.where, said)) if case.where and expected else None,
    }
