"""`unstall confirm`: experiments are made in a run of their own, on request, and settle a verdict either way."""

import gzip
import json
import os
import platform
import pty
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.programs import UNSTALL, run_bare, run_watched, write
from unstall.diagnosis.confirmation import confirm_verdict
from unstall.diagnosis.verdict import Certainty, Clear, Evidence, Found
from unstall.journal import run_folder
from unstall.journal.events import CircumstancesSeen, ExperimentEnded, RunStarted, StepsEnded
from unstall.journal.reader import Journal
from unstall.journal.writer import JournalWriter
from unstall.storage import run_lookup
from unstall.storage.download import MARK
from unstall.supervisor.run.confirm import confirm as make_experiments

PROGRAM = """
import os, sys
backend = sys.argv[1]
os.environ["KERAS_BACKEND"] = "tensorflow" if backend == "tf_keras" else backend
import numpy as np
if backend == "tf_keras":
    os.environ["TF_USE_LEGACY_KERAS"] = "1"
    import tf_keras as keras
else:
    import keras
keras.utils.set_random_seed(1)
x = np.random.default_rng(0).normal(size=(256, 6)).astype("float32")
y = x @ np.arange(6, dtype="float32")[:, None]
model = keras.Sequential([keras.layers.Dense(16, activation="tanh"), keras.layers.Dense(1)])
model.compile(keras.optimizers.SGD(1e-6), "mse")
model.fit(x, y, batch_size=32, epochs=2, verbose=0)
open("after_fit", "a").write("x")
"""


def recorded(program: Path, *arguments: str) -> None:
    """A run of it, as far as `unstall confirm` asks: its command. That of TensorFlow is watched for real."""
    run = run_folder.create("program")
    writer = JournalWriter(run.journal_path("watcher", os.getpid()))
    command = [sys.executable, str(program), *arguments]
    writer.write(RunStarted(at=time.time(), mode="run", command=command, folder=str(program.parent)))
    writer.write(CircumstancesSeen(at=time.time(), machine={"hostname": platform.node()}))
    writer.close()


def confirm(*arguments: str) -> dict[str, Any]:
    done = subprocess.run(
        [*UNSTALL, "confirm", "last", "--yes", "--json", "-", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ,
    )
    assert done.returncode == 0, done.stderr
    story: dict[str, Any] = json.loads(done.stdout)
    return story


@pytest.mark.parametrize(
    "backend",
    [
        pytest.param("tensorflow", marks=pytest.mark.tensorflow),
        pytest.param("tf_keras", marks=pytest.mark.tensorflow),
        pytest.param("jax", marks=pytest.mark.jax),
        pytest.param("torch", marks=pytest.mark.torch),
    ],
)
def test_every_experiment_gives_its_numbers_and_runs_nothing_after_fit(
    backend: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    program = write(tmp_path, PROGRAM)
    if backend == "tensorflow":
        assert run_watched(program, backend).code == 0
        (tmp_path / "after_fit").unlink()
    else:
        recorded(program, backend)
    names = ("replay_batch", "overfit_batch", "zero_input", "scaled_input", "missing_gradients", "learning_rate")
    story = confirm(*(part for name in names for part in ("--experiment", name)))
    seen = {row["experiment"]: row for row in story["experiments"]}
    assert [row["failed"] for row in seen.values()] == [None] * 6
    rates = seen["learning_rate"]["facts"]
    assert rates["tenfold"] < rates["same"] < rates["tenth"]
    assert seen["missing_gradients"]["facts"]["unchanged_count"] == 0
    assert seen["zero_input"]["facts"]["loss_with_zeros"] != seen["zero_input"]["facts"]["loss_with_input"]
    assert seen["scaled_input"]["facts"]["loss_with_scaled"] > 0
    assert seen["replay_batch"]["facts"]["step_s"] > 0
    assert not (tmp_path / "after_fit").exists(), "what follows fit was run"


def test_a_program_that_cannot_be_experimented_on_says_why(tmp_path: Path) -> None:
    program = write(tmp_path, "print('no training here')")
    assert run_watched(program).code == 0
    story = confirm("--experiment", "overfit_batch")
    assert "ended before its first fit: no training here" in story["experiments"][0]["failed"]


GUARDED = """
import unstall
with unstall.watch(quiet=True) as run:
    for _ in run.steps(range(3)):
        pass
print("trained")
"""


@pytest.mark.parametrize("source", ["print('trained')", GUARDED], ids=["run", "watch"])
def test_a_secret_of_the_command_line_is_nowhere_in_the_runs_folder_and_it_is_not_started_again(
    source: str, tmp_path: Path
) -> None:
    program, secrets = write(tmp_path, source), ["pw-hunter2x", "tok-hunter3x", "url-hunter4x"]
    arguments = ("--password", secrets[0], f"--hf-token={secrets[1]}", f"https://me:{secrets[2]}@host/", "--epochs", "3")
    run = run_bare if source == GUARDED else run_watched
    assert run(program, *arguments).out.strip() == b"trained"
    files = [path for path in run_lookup.find("last").path.rglob("*") if path.is_file()]
    raw = b"".join(gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes() for path in files)
    assert b"--epochs" in raw and not [secret for secret in secrets if secret.encode() in raw]
    done = subprocess.run(
        [*UNSTALL, "confirm", "--yes", "--experiment", "replay_batch"],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ,
    )
    assert done.returncode == 2 and "held a secret, which is not kept" in done.stderr and "--password •••" in done.stderr


def asked(*arguments: str, answer: str | None = None) -> tuple[int, str]:
    """Exit code and all that was printed; on a terminal, where there is an answer."""
    command = [*UNSTALL, "confirm", "last", "--experiment", "replay_batch", *arguments]
    if answer is None:
        done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, timeout=240)
        return done.returncode, done.stdout + done.stderr
    own, terminal = pty.openpty()
    os.write(own, answer.encode())
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=terminal, timeout=240)
    os.close(own)
    os.close(terminal)
    return done.returncode, done.stdout + done.stderr


