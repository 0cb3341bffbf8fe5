"""`make test`: a run that fails hides nothing of the runs after it or beside it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.run_all import BIN, LANES, Run, run_lanes


def suite(folder: Path, name: str, body: str) -> Run:
    file = folder / f"test_{name}.py"
    file.write_text(body)
    return Run(name, (str(BIN / "pytest"), "-rfE", "-p", "no:cacheprovider", f"--rootdir={folder}", str(file)))


def test_the_rest_still_runs_and_all_failures_are_listed_at_the_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = "def test_wrong():\n    assert 1 == 2\n\ndef test_right():\n    pass\n"
    lanes = [
        [suite(tmp_path, "first", wrong), suite(tmp_path, "second", wrong)],
        [Run("tool", (sys.executable, "-c", "raise SystemExit(3)")), suite(tmp_path, "right", "def test_right():\n    pass\n")],
    ]
    assert run_lanes(lanes) == 1
    said = capsys.readouterr().out
    assert "right: passed" in said and "1 passed" in said
    summary = said.rpartition("3 failed:")[2]
    for name in ("first", "second"):
        assert f"  {name}: FAILED " in summary and f"test_{name}.py::test_wrong" in summary
    assert "tool: exit code 3" in summary and "right" not in summary.replace("test_right", "")


def test_a_suite_that_passes_ends_with_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_lanes([[suite(tmp_path, "right", "def test_right():\n    pass\n")]]) == 0
    assert capsys.readouterr().out.endswith("Everything passed.\n")


def test_every_folder_of_tests_is_in_a_lane_once() -> None:
    """Runs without a backend take either what they name or all but what they leave out: together that is all, and nothing twice."""
    without = [run.command for lane in LANES.values() for run in lane if run.name.startswith("no backend")]
    named = [word for command in without for word in command if word.startswith("tests/")]
    left_out = [word.removeprefix("--ignore=") for command in without for word in command if word.startswith("--ignore=")]
    assert sorted(named) == sorted(left_out) and all((Path(__file__).parents[1] / path).is_dir() for path in named)
