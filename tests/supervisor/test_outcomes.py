"""A verdict, nothing wrong in what could be seen, or that it cannot be told: never a good word for what nobody has looked at."""

from __future__ import annotations

import ctypes
import io
import json
import os
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tests.programs import UNSTALL, write
from unstall.base.exit_codes import CANNOT_TELL, VERDICT_FOUND
from unstall.report.terminal import story as story_text

PR_CAPBSET_DROP, CAP_SYS_PTRACE = 24, 19
BUSY = "print('ready', flush=True)\nwhile True:\n    pass\n"
DEADLOCK = """
import threading
lock = threading.Lock()
print("ready", flush=True)
with lock:
    with lock:
        pass
"""
TORCH_LOOP = """
import torch
weights = torch.ones(4, 1, requires_grad=True)
for step in range(50):
    (gradient,) = torch.autograd.grad((torch.ones(8, 4) @ weights).mean(), [weights])
    with torch.no_grad():
        weights -= 0.01 * gradient
"""
KERAS_FIT = """
import keras, numpy
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(numpy.ones((64, 4)), numpy.ones((64, 1)), epochs=2, verbose=0)
"""
PLAIN = "print('of the program')\n"


@contextmanager
def running(*command: str, says_ready: bool = True) -> Iterator[int]:
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        assert not says_ready or process.stdout.readline() == b"ready\n"
        yield process.pid
    finally:
        process.kill()
        process.wait()


def attached(pid: int, command: list[str] = UNSTALL, **how: Any) -> tuple[int, str, dict[str, Any]]:
    """The exit code, what is printed, and the story."""
    folder = Path(os.environ["UNSTALL_HOME"])
    folder.mkdir(exist_ok=True)
    done = subprocess.run(
        [*command, "attach", str(pid), "--json", str(folder / "story.json")], capture_output=True, text=True, check=False, **how
    )
    assert not done.stderr
    return done.returncode, " ".join(done.stdout.split()), json.loads((folder / "story.json").read_text())


def without_ptrace() -> None:
    ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_SYS_PTRACE, 0, 0, 0)


# --- attach ---


def test_a_busy_program_whose_stacks_were_read_has_nothing_wrong_in_what_could_be_seen(tmp_path: Path) -> None:
    with running(sys.executable, str(write(tmp_path, BUSY))) as pid:
        code, printed, story = attached(pid)
    assert (code, story["outcome"], story["reason"]) == (0, "clear", None)
    assert {"stacks", "CPU", "memory"} <= set(story["seen"])
    assert "verdict nothing wrong in what could be seen (stacks, CPU, memory" in printed


def test_a_verdict_has_an_exit_code_of_its_own(tmp_path: Path) -> None:
    with running(sys.executable, str(write(tmp_path, DEADLOCK))) as pid:
        time.sleep(6)
        code, printed, story = attached(pid)
    assert (code, story["outcome"]) == (VERDICT_FOUND, "found")
    assert "cause lock_deadlock" in printed


@pytest.mark.parametrize("command", [["sleep", "1000"], ["bash", "-c", "sleep 1000; true"]])
def test_a_program_that_is_not_python_is_named_and_not_called_healthy(command: list[str]) -> None:
    with running(*command, says_ready=False) as pid:
        time.sleep(0.5)
        code, printed, story = attached(pid)
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            os.kill(int(child), 9)
    assert (code, story["outcome"]) == (CANNOT_TELL, "unknown")
    assert f"process {pid} runs {command[0]}, which is not Python, and it has no child process that runs Python" in printed
    assert "cannot tell: the stacks of the program could not be read" in printed
    assert "nothing wrong" not in printed


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a capability up")
def test_without_the_permission_to_read_stacks_it_cannot_be_told(tmp_path: Path) -> None:
    with running(sys.executable, str(write(tmp_path, BUSY))) as pid:
        code, printed, story = attached(pid, preexec_fn=without_ptrace)
    assert (code, story["outcome"]) == (CANNOT_TELL, "unknown")
    assert "(ptrace): in a container, start it with --cap-add SYS_PTRACE" in printed
    assert "stacks" not in story["seen"] and "CPU" in story["seen"]


def test_without_py_spy_it_cannot_be_told(tmp_path: Path) -> None:
    """The interpreter by another name, beside which there is no py-spy, with what is installed for ours."""
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    python.symlink_to(Path(sys.executable).resolve())
    env = {**os.environ, "PATH": "/usr/bin:/bin", "PYTHONPATH": os.pathsep.join(part for part in sys.path if part)}
    assert sysconfig.get_path("scripts") not in env["PATH"]
    with running(sys.executable, str(write(tmp_path, BUSY))) as pid:
        code, printed, story = attached(pid, [str(python), "-m", "unstall"], env=env)
    assert (code, story["outcome"]) == (CANNOT_TELL, "unknown")
    assert "not seen py-spy is not installed: pip install py-spy" in printed


# --- run ---


def ran(tmp_path: Path, source: str) -> tuple[str, dict[str, Any]]:
    target = tmp_path / "story.json"
    command = [*UNSTALL, "run", "--json", str(target), "--", sys.executable, str(write(tmp_path, source))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, "the program's own"
    return " ".join(done.stderr.split()), json.loads(target.read_text())


@pytest.mark.torch
def test_a_torch_loop_without_an_optimizer_was_not_seen_and_is_told_how_it_can_be(tmp_path: Path) -> None:
    printed, story = ran(tmp_path, TORCH_LOOP)
    assert story["outcome"] == "unknown"
    assert "verdict cannot tell: no training step was seen (what was seen: " in printed
    assert "not seen PyTorch was loaded, but the steps of a training loop were not recognised: write `with unstall" in printed


@pytest.mark.torch
def test_a_fit_that_was_seen_inside_has_nothing_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERAS_BACKEND", "torch")
    printed, story = ran(tmp_path, KERAS_FIT)
    assert (story["outcome"], story["reason"]) == ("clear", None)
    assert "verdict nothing wrong in what could be seen (steps, loss," in printed


def test_a_script_that_is_no_training_is_told_what_was_seen_of_it(tmp_path: Path) -> None:
    printed, story = ran(tmp_path, PLAIN)
    assert (story["state"], story["outcome"], story["reason"]) == ("done", "unknown", "no training was seen")
    assert "not seen the program loaded no framework that Unstall knows, or it is not Python" in printed
    listed = subprocess.run([*UNSTALL, "runs"], capture_output=True, text=True, check=True).stdout
    assert "cannot tell" in listed
    assert subprocess.run([*UNSTALL, "diagnose"], capture_output=True, check=False).returncode == CANNOT_TELL


# --- colours ---


@pytest.mark.parametrize(("outcome", "code"), [("found", 31), ("clear", 32), ("unknown", 33)])
def test_each_answer_has_its_colour(outcome: str, code: int) -> None:
    progress = {"stalled_s": None, "step": None, "cpu_cores": 0.5}
    verdict = {"cause": "a_cause", "certainty": "likely", "where": None, "summary": "", "evidence": [], "remedies": []}
    verdicts = [verdict] if outcome == "found" else []
    story = {"state": "running", "outcome": outcome, "verdicts": verdicts, "unknown": [], "ended": None, "progress": progress}
    out = io.StringIO()
    story_text.show(story, Console(file=out, force_terminal=True, color_system="standard", width=100))
    line = next(line for line in out.getvalue().splitlines() if "cause" in line or "verdict" in line)
    assert f"{code}m" in line
