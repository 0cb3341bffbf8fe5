"""The last good run of the same script or settings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from unstall.compare.last_good import find_last_good, find_last_good_like
from unstall.journal.events import EpochEnded, Event, FitBegan, StepsEnded
from unstall.journal.run_folder import RunFolder
from unstall.journal.writer import encode


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("UNSTALL_HOME", str(tmp_path))
    return tmp_path


SEEN: tuple[Event, ...] = (StepsEnded(at=1.0, first=0, last=9, seconds=1.0, loss=0.5, loss_is_finite=True),)


def a_run(
    home: Path,
    name: str,
    at: float,
    state: str = "done",
    effect: str = "",
    script: str = "train.py",
    settings: str = "",
    seen: tuple[Event, ...] = SEEN,
) -> RunFolder:
    folder = home / name
    folder.mkdir()
    started = {"event": "RunStarted", "at": at, "mode": "run", "command": ["python", script], "folder": "/home/u", "pid": 1}
    (folder / "events-watcher-1.jsonl").write_text(json.dumps(started) + "\n")
    (folder / "events-probe-1.jsonl").write_bytes(b"".join(map(encode, seen)))
    verdicts = [{"cause": "x", "effect": effect}] if effect else []
    (folder / "story.json").write_text(json.dumps({"state": state, "verdicts": verdicts}))
    if settings:
        (folder / "settings.json").write_text(settings)
    return RunFolder(folder)


def test_the_newest_that_ended_well_is_taken(home: Path) -> None:
    a_run(home, "1", 1.0)
    good = a_run(home, "2", 2.0)
    a_run(home, "3", 3.0, state="failed")
    a_run(home, "4", 4.0, effect="spoils")
    bad = a_run(home, "5", 5.0, state="failed")
    assert find_last_good_like(bad) == good
    assert find_last_good("train.py") == good
    assert find_last_good("/home/u/train.py") == good


def test_a_run_that_printed_its_loss_as_nan_is_not_good(home: Path) -> None:
    run = a_run(home, "1", 1.0)
    story = json.loads(run.story_path.read_text())
    run.story_path.write_text(json.dumps({**story, "printed": {"is_finite_now": False}}))
    assert find_last_good("train.py") is None
    run.story_path.write_text(json.dumps({**story, "printed": {"is_finite_now": True}}))
    assert find_last_good("train.py") == run


def test_a_run_that_was_only_slow_is_good(home: Path) -> None:
    slow = a_run(home, "1", 1.0, effect="slows")
    assert find_last_good("train.py") == slow


NOT_A_NUMBER = StepsEnded(at=2.0, first=10, last=19, seconds=1.0, loss_is_finite=False)
FOUND_AGAIN = StepsEnded(at=3.0, first=20, last=29, seconds=1.0, loss=0.5, loss_is_finite=True)
EPOCH = EpochEnded(at=4.0, logs={"loss": None}, not_finite=["loss"])


@pytest.mark.parametrize(
    "seen",
    [(*SEEN, NOT_A_NUMBER), (NOT_A_NUMBER, FOUND_AGAIN), (StepsEnded(at=1.0, last=9), EPOCH), (), (FitBegan(at=1.0),)],
    ids=["loss became nan", "loss was nan in between", "loss of the epoch is nan", "not seen inside", "no step was seen"],
)
def test_a_run_whose_loss_was_no_number_or_that_was_not_seen_inside_is_never_good(home: Path, seen: tuple[Event, ...]) -> None:
    """Though its story says that nothing was wrong."""
    good = a_run(home, "1", 1.0)
    a_run(home, "2", 2.0, seen=seen)
    assert find_last_good("train.py") == good
    assert find_last_good_like(a_run(home, "3", 3.0, state="failed")) == good


def test_a_run_of_which_steps_but_no_losses_were_seen_is_good(home: Path) -> None:
    good = a_run(home, "1", 1.0, seen=(StepsEnded(at=1.0, last=9, seconds=1.0),))
    assert find_last_good("train.py") == good


def test_other_scripts_and_later_runs_do_not_count(home: Path) -> None:
    a_run(home, "1", 1.0, script="other.py")
    bad = a_run(home, "2", 2.0, state="failed")
    a_run(home, "3", 3.0)
    assert find_last_good_like(bad) is None


def test_trainings_are_alike_by_their_data_and_best_by_their_model(home: Path) -> None:
    same = a_run(home, "1", 1.0, settings='{"data": "shapes", "model": "ssd_tiny"}')
    other = a_run(home, "2", 2.0, settings='{"data": "shapes", "model": "retinanet_tiny"}')
    assert find_last_good_like(a_run(home, "3", 3.0, "failed", settings='{"data": "shapes", "model": "ssd_tiny"}')) == same
    assert find_last_good_like(a_run(home, "4", 4.0, "failed", settings='{"data": "shapes", "model": "faster_tiny"}')) == other
    assert find_last_good_like(a_run(home, "5", 5.0, "failed", settings='{"data": "coco", "model": "ssd_tiny"}')) is None


def test_a_run_that_lies_elsewhere_finds_its_neighbours(home: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = tmp_path_factory.mktemp("mine")
    good = a_run(elsewhere, "z", 1.0)
    assert find_last_good_like(a_run(elsewhere, "a", 2.0, state="failed")) == good
