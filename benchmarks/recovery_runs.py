"""A real, tiny training under supervision, faults done to it at random moments, and what became of it."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psutil

from benchmarks.recovery_faults import KINDS, Target
from benchmarks.recovery_means import MemoryGroup
from benchmarks.recovery_results import result
from unstall.config.settings import Settings, apply_changes, as_plain, from_plain
from unstall.journal.events import Event, PlanMade, ProcessEnded, RunStarted, StepsEnded, TrainingBegan
from unstall.journal.pulse import Beat, read_pulse
from unstall.journal.reader import FolderTail, Journal
from unstall.journal.run_folder import RunFolder

SUPERVISE = """
import sys
from pathlib import Path
from unstall.journal.run_folder import RunFolder
from unstall.supervisor.run.program import RunOptions
from unstall.supervisor.train.training_run import train
sys.exit(train(RunFolder(Path(sys.argv[1])), RunOptions(quiet=True)))
"""
CHECKPOINT_EVERY_STEPS = 5
MAX_STEPS_AWAY = 14  # from one fault to the next
LONGEST_S = 600.0  # that anything is waited for
DISK_MIB = 48  # of the checkpoints
LOOK_S = 0.02
INTERRUPTED = 75


def settings(backend: str, data: Path, epochs: int) -> Settings:
    """Small enough that a step takes milliseconds; all that a real one has."""
    return from_plain(
        {
            "data": str(data),
            "model": "ssd_tiny",
            "detector": {"image_size": [64, 64]},
            "backend": backend,
            "epochs": epochs,
            "batch_size": 8,
            "learning_rate": 0.002,
            "warmup_steps": 10,
            "checkpoint_interval_steps": CHECKPOINT_EVERY_STEPS,
            "max_checkpoints": 3,
            "eval_interval": 0,
            "tensorboard": False,
            "max_restarts": 1000,
            "num_input_workers": 1,
            "seed": 3,
            "deterministic": os.environ.get("CUDA_VISIBLE_DEVICES") != "",  # a processor gives the same bits anyway
        }
    )


class Supervised:
    """A run folder, its supervisor, and what the journal and the pulse tell of its worker."""

    def __init__(self, run: RunFolder, group: MemoryGroup | None = None) -> None:
        self.run, self.group = run, group
        self._tail = FolderTail(run.path)
        self.events: list[Event] = []
        self.start()

    def start(self) -> None:
        log = (self.run.path / "output.txt").open("ab")
        command = [sys.executable, "-c", SUPERVISE, str(self.run.path)]
        self.process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True)
        if self.group is not None:
            self.group.add(self.process.pid)

    def read(self) -> None:
        self.events += self._tail.read()

    def all(self) -> list[Event]:
        self.read()
        return self.events

    def worker_pid(self) -> int:
        self.read()
        started = [event for event in self.events if isinstance(event, RunStarted)]
        return started[-1].pid if started else 0

    def beat(self) -> Beat | None:
        """Of the worker that was started last."""
        return read_pulse(self.run.pulse_path(self.worker_pid()))

    def step(self) -> int:
        """Steps done, counted over all epochs; -1 while the newest worker has not done one."""
        beat, began = self.beat(), [event for event in self.events if isinstance(event, TrainingBegan)]
        started = [event for event in self.events if isinstance(event, RunStarted)]
        if beat is None or not began or began[-1].at < started[-1].at or beat.steps_done < 1:
            return -1
        return began[-1].from_step + beat.steps_done

    def is_about_to_begin(self) -> bool:
        """The newest worker has all it needs, and has not made its first step."""
        began = [event.at for event in self.events if isinstance(event, TrainingBegan)]
        started = [event.at for event in self.events if isinstance(event, RunStarted)]
        return self.step() < 0 and bool(began) and began[-1] > started[-1]

    def from_step(self) -> int:
        return next(event.from_step for event in reversed(self.events) if isinstance(event, TrainingBegan))


def undisturbed(backend: str, epochs: int, data: Path) -> dict[str, Any]:
    """What the run gives that nothing befalls."""
    with _folder() as folder:
        supervised = Supervised(_run(folder, settings(backend, data, epochs)))
        began = time.monotonic()
        code = supervised.process.wait(LONGEST_S)
        if code:
            raise SystemExit(f"The undisturbed run ended with {code}:\n{_output(supervised.run)}")
        return {
            "backend": backend,
            "epochs": epochs,
            "seconds": round(time.monotonic() - began, 1),
            **result(supervised.run, backend, is_whole=True),
        }


def disturbed(backend: str, epochs: int, data: Path, kinds: list[str], seed: int) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """One run with these faults, one after the other, each a random number of steps after the recovery from that before."""
    rng = random.Random(seed)
    with _folder() as folder:
        own = shutil.copytree(data, folder / "data")
        with_them = {name: value for kind in kinds for name, value in KINDS[kind].run_with.items()}
        run = _run(folder, apply_changes(settings(backend, own, epochs), with_them))
        with _small_disk(run, any(KINDS[kind].needs_root for kind in kinds)), ExitStack() as until_end:
            supervised = Supervised(run, _group(until_end) if any(KINDS[kind].needs_group for kind in kinds) else None)
            faults = []
            for kind in kinds:
                outcome = _one_fault(supervised, kind, own, rng, until_end)
                if outcome is not None:
                    faults.append({"backend": backend, "seed": seed, "kind": kind, **outcome})
                if supervised.process.poll() is not None:
                    break
            code = _end(supervised)
            ended = {
                "backend": backend,
                "seed": seed,
                "kinds": kinds,
                "epochs": epochs,
                "exit_code": code,
                **result(run, backend),
            }
            ended["output"] = "" if code == 0 and ended["weights"] else _output(run)
            ended["plans"] = [f"{plan.cause} in {plan.step}: {plan.remedy}" for plan in Journal(supervised.all()).of(PlanMade)]
            return ended, faults


def wrong_from_the_start(backend: str, epochs: int, data: Path, kind: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """One run whose settings bring the fault about, as often as it takes until they are mended."""
    with _folder() as folder:
        run = _run(folder, apply_changes(settings(backend, data, epochs), KINDS[kind].settings))
        supervised = Supervised(run)
        code = _end(supervised)
        supervised.read()
        of = Journal(supervised.events)
        faults = [_fault_in_journal(of, plan, code == 0) for plan in of.of(PlanMade)] or [{"step": 0, "survived": False}]
        ended = {"backend": backend, "seed": 0, "kinds": [kind], "epochs": epochs, "exit_code": code, **result(run, backend)}
        ended["output"] = "" if code == 0 else _output(run)
        blank = {"backend": backend, "seed": 0, "kind": kind, "recovered_s": None, "lost_steps": None}
        return ended, [{**blank, **fault} for fault in faults]


def _fault_in_journal(of: Journal, plan: PlanMade, survived: bool) -> dict[str, Any]:
    ended = max(event.at for event in of.of(ProcessEnded) if event.at <= plan.at)
    stepped = next((event.at for event in of.of(StepsEnded) if event.at > plan.at), None)
    return {
        "step": plan.step,
        "survived": survived,
        "recovered_s": round(stepped - ended, 2) if stepped else None,
        "lost_steps": max(0, plan.step - plan.from_step),
        "found": plan.cause,
        "remedy": plan.remedy,
    }


# --- one fault ---


def _one_fault(
    supervised: Supervised, kind: str, images: Path, rng: random.Random, until_end: ExitStack
) -> dict[str, Any] | None:
    """None: the run was over before its moment came."""
    fault = KINDS[kind]
    if not (_is_about_to_begin(supervised) if fault.before_first_step else _is_some_steps_on(supervised, rng)):
        return None
    pid, step = supervised.worker_pid(), supervised.from_step() if fault.before_first_step else supervised.step()
    began = time.monotonic()
    try:
        fault.do(Target(supervised.run, supervised.process, pid, images, rng, until_end, supervised.group))
    except (psutil.NoSuchProcess, ProcessLookupError):  # it was ending just then, of what came before: the next one's turn
        return _one_fault(supervised, kind, images, rng, until_end)
    if fault.ends_supervisor:
        code = supervised.process.wait(LONGEST_S)
        ended_s = round(time.monotonic() - began, 2)
        if code == 0:
            return None
        supervised.start()
    if not fault.restarts:
        survived = _wait(supervised, lambda: supervised.step() > step + 1) is not None or supervised.process.poll() == 0
        return {"step": step, "survived": survived, "recovered_s": None, "lost_steps": 0}
    came = _wait(supervised, lambda: supervised.worker_pid() != pid and supervised.step() >= 0)
    done = supervised.process.poll() == 0
    plain: dict[str, Any] = {"step": step, "survived": came is not None or done, "recovered_s": None, "lost_steps": None}
    if came is not None:
        plain |= {"recovered_s": round(time.monotonic() - began, 2), "lost_steps": max(0, step - supervised.from_step())}
    if fault.ends_supervisor:
        return {**plain, "ended_s": ended_s}
    plan = next((event for event in reversed(supervised.events) if isinstance(event, PlanMade)), None)
    return {**plain, "found": plan.cause if plan else "", "remedy": plan.remedy if plan else ""}


def _is_some_steps_on(supervised: Supervised, rng: random.Random) -> bool:
    """Waits for a random moment, some steps after the first of the newest worker; False: it never came."""
    if _wait(supervised, lambda: supervised.step() >= 0) is None:
        return False
    at = supervised.step() + rng.randrange(1, MAX_STEPS_AWAY)
    if _wait(supervised, lambda: supervised.step() >= at) is None:
        return False
    time.sleep(rng.random() * 0.2)
    return True


def _is_about_to_begin(supervised: Supervised) -> bool:
    """Waits until a worker is about to make its first step; one that has made it is killed, so that another comes."""
    if supervised.step() >= 0:
        os.kill(supervised.worker_pid(), signal.SIGKILL)
    return _wait(supervised, lambda: supervised.worker_pid() and supervised.is_about_to_begin()) is not None


def _wait(supervised: Supervised, is_so: Any) -> bool | None:
    """None: the supervisor ended before, or it took too long."""
    deadline = time.monotonic() + LONGEST_S
    while time.monotonic() < deadline:
        if is_so():
            return True
        if supervised.process.poll() is not None:
            return None
        time.sleep(LOOK_S)
    return None


def _end(supervised: Supervised) -> int | None:
    try:
        return supervised.process.wait(LONGEST_S)
    except subprocess.TimeoutExpired:  # hung, which must not be
        supervised.process.terminate()
        return None


# --- folders ---


def _run(folder: Path, chosen: Settings) -> RunFolder:
    run = RunFolder(folder / "run")
    run.path.mkdir()
    run.write_settings(as_plain(chosen), are_given=True)
    run.write_settings(as_plain(chosen))
    return run


@contextmanager
def _folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="unstall-recovery-"))
    os.environ["UNSTALL_HOME"] = str(folder / "home")
    (folder / "home").mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _small_disk(run: RunFolder, is_wanted: bool) -> Iterator[None]:
    """The checkpoints on a file system of their own that can be filled. Needs root."""
    if not is_wanted:
        yield
        return
    run.checkpoints_path.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_MIB}m", "tmpfs", str(run.checkpoints_path)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(run.checkpoints_path)], check=True)


def _group(until_end: ExitStack) -> MemoryGroup:
    group = MemoryGroup()
    until_end.callback(group.remove)
    return group


def _output(run: RunFolder) -> str:
    """The end of it, with files named as the project names them, wherever it lies."""
    whole = (run.path / "output.txt").read_text(errors="replace")
    return whole.replace(f"{Path(__file__).resolve().parents[1]}/", "")[-3000:]
