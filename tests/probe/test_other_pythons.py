"""The program's own Python may be older or newer than ours: the probe is tried on every one that this machine has."""

from __future__ import annotations

import json
import subprocess
import textwrap
from pathlib import Path
from typing import Any

import pytest

from tests.interpreters import FOUND, PYTHON_2
from tests.programs import UNSTALL, write
from unstall.journal.events import ErrorRaised, ProbeFailed, ProgramEnded, ProgramStarted, StepsEnded
from unstall.journal.reader import read_folder

SOURCE = Path(__file__).parents[2] / "src"
OLDEST = (3, 7)  # the oldest Python in which the probe works


ALL = {tuple(int(part) for part in version.split(".")): path for version, path in FOUND.items()}
each_python = pytest.mark.parametrize("python", [path for version, path in ALL.items() if version >= OLDEST])
TOO_OLD = [path for version, path in ALL.items() if version < OLDEST] + [path for path in [PYTHON_2] if path is not None]
each_too_old = pytest.mark.parametrize("python", TOO_OLD)


def watched(python: str, program: Path) -> tuple[dict[str, Any], subprocess.CompletedProcess[str]]:
    """(the story, how the program ended)."""
    text = program.parent / "told.json"
    done = subprocess.run(
        [*UNSTALL, "run", "--json", str(text), "--", python, str(program)],
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    return json.loads(text.read_text()), done


@each_python
def test_all_that_runs_inside_is_loaded_without_a_library(python: str, tmp_path: Path) -> None:
    modules = [path.relative_to(SOURCE) for folder in ("probe", "journal") for path in SOURCE.glob(f"unstall/{folder}/**/*.py")]
    names = [str(path.with_suffix("")).replace("/", ".").replace(".__init__", "") for path in modules]
    names += [f"unstall.base.{name}" for name in ("errors", "files", "redact.environment", "redact.text")]
    names = [name for name in names if not name.endswith("start.sitecustomize")]
    assert len(names) > 80
    code = f"import sys; sys.path.insert(0, {str(SOURCE)!r})\n" + "\n".join(f"import {name}" for name in sorted(names))
    places = "\nprint([m for m in sys.modules.values() if 'site-packages' in str(getattr(m, '__file__', ''))])"
    done = subprocess.run([python, "-B", "-S", "-c", code + places], capture_output=True, text=True, check=False, timeout=240)
    assert (done.stderr, done.stdout) == ("", "[]\n")


@each_python
def test_the_error_that_ends_a_program(python: str, tmp_path: Path, own_home: Path) -> None:
    program = write(tmp_path, "def load():\n    raise ValueError('of the program')\nprint('hello')\nload()\n")
    story, done = watched(python, program)
    assert (done.returncode, done.stdout) == (1, "hello\n")
    assert "ValueError: of the program\n" in done.stderr and "probe/" not in done.stderr
    rows = [story["failure"][field] for field in ("kind", "message", "where")]
    assert rows == ["ValueError", "of the program", f"{program}:2"]
    (run,) = own_home.iterdir()
    journal = read_folder(run)
    assert (len(journal.of(ProgramStarted)), len(journal.of(ErrorRaised)), len(journal.of(ProgramEnded))) == (1, 1, 1)
    assert not journal.of(ProbeFailed), journal.of(ProbeFailed)


@each_python
def test_the_steps_of_a_watched_loop_are_counted(python: str, tmp_path: Path, own_home: Path) -> None:
    source = """
        import unstall
        with unstall.watch(quiet=True) as run:
            for batch in run.steps(range(40)):
                run.log(loss=1.0 / (1 + batch))
        print("done")
    """
    story, done = watched(python, write(tmp_path, textwrap.dedent(source)))
    assert (done.returncode, done.stdout) == (0, "done\n")
    assert story["progress"]["step"] == 39 and story["state"] == "done" and not story["verdicts"]
    (run,) = own_home.iterdir()
    assert not read_folder(run).of(ProbeFailed) and read_folder(run).of(StepsEnded)


@each_python
def test_a_worker_of_multiprocessing_is_no_program(python: str, tmp_path: Path, own_home: Path) -> None:
    source = """
        import multiprocessing, os
        def work():
            os.kill(os.getpid(), 0)  # would switch the probe on
        if __name__ == "__main__":
            worker = multiprocessing.get_context("spawn").Process(target=work)
            worker.start()
            worker.join()
    """
    _, done = watched(python, write(tmp_path, textwrap.dedent(source)))
    assert done.returncode == 0, done.stderr
    assert not list(own_home.glob("*/events-probe-*.jsonl"))


@each_too_old
def test_where_the_probe_cannot_run_it_is_told_with_the_error_that_ended_the_program(python: str, tmp_path: Path) -> None:
    program = write(tmp_path, "def load():\n    raise ValueError('of the program')\nprint('hello')\nload()\n")
    alone = subprocess.run([python, str(program)], capture_output=True, text=True, check=False)
    story, done = watched(python, program)
    assert (done.returncode, done.stdout) == (alone.returncode, alone.stdout)
    assert done.stderr.startswith(alone.stderr)
    rows = [story["failure"][field] for field in ("kind", "message", "where")]
    assert rows == ["ValueError", "of the program", f"{program}:2"]
    assert any(" is too old. Expected Python 3.7 or later" in row["missing"] for row in story["unknown"])


@each_too_old
def test_where_the_probe_cannot_run_nothing_is_called_well(python: str, tmp_path: Path) -> None:
    program = write(tmp_path, "print('fine')")
    done = subprocess.run([*UNSTALL, "run", "--", python, str(program)], capture_output=True, text=True, check=False, timeout=240)
    words = " ".join(done.stderr.split())
    assert (done.returncode, done.stdout) == (0, "fine\n")
    assert "the probe failed to start: RuntimeError: Python " in words and " is too old. Expected Python 3.7 or later" in words
    assert "only what can be seen from outside was watched: use a later Python, or let the program print its steps" in words
    assert "verdict cannot tell: the probe inside the program did not run" in words
    assert "nothing wrong" not in words


@each_too_old
def test_where_the_probe_cannot_run_the_error_is_read_in_any_letters(python: str, tmp_path: Path) -> None:
    program = write(tmp_path, "# coding: utf-8\nclass Broken(Exception): pass\nraise Broken(u'kaputt: \u00e4\u4e16\U0001f600')\n")
    story, done = watched(python, program)
    assert done.returncode == 1
    assert story["failure"]["kind"] == "__main__.Broken"
    assert story["failure"]["message"] == "kaputt: \u00e4\u4e16\U0001f600"


@each_too_old
def test_where_the_probe_cannot_run_another_sitecustomize_still_does(
    python: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text("import sys; sys.from_the_other = 'yes'", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(site))
    program = write(tmp_path, "import sys\nprint(sys.from_the_other)\nraise ValueError('of the program')\n")
    story, done = watched(python, program)
    assert (done.returncode, done.stdout) == (1, "yes\n")
    assert story["failure"]["message"] == "of the program"
