"""A program that hangs, is named, and is then ended by its user: what it hung on is the last word, whatever it does on its way out."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.programs import UNSTALL, write
from tests.supervisor.run.interrupted_programs import FIT, GUARDED, LOOP
from unstall.base.exit_codes import VERDICT_FOUND
from unstall.board.rows import read_row
from unstall.journal.run_folder import RunFolder
from unstall.report.terminal.story import format_headline

pytestmark = pytest.mark.torch
WITHIN_S = 120.0  # a machine may be busy


class Program:
    """One that was started under `unstall run --json`."""

    def __init__(self, folder: Path, source: str, how: str) -> None:
        folder.mkdir()
        self.folder, self.json_path = folder, folder / "story-out.json"
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.script = write(folder, source, "train.py")
        self.env = {**os.environ, "UNSTALL_HOME": str(folder / "home"), "OMP_NUM_THREADS": "1"}
        self.env.pop("UNSTALL_RUN", None)
        command = [*UNSTALL, "run", "--json", str(self.json_path), "--", sys.executable, str(self.script)]
        with (folder / "err").open("w") as err:
            self.process = subprocess.Popen(
                [*command, str(self.listener.getsockname()[1]), how],
                cwd=folder, env=self.env, stdout=subprocess.DEVNULL, stderr=err, start_new_session=True,
            )  # fmt: skip
        self.before: dict[str, Any] | None = None  # the JSON when the verdict had been said
        self.row: dict[str, Any] = {}

    @property
    def run(self) -> RunFolder:
        return RunFolder(next(path for path in (self.folder / "home").iterdir() if path.is_dir()))

    @property
    def err(self) -> str:
        return (self.folder / "err").read_text()

    @property
    def summary(self) -> str:
        """What was printed last."""
        return self.err.rsplit("─ unstall ─", 1)[-1]

    @property
    def json(self) -> dict[str, Any]:
        plain: dict[str, Any] = json.loads(self.json_path.read_text())
        return plain

    @property
    def story(self) -> dict[str, Any]:
        with contextlib.suppress(StopIteration, OSError):
            return self.run.read_story() or {}
        return {}

    def wait_for(self, what: Callable[[dict[str, Any]], object]) -> None:
        """Until the story is so. The JSON, where there is one, is whole at every moment."""
        until = time.monotonic() + WITHIN_S
        while not what(self.story):
            assert time.monotonic() < until and self.process.poll() is None, self.err
            if self.json_path.exists():
                assert self.json["verdicts"] is not None
            time.sleep(0.05)

    def wait_for_verdict(self) -> None:
        self.wait_for(lambda story: story.get("verdicts") and "generator_blocked" in self.err)
        self.before = self.json if self.json_path.exists() else None
        time.sleep(4)  # the user reads it; meanwhile the native stacks are taken

    def signal_all(self, number: int) -> None:
        """As a terminal does at Ctrl-C."""
        os.killpg(self.process.pid, number)

    def interrupt_training(self) -> None:
        """Until it leaves: see FIT."""
        until = time.monotonic() + WITHIN_S
        while not (self.folder / "leaving").exists():
            assert time.monotonic() < until, self.err
            self.signal_all(signal.SIGINT)
            again = time.monotonic() + 10
            while time.monotonic() < again and not (self.folder / "leaving").exists():
                time.sleep(0.1)

    def end(self) -> None:
        self.process.wait(WITHIN_S)
        self.row = read_row(self.run)

    def kill_what_is_left(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.signal_all(signal.SIGKILL)
        self.process.wait(WITHIN_S)
        self.listener.close()


def guarded(folder: Path) -> dict[str, Any]:
    env = {**os.environ, "UNSTALL_HOME": str(folder / "guarded-home"), "OMP_NUM_THREADS": "1"}
    env.pop("UNSTALL_RUN", None)
    command = [sys.executable, str(write(folder, GUARDED, "notebook.py"))]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, timeout=4 * WITHIN_S, check=True)
    plain: dict[str, Any] = json.loads(done.stdout)
    run = RunFolder(Path(plain["run"]))
    until = time.monotonic() + WITHIN_S
    while not (run.read_story() or {}).get("report") and time.monotonic() < until:  # the watcher outlives the program by a moment
        time.sleep(0.1)
    return {**plain, "stories": [*plain["stories"], run.read_story()]}


def interrupted_fit(program: Program) -> None:
    program.wait_for_verdict()
    program.signal_all(signal.SIGINT)
    program.end()


def killed_fit(program: Program) -> None:
    program.wait_for_verdict()
    os.kill(program.story["pid"], signal.SIGKILL)
    program.end()


def terminated_loop(program: Program) -> None:
    program.wait_for_verdict()
    os.kill(program.process.pid, signal.SIGTERM)
    program.end()


def interrupted_loop(program: Program) -> None:
    program.wait_for_verdict()
    program.signal_all(signal.SIGINT)
    program.end()


def swallowing_loop(program: Program) -> None:
    """First the watcher is killed, so that nothing more can be written; then the program."""
    program.wait_for_verdict()
    os.kill(program.process.pid, signal.SIGTERM)
    time.sleep(2)
    os.kill(program.process.pid, signal.SIGKILL)
    program.kill_what_is_left()
    program.end()


def healthy_fit(program: Program) -> None:
    program.wait_for(lambda story: (story.get("progress") or {}).get("step"))
    program.interrupt_training()
    program.end()


def resumed_fit(program: Program) -> None:
    """The server answers after all, and the training is interrupted while it goes well."""
    program.wait_for_verdict()
    connection, _ = program.listener.accept()
    connection.sendall(b"!")
    program.wait_for(lambda story: story.get("state") == "training" and story["progress"]["step"] > 300)
    program.interrupt_training()
    program.end()
    connection.close()


SCENES: dict[str, tuple[str, str, Callable[[Program], None]]] = {
    "interrupted_fit": (FIT, "200", interrupted_fit),
    "killed_fit": (FIT, "200", killed_fit),
    "terminated_loop": (LOOP, "leaves", terminated_loop),
    "interrupted_loop": (LOOP, "leaves", interrupted_loop),
    "swallowing_loop": (LOOP, "stays", swallowing_loop),
    "healthy_fit": (FIT, "-1", healthy_fit),
    "resumed_fit": (FIT, "200", resumed_fit),
}


def play(folder: Path, name: str) -> Program:
    source, how, scene = SCENES[name]
    program = Program(folder / name, source, how)
    try:
        scene(program)
    finally:
        program.kill_what_is_left()
    return program


@pytest.fixture(scope="module")
def pool() -> Iterator[ThreadPoolExecutor]:
    """The programs run beside each other: each only waits for most of its time."""
    with ThreadPoolExecutor(8) as pool:
        yield pool


@pytest.fixture(scope="module")
def notebook(pool: ThreadPoolExecutor, tmp_path_factory: pytest.TempPathFactory) -> Future[dict[str, Any]]:
    return pool.submit(guarded, tmp_path_factory.mktemp("guarded"))


@pytest.fixture(scope="module")
def played(
    pool: ThreadPoolExecutor, tmp_path_factory: pytest.TempPathFactory, notebook: Future[dict[str, Any]]
) -> dict[str, Future[Program]]:
    folder = tmp_path_factory.mktemp("ended")
    return {name: pool.submit(play, folder, name) for name in SCENES}


@pytest.mark.parametrize(
    ("name", "state"),
    [
        ("interrupted_fit", "killed"),
        ("killed_fit", "killed"),
        ("terminated_loop", "failed"),
        ("interrupted_loop", "killed"),
    ],
)
def test_what_it_hung_on_is_the_verdict_everywhere(played: dict[str, Future[Program]], name: str, state: str) -> None:
    program = played[name].result()
    line = program.script.read_text().split("# BLOCKED HERE")[0].count("\n") + 1
    for story in (program.json, program.story):
        assert (story["state"], [each["cause"] for each in story["verdicts"]]) == (state, ["generator_blocked"])
        assert story["verdicts"][0]["where"] == f"train.py:{line}"
        assert (story["verdicts"][0]["certainty"], story["earlier"]) == ("certain", [])
        assert story["progress"]["stalled_s"] > 0
    assert f"generator_blocked (certain)  train.py:{line}" in program.summary
    assert "nothing wrong" not in program.summary and "no longer so" not in program.summary
    page = program.run.report_path.read_text()
    assert "generator_blocked" in page and ", to the end" in page
    assert "then it went on" not in page and "Said while it ran" not in page and "nothing wrong" not in page
    assert (program.row["state"], program.row["tone"], program.row["verdict"]["cause"]) == (state, "bad", "generator_blocked")


def test_a_guarded_fit_that_was_interrupted_keeps_its_verdict_until_steps_are_made(notebook: Future[dict[str, Any]]) -> None:
    interrupted, later, trained, ended = notebook.result()["stories"]
    for story in (interrupted, later):
        assert (story["state"], story["ended"]) == ("interrupted", None)
        assert [(each["cause"], each["certainty"]) for each in story["verdicts"]] == [("generator_blocked", "certain")]
        assert "interrupted after" in format_headline(story)
    # The second fit was healthy, and so was its interruption.
    assert trained["verdicts"] == [] and trained["state"] in {"training", "running"}
    assert (ended["state"], ended["verdicts"]) == ("done", [])
    assert [(each["cause"], each["no_steps_after"]) for each in ended["earlier"]] == [("generator_blocked", False)]


def test_what_it_hung_on_is_told_again(played: dict[str, Future[Program]]) -> None:
    program = played["interrupted_fit"].result()
    result = subprocess.run(
        [*UNSTALL, "diagnose", program.run.name, "--json", "-"], env=program.env, capture_output=True, check=False
    )
    assert result.returncode == VERDICT_FOUND, result.stderr
    assert [each["cause"] for each in json.loads(result.stdout)["verdicts"]] == ["generator_blocked"]
    listed = subprocess.run([*UNSTALL, "runs", "--json", "-"], env=program.env, capture_output=True, check=True).stdout
    assert json.loads(listed)["runs"][0]["verdict"] == "generator_blocked"


def test_the_json_is_there_when_the_verdict_is(played: dict[str, Future[Program]]) -> None:
    for name in ("interrupted_fit", "swallowing_loop"):
        before = played[name].result().before
        assert before is not None
        assert (before["state"], before["ended"], before["verdicts"][0]["cause"]) == ("stuck", None, "generator_blocked")


def test_a_program_that_swallows_the_signal_and_is_killed_with_its_watcher_leaves_the_verdict(
    played: dict[str, Future[Program]],
) -> None:
    program = played["swallowing_loop"].result()
    for story in (program.json, program.story):
        assert [each["cause"] for each in story["verdicts"]] == ["generator_blocked"]
    assert program.row["verdict"]["cause"] == "generator_blocked"
    assert sorted(path.name for path in program.folder.iterdir()) == ["err", "home", "story-out.json", "train.py"]


def test_a_healthy_training_that_is_interrupted_is_healthy(played: dict[str, Future[Program]]) -> None:
    program = played["healthy_fit"].result()
    assert (program.before, program.json["state"], program.json["verdicts"], program.json["earlier"]) == (
        None, "interrupted", [], [],
    )  # fmt: skip
    assert "nothing wrong in what could be seen" in program.summary
    assert (program.row["tone"], program.row["verdict"]) == ("warn", None)


def test_a_stall_after_which_steps_were_made_is_no_longer_so(played: dict[str, Future[Program]]) -> None:
    program = played["resumed_fit"].result()
    assert program.before is not None
    assert (program.json["state"], program.json["verdicts"]) == ("interrupted", [])
    assert [(each["cause"], each["no_steps_after"]) for each in program.json["earlier"]] == [("generator_blocked", False)]
    assert "generator_blocked: said while it ran, and no longer so" in program.summary
    assert ", then it went on" in program.run.report_path.read_text()