MARKING = "from pathlib import Path; Path('started').touch()"


def test_the_command_of_a_journal_is_shown_and_started_only_if_somebody_agrees(tmp_path: Path) -> None:
    program, started = write(tmp_path, MARKING, "a program.py"), tmp_path / "started"
    recorded(program)
    code, said = asked()
    assert code == 2 and "Expected --yes" in said
    assert f"command  {sys.executable} '{program}'" in said and f"folder   {tmp_path}" in said
    code, said = asked(answer="n\n")
    assert code == 1 and "Start it? [y/N]" in said and f"'{program}'" in said
    assert not started.exists()
    code, said = asked(answer="y\n")
    assert code == 0 and "Start it? [y/N]" in said and started.exists()
    started.unlink()
    code, said = asked("--yes")
    assert code == 0 and "Start it?" not in said and f"command  {sys.executable} '{program}'" in said and started.exists()


def test_signs_that_a_terminal_would_not_show_are_written_out(tmp_path: Path) -> None:
    recorded(write(tmp_path, MARKING), "\x1b[2K\rharmless")
    assert "\\x1b[2K\\rharmless" in asked()[1]


def of_another_user(run: run_folder.RunFolder) -> None:
    os.chown(next(run.path.glob("events-*.jsonl")), 12345, -1)


def open_to_others(run: run_folder.RunFolder) -> None:
    run.path.chmod(0o777)


def journal_open_to_others(run: run_folder.RunFolder) -> None:
    next(run.path.glob("events-*.jsonl")).chmod(0o660)


def fetched_from_a_bucket(run: run_folder.RunFolder) -> None:
    (run.path / MARK).touch()
    run.keep_in("gs://bucket/run")


def of_another_machine(run: run_folder.RunFolder) -> None:
    writer = JournalWriter(run.journal_path("watcher", 1))
    writer.write(CircumstancesSeen(at=time.time(), machine={"hostname": "another-machine"}))
    writer.close()


def of_a_machine_that_is_not_named(run: run_folder.RunFolder) -> None:
    """As an archive has it whose journal was written by hand, or cut off."""
    (journal,) = run.path.glob("events-*.jsonl")
    lines = journal.read_text().splitlines(keepends=True)
    journal.write_text("".join(line for line in lines if "CircumstancesSeen" not in line))


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        pytest.param(of_another_user, "belongs to user 12345", marks=pytest.mark.skipif(os.geteuid() != 0, reason="needs root")),
        (open_to_others, "others can write to"),
        (journal_open_to_others, "others can write to"),
        (fetched_from_a_bucket, "a copy of gs://bucket/run"),
        (of_another_machine, "recorded on 'another-machine'"),
        (of_a_machine_that_is_not_named, "does not say on which machine it was recorded"),
    ],
)
def test_a_run_that_somebody_else_could_have_written_is_refused_even_with_yes(
    spoil: Callable[[run_folder.RunFolder], None], why: str, tmp_path: Path
) -> None:
    recorded(write(tmp_path, MARKING))
    spoil(run_lookup.find("last"))
    code, said = asked("--yes")
    assert code == 2 and why in said and "unstall run --confirm -- COMMAND" in said
    assert not (tmp_path / "started").exists()


def test_the_command_that_was_just_typed_needs_no_question(tmp_path: Path) -> None:
    program = write(tmp_path, MARKING)
    recorded(program, "--password", "•••")
    make_experiments(run_lookup.find("last"), ("replay_batch",), [sys.executable, str(program), "--password", "hunter2"])
    assert (tmp_path / "started").exists()


def test_a_confirmed_verdict_is_certain_and_a_refuted_one_is_withdrawn() -> None:
    steps = StepsEnded(at=1.0, first=1, last=100, seconds=10.0)
    likely = Found(Certainty.LIKELY, "it waits for input", (Evidence("waits", 1, None, (steps,)),), ("prefetch",))

    def after(step_s: float) -> object:
        return confirm_verdict(
            "input_starved",
            likely,
            Journal([steps, ExperimentEnded(at=2.0, experiment="replay_batch", facts={"step_s": step_s})]),
        )

    fast, same = after(0.01), after(0.099)
    assert isinstance(fast, Found)
    assert fast.certainty is Certainty.CERTAIN
    assert "replay_batch" in fast.evidence[-1].claim
    assert isinstance(same, Clear)
    assert confirm_verdict("input_starved", likely, Journal([steps])) is likely
