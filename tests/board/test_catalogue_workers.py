"""Workers of one training stand together in the list, and the one that holds the others cannot be overlooked."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.board.run_folders import Written, finished, stuck, training
from unstall.board.catalogue import Catalogue
from unstall.board.pages import ListPage
from unstall.journal.events import MembershipSeen


@pytest.fixture
def catalogue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Catalogue:
    monkeypatch.setattr("unstall.board.catalogue.LOOK_EVERY_S", 0.0)
    return Catalogue(tmp_path)


def of_workers(written: Written, worker: int, of: int = 3, coordinator: str = "10.0.0.1:1234") -> Written:
    return written.write(MembershipSeen(at=written.began, worker=worker, of=of, coordinator=coordinator))


def waits(folder: Path, name: str, worker: int) -> Written:
    """In a collective operation, as its own watcher says."""
    return of_workers(training(folder, name, ago=12), worker).stalls(60, 69, step=571).verdict(70, "collective_stuck")


def test_who_holds_the_others_stands_first_and_says_why(catalogue: Catalogue) -> None:
    waits(catalogue.folder, "a-run", 0)
    waits(catalogue.folder, "b-run", 1)
    of_workers(stuck(catalogue.folder, "c-run"), 2)
    training(catalogue.folder, "another")
    rows = catalogue.look()
    assert [row["run"] for row in rows] == ["c-run", "a-run", "b-run", "another"]
    assert rows[0]["distributed"]["blocks"] == {"description": "generator_blocked", "count": 2}
    assert [row["distributed"]["blocked_by"] for row in rows[1:3]] == ["worker 2", "worker 2"]
    assert rows[3]["distributed"] is None
    page = ListPage(catalogue).whole()
    assert "✖ holds the others: generator_blocked" in page
    assert "1 run is stuck" in page and "(worker 2 holds 2 of 3)" in page
    assert page.count("waits for worker 2") == 2


def test_a_row_changes_when_another_worker_does(catalogue: Catalogue) -> None:
    waits(catalogue.folder, "a-run", 0)
    moves = of_workers(training(catalogue.folder, "b-run"), 1)
    catalogue.look()
    seen = catalogue.number
    moves.ends(61, exit_code=None, signal=9)
    catalogue.look()
    plain = {row["run"]: row["distributed"] for row in catalogue.changed_since(seen)[0]}
    assert plain["a-run"]["blocked_by"] == "worker 1"
    assert plain["b-run"]["blocks"]["description"] == "after step 571 it has killed"


def test_workers_that_all_train_hold_nobody(catalogue: Catalogue) -> None:
    for worker in range(3):
        of_workers(training(catalogue.folder, f"run-{worker}"), worker)
    rows = catalogue.look()
    assert [row["distributed"]["rank"] for row in rows] == [0, 1, 2]
    assert not any(row["distributed"]["blocks"] or row["distributed"]["blocked_by"] for row in rows)
    assert "holds" not in ListPage(catalogue).whole().partition("<tbody>")[2]


def test_an_earlier_training_at_the_same_address_is_another_group(catalogue: Catalogue) -> None:
    place = {"worker": 1, "of": 3, "cluster": "10.0.0.1:1234"}
    finished(catalogue.folder, "before-0", membership={**place, "worker": 0})
    finished(catalogue.folder, "before-1", membership=place)
    for worker in (0, 1):
        of_workers(Written(catalogue.folder, f"now-{worker}", time.time() - 60).starts().fits().steps(0, 9, 50), worker)
    groups = {row["run"]: row["distributed"]["group"] for row in catalogue.look()}
    assert groups == {"now-0": "now-0", "now-1": "now-0", "before-0": "before-0", "before-1": "before-0"}
