"""The second law: whatever happens to Unstall, the training's result, output and exit code are those of a run without it. What the
program lets go is let go: the probe keeps no reference that would hold a model, an optimizer or data."""

import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from functools import cache
from pathlib import Path

import pytest

from tests.programs import UNSTALL, ProgramResult
from unstall.journal.events import FitBegan, ProbeFailed, StepsEnded
from unstall.journal.reader import read_folder

TRAINING = Path(__file__).parent / "training.py"
# In one process, as most of its time goes into the import of TensorFlow.
FIT, LOOPS = ("fit", "fit on tf.data"), ("loop", "loop in a function", "loop, a pass at a time")
SHAPES = [
    pytest.param("tensorflow", (*FIT, *LOOPS), marks=pytest.mark.tensorflow, id="tensorflow"),
    pytest.param("tensorflow", ("tf_keras fit",), marks=pytest.mark.tensorflow, id="tf_keras"),
    pytest.param("jax", ("fit",), marks=pytest.mark.jax, id="jax"),
    pytest.param("torch", ("fit",), marks=pytest.mark.torch, id="torch"),
]
TIMINGS = re.compile(rb"\d+(m?s|us)(/step)?")


def see(command: list[str], env: dict[str, str] | None = None) -> ProgramResult:
    done = subprocess.run(command, capture_output=True, env={**os.environ, **(env or {})}, check=False, timeout=240)
    return ProgramResult(done.returncode, TIMINGS.sub(b"", done.stdout), b"")


@cache
def alone(backend: str, *apis: str) -> ProgramResult:
    """As it is without Unstall; all that it was made of is let go at its end."""
    seen = see([sys.executable, str(TRAINING), backend, *apis])
    lines = seen.out.decode().splitlines()
    assert seen.code == 0 and [line for line in lines if line in apis] == list(apis), seen
    kept = [line for line in lines if line.startswith("let go: ") and "False" in line]
    assert sum(line.startswith("let go: ") for line in lines) == len(apis) and not kept, seen
    return seen


def fit_alone() -> ProgramResult:
    """On TensorFlow: the first of several trainings, which print the same alone and before others."""
    several = alone("tensorflow", *FIT, *LOOPS)
    return ProgramResult(several.code, several.out[: several.out.index(f"\n{FIT[1]}\n".encode()) + 1], several.err)


def watched(backend: str, *apis: str) -> list[str]:
    return [*UNSTALL, "run", "--quiet", "--", sys.executable, str(TRAINING), backend, *apis]


@pytest.mark.all_packages
@pytest.mark.parametrize(("backend", "apis"), SHAPES)
def test_results_are_bit_identical_and_nothing_is_kept_alive(backend: str, apis: tuple[str, ...], own_home: Path) -> None:
    assert see(watched(backend, *apis)) == alone(backend, *apis)
    (run,) = own_home.iterdir()
    journal = read_folder(run)
    fits = sum("fit" in api for api in apis)
    seen = [event.api for event in journal.of(FitBegan)]
    assert len(seen) - seen.count("own_loop") == fits, "what is not watched shows nothing"
    assert ("own_loop" in seen) == (fits < len(apis))
    assert journal.of(StepsEnded)
    assert not journal.of(ProbeFailed)


