"""`make test`: a run that fails hides nothing of the runs after it or beside it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.run_all import ALL, BACKENDS, BIN, GROUPS, ROOT, Run, mentions, quick_files, run_beside
from tests.test_layers import ROOMS


def suite(folder: Path, name: str, body: str) -> Run:
    file = folder / f"test_{name}.py"
    file.write_text(body)
    return Run(name, (str(BIN / "pytest"), "-rfE", "-p", "no:cacheprovider", f"--rootdir={folder}", str(file)))


def test_the_rest_still_runs_and_all_failures_are_listed_at_the_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = "def test_wrong():\n    assert 1 == 2\n\ndef test_right():\n    pass\n"
    runs = [
        suite(tmp_path, "first", wrong),
        suite(tmp_path, "second", wrong),
        Run("tool", (sys.executable, "-c", "raise SystemExit(3)"), waits=True),
        suite(tmp_path, "right", "def test_right():\n    pass\n"),
    ]
    assert run_beside(runs) == 1
    said = capsys.readouterr().out
    assert "right: passed" in said and "1 passed" in said
    summary = said.rpartition("3 failed:")[2]
    for name in ("first", "second"):
        assert f"  {name}: FAILED " in summary and f"test_{name}.py::test_wrong" in summary
    assert "tool: exit code 3" in summary and "right" not in summary.replace("test_right", "")


def test_a_suite_that_passes_ends_with_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_beside([suite(tmp_path, "right", "def test_right():\n    pass\n")]) == 0
    assert capsys.readouterr().out.endswith("Everything passed.\n")


def test_every_run_but_the_quick_ones_is_part_of_the_whole_once() -> None:
    names = [run.name for name, runs in GROUPS.items() if name != "quick" for run in runs]
    assert sorted(run.name for run in ALL) == sorted(names) and len(set(names)) == len(names)


def test_every_folder_of_tests_without_a_backend_is_in_a_run_once() -> None:
    """These runs take either what they name or all but what they leave out: together that is all, and nothing twice."""
    without = [run.command for run in ALL if run.name.startswith("no backend")]
    named = [word for command in without for word in command if word.startswith("tests/")]
    left_out = [word.removeprefix("--ignore=") for command in without for word in command if word.startswith("--ignore=")]
    assert sorted(named) == sorted(left_out) and all((ROOT / path).is_dir() for path in named)


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_file_that_may_need_a_backend_is_in_a_run_of_it_once(backend: str) -> None:
    """That a test with the mark of a backend stands in such a file is seen to whenever tests are collected: tests/conftest.py."""
    files = [word for run in GROUPS[backend] for word in run.command if word.startswith("tests/")]
    expected = [path for path in (ROOT / "tests").rglob("test_*.py") if "specimens" not in path.parts and mentions(path, backend)]
    assert sorted(files) == sorted(path.relative_to(ROOT).as_posix() for path in expected)


def test_the_quick_tests_cover_every_room() -> None:
    lacking = [room for room in ROOMS if not any(path.startswith(f"tests/{room}/") for path in quick_files())]
    assert not lacking, f"Add a file of tests to {lacking} that neither starts a process nor waits."
