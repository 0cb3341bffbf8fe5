"""`unstall report`: a page and a story of any run, of one that ended and of one that goes on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.programs import UNSTALL, write

JOURNALS = Path(__file__).parents[1] / "journals"
A_RUN = JOURNALS / "gpu_exhausted_batch_torch"
READER = """
import json, sys
from types import ModuleType
sys.modules["tensorboard.compat.notf"] = ModuleType("tensorboard.compat.notf")  # else it loads TensorFlow
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
seen = EventAccumulator(sys.argv[1]).Reload()
told = {tag: [(event.wall_time, event.step, event.value) for event in seen.Scalars(tag)] for tag in seen.Tags()["scalars"]}
print(json.dumps(told))
"""


def call(*arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [*UNSTALL, *arguments], capture_output=True, text=True, check=False, timeout=240, env={**os.environ, **env}, input=""
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done


def test_a_run_gets_its_page_where_it_is_asked_for(tmp_path: Path) -> None:
    target = tmp_path / "page.html"
    done = call("report", str(A_RUN), "--out", str(target))
    assert (done.returncode, done.stdout) == (0, f"{target}\n")
    assert target.read_text().startswith("<!doctype html>")


def test_tensorboard_shows_the_same_scalars(tmp_path: Path) -> None:
    """Read by TensorBoard itself, in a process of its own: it would load a framework into this one."""
    pytest.importorskip("tensorboard")
    arguments = ("report", str(A_RUN), "--out", str(tmp_path / "page.html"), "--tensorboard", str(tmp_path / "scalars"))
    for _ in range(2):  # the second takes the place of the first
        story = json.loads(call(*arguments, "--json", "-").stdout)
    seen = json.loads(
        subprocess.run(
            [sys.executable, "-c", READER, str(tmp_path / "scalars" / A_RUN.name)], capture_output=True, check=True
        ).stdout
    )
    timeline = story["timeline"]
    lines = {f"{plot['name']}/{line['name']}": line for plot in timeline["plots"] for line in plot.get("lines", ())}
    areas = {f"{plot['name']}/{area['name']}" for plot in timeline["plots"] for area in plot.get("areas", ())}
    assert set(seen) == {*lines, *areas} and lines and areas
    for tag, line in lines.items():
        assert [value for _, _, value in seen[tag]] == pytest.approx(line["mean"], rel=1e-6)
        assert [at - timeline["began"] for at, _, _ in seen[tag]] == pytest.approx(line["t"], abs=1e-3)
        assert [step for _, step, _ in seen[tag]] == sorted(step for _, step, _ in seen[tag])  # its fits each count from 0


def test_a_folder_for_scalars_that_cannot_be_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = call("report", str(A_RUN), "--out", str(tmp_path / "page.html"), "--tensorboard", str(tmp_path / "file"))
    assert done.returncode == 2 and f"Cannot write scalars to '{tmp_path / 'file'}/" in done.stderr


def test_the_same_story_can_be_had_as_json(tmp_path: Path) -> None:
    done = call("report", str(A_RUN), "--out", str(tmp_path / "page.html"), "--json", "-")
    story = json.loads(done.stdout)
    assert story["verdicts"][0]["cause"] == "device_memory_exhausted"
    assert {"time", "host_memory", "device_memory"} <= {plot["name"] for plot in story["timeline"]["plots"]}
    assert story["report"] == str(tmp_path / "page.html")


def test_a_run_that_is_watched_writes_its_page_by_itself_and_says_where(tmp_path: Path, own_home: Path) -> None:
    program = write(tmp_path, "print('hello')\nraise SystemExit(3)\n", "train.py")
    done = call("run", "--json", str(tmp_path / "story.json"), "--", sys.executable, str(program), COLUMNS="400")
    (page,) = own_home.glob("*/report.html")
    assert (done.returncode, done.stdout) == (3, "hello\n")
    assert f"report    {page}" in done.stderr
    assert json.loads((tmp_path / "story.json").read_text())["report"] == str(page)
    assert "exit code 3" in page.read_text()
    assert [path.name for path in page.parent.iterdir() if path.name.startswith(".")] == []


def test_a_page_that_cannot_be_written_changes_nothing_else(tmp_path: Path, own_home: Path) -> None:
    """A folder stands where the page should."""
    source = f"import pathlib\n[(path / 'report.html').mkdir() for path in pathlib.Path({str(own_home)!r}).iterdir()]\nprint('hello')\n"
    done = call("run", "--", sys.executable, str(write(tmp_path, source, "train.py")))
    assert (done.returncode, done.stdout) == (0, "hello\n")
    assert "exit code 0" in done.stderr and "\nreport" not in done.stderr
    rows = [json.loads(line) for path in own_home.glob("*/events-watcher-*") for line in path.read_text().splitlines()]
    assert [event["error"] for event in rows if event["event"] == "ProbeFailed" and event["probe"] == "report"]


def test_a_journal_torn_at_its_end_is_shown_as_far_as_it_goes(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    for path in A_RUN.iterdir():
        (run / path.name).write_bytes(path.read_bytes()[:-40])
    assert call("report", str(run)).returncode == 0
    assert (run / "report.html").is_file()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere"], "There is no run 'nowhere'"),
        ([str(A_RUN), "--out", "/not/there/page.html"], "Cannot write the page to '/not/there/page.html'"),
        ([str(A_RUN), "--out", "/dev/null", "--json", "/not/there"], "Cannot write the JSON to '/not/there'"),
    ],
)
def test_what_is_wrong_is_named(arguments: list[str], words: str) -> None:
    done = call("report", *arguments)
    assert done.returncode == 2 or "no run" in words
    assert words in done.stderr