@pytest.mark.tensorflow
def test_a_watcher_that_is_killed_at_a_random_moment_is_not_missed(own_home: Path) -> None:
    program = subprocess.Popen(watched("tensorflow", "fit"), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    moment = random.uniform(1.0, 6.0)
    threading.Timer(moment, lambda: os.kill(program.pid, signal.SIGKILL)).start()
    assert program.stdout is not None
    out = program.stdout.read()  # until the program itself, which holds the pipe, ends
    program.wait()
    expected = fit_alone().out
    assert TIMINGS.sub(b"", out) == expected or out == b"", f"killed after {moment:.2f} s"


@pytest.mark.tensorflow
def test_the_guards_watcher_may_be_killed(tmp_path: Path) -> None:
    guarded = TRAINING.read_text().replace("def digest", "import unstall\nunstall.Guard(quiet=True)\n\n\ndef digest")
    program = tmp_path / "training.py"
    program.write_text(guarded)
    running = subprocess.Popen(
        [sys.executable, str(program), "tensorflow", "fit"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    killed = kill_sidecar_of(running.pid)
    assert running.stdout is not None
    out = running.stdout.read()
    assert killed, "the watcher was never seen"
    assert (running.wait(), TIMINGS.sub(b"", out)) == (0, fit_alone().out)


def kill_sidecar_of(pid: int) -> bool:
    until = time.monotonic() + 240
    while time.monotonic() < until:
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                parts = (folder / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if b"unstall.supervisor.sidecar" in parts and str(pid).encode() in parts:
                os.kill(int(folder.name), signal.SIGKILL)
                return True
        time.sleep(0.1)
    return False


@pytest.mark.tensorflow
@pytest.mark.parametrize("home", ["/proc/no/such/place", "/dev/full"])
def test_no_place_for_the_journal(home: str) -> None:
    env = {"UNSTALL_HOME": home, "TMPDIR": "/tmp"}
    assert see(watched("tensorflow", "fit"), env) == fit_alone()


@pytest.mark.tensorflow
def test_a_run_folder_that_turns_out_full(tmp_path: Path) -> None:
    """Every journal of the run is /dev/full: each write fails for want of room."""
    run = tmp_path / "run"
    run.mkdir()
    program = tmp_path / "program.py"
    program.write_text(
        f"import os; os.symlink('/dev/full', {str(run)!r} + f'/events-probe-{{os.getpid()}}.jsonl')\n" + TRAINING.read_text()
    )
    start = Path(__file__).parents[2] / "src" / "unstall" / "probe" / "start"
    seen = see([sys.executable, str(program), "tensorflow", "fit"], {"PYTHONPATH": str(start), "UNSTALL_RUN": str(run)})
    assert seen == fit_alone()


CRASHER = """
import unstall.probe.core.shield as shield_module
original = shield_module.Shield.call
calls = {{}}

def call(self, name, function, *args, **kwargs):
    calls[name] = calls.get(name, 0) + 1
    def crash(*a, **k):
        raise RuntimeError("injected into " + name)
    result = original(self, name, crash if {which} else function, *args, **kwargs)
    if {endless}:  # a probe that fails is switched off: the trainings that follow in the same process would meet none
        self._failures.clear()
        self._off.clear()
    return result

shield_module.Shield.call = call
"""


def with_crash(tmp_path: Path, which: str, endless: bool = False) -> dict[str, str]:
    """A sitecustomize of the user's that makes probes crash: it runs before ours, and ours goes on from it."""
    start = Path(__file__).parents[2] / "src" / "unstall" / "probe" / "start" / "sitecustomize.py"
    folder = tmp_path / "crash"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(
        CRASHER.format(which=which, endless=endless) + start.read_text().replace("__file__", repr(str(start)))
    )
    return {"PYTHONPATH": str(folder), "UNSTALL_RUN": str(tmp_path)}


@pytest.mark.parametrize(("backend", "apis"), SHAPES)
def test_a_crash_in_every_single_probe_is_journalled_and_harms_nothing(
    backend: str, apis: tuple[str, ...], tmp_path: Path
) -> None:
    """All probes but the installing ones crash, each time they are called."""
    env = with_crash(tmp_path, "not name.startswith('hook ') and name not in ('imports', 'errors')", endless=len(apis) > 1)
    assert see([sys.executable, str(TRAINING), backend, *apis], env) == alone(backend, *apis)
    journal = "".join(path.read_text() for path in tmp_path.glob("events-probe-*.jsonl"))
    assert journal.count("injected into") >= 3


@pytest.mark.tensorflow
def test_a_crash_while_hooks_are_installed_harms_nothing(tmp_path: Path) -> None:
    env = with_crash(tmp_path, "True")
    assert see([sys.executable, str(TRAINING), "tensorflow", "fit"], env) == fit_alone()


def test_a_thousand_events_a_second_do_not_hold_up_the_program(tmp_path: Path) -> None:
    from unstall.journal.events import WarningShown
    from unstall.journal.reader import Tail
    from unstall.journal.writer import JournalWriter

    writer = JournalWriter(tmp_path / "events-a.jsonl")
    began = time.monotonic()
    for number in range(3000):
        writer.write(WarningShown(at=float(number), message="x" * 200))
    took = time.monotonic() - began
    writer.close(5.0)
    assert took < 120  # not a timing claim: it must not hang
    assert len(Tail(writer.path).read()) == 3000
