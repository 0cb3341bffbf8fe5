"""Where a training begins or goes on: which settings lie in its folder, and what the plan of memory changes in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from unstall.errors import WrongInput
from unstall.journal.events import PlanMade
from unstall.journal.reader import read_folder
from unstall.remedies import remedy_names
from unstall.runs import RunFolder
from unstall.scale.membership import Membership
from unstall.settings import Settings, changed, from_plain
from unstall.supervisor.beginning import REMEDIES, begin, going_on_with, place_here, planned_changes, refuse_contradiction

WANTED = Settings(batch_size=16)


def preflight(answer: str, **changes: Any) -> dict[str, Any]:
    return {
        "checks": [
            {"check": "cores", "answer": "warns"},
            {"check": "memory_plan", "answer": answer, "facts": {"changes": changes}},
        ]
    }


def test_a_new_run_holds_what_was_given_and_what_is_run_with(tmp_path: Path) -> None:
    run = begin(WANTED, None, str(tmp_path / "run"), {"micro_batch": 4, "precision": "bfloat16"})
    assert from_plain(run.read_settings(are_given=True)) == WANTED
    assert from_plain(run.read_settings()) == changed(WANTED, {"micro_batch": 4, "precision": "bfloat16"})
    plans = read_folder(run.path).of(PlanMade)
    assert {plan.remedy for plan in plans} == {"shrink_micro_batch", "use_bfloat16"}
    undone = from_plain(run.read_settings())
    for plan in plans:
        undone = changed(undone, plan.undo)
    assert undone == WANTED


def test_every_change_of_a_plan_has_its_remedy() -> None:
    assert set(REMEDIES.values()) <= set(remedy_names())


def test_only_a_plan_that_warns_changes_anything() -> None:
    assert planned_changes(preflight("warns", remat=True)) == {"remat": True}
    assert planned_changes(preflight("fits")) == {} == planned_changes({"checks": []})


def test_a_run_that_goes_on_keeps_what_it_was_given(tmp_path: Path) -> None:
    begun = begin(WANTED, None, str(tmp_path / "run"), {"micro_batch": 4})
    run, settings = going_on_with(str(tmp_path / "run"), {"epochs": 99})
    assert (run.path, settings.epochs, settings.micro_batch) == (begun.path, 99, 4)
    begin(settings, run, None, {"remat": True})
    assert from_plain(run.read_settings()) == settings and from_plain(run.read_settings(are_given=True)) == WANTED


def test_the_last_run_is_the_last_that_was_trained(own_home: Path) -> None:
    trained = begin(WANTED, None, None, {})
    (own_home / "9999-watched").mkdir()
    assert going_on_with("last", {})[0].path == trained.path


def test_a_folder_that_holds_other_things_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(WrongInput, match="which holds other things"):
        begin(WANTED, None, str(tmp_path), {})
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
    assert not RunFolder(tmp_path).settings_path.exists()


# --- several machines ---


def test_a_machine_without_the_first_worker_has_a_folder_of_its_own_in_that_of_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    assert place_here("gs://bucket/runs/first") == "gs://bucket/runs/first"
    for name, value in Membership(1, 2, "10.0.0.7:8476").as_environment().items():
        monkeypatch.setenv(name, value)
    assert place_here("gs://bucket/runs/first/") == "gs://bucket/runs/first/workers/1" and place_here(None) is None


def test_its_worker_finds_its_folder_there(tmp_path: Path) -> None:
    own = RunFolder(tmp_path / "first" / "workers" / "2")
    assert own.of_worker(2) == own and own.of_worker(3).path == own.path / "workers" / "3"
    assert RunFolder(tmp_path / "first").of_worker(2) == own


def test_the_run_may_begin_where_another_machine_came_first(tmp_path: Path) -> None:
    (tmp_path / "run" / "workers" / "1").mkdir(parents=True)
    refuse_contradiction(None, str(tmp_path / "run"), None)
    (tmp_path / "run" / "thesis.tex").touch()
    with pytest.raises(WrongInput, match="expected a folder that is empty"):
        refuse_contradiction(None, str(tmp_path / "run"), None)
