"""Where a training begins or goes on: which settings lie in its folder, and what the plan of memory changes in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from unstall import remedies
from unstall.base.errors import InvalidInputError
from unstall.config.settings import Settings, apply_changes, as_plain, from_plain
from unstall.journal.events import PlanMade
from unstall.journal.reader import read_folder
from unstall.journal.run_folder import RunFolder
from unstall.supervisor.train.setup import REMEDIES, begin, join_run, list_sources, load_resumed, read_planned_changes

WANTED = Settings(batch_size=16)


def preflight(status: str, **changes: Any) -> dict[str, Any]:
    return {
        "checks": [
            {"check": "cores", "status": "warning"},
            {"check": "memory_plan", "status": status, "facts": {"changes": changes}},
        ]
    }


def test_a_new_run_holds_what_was_given_and_what_is_run_with(tmp_path: Path) -> None:
    run = begin(WANTED, None, str(tmp_path / "run"), {"micro_batch_size": 4, "precision": "bfloat16"})
    assert from_plain(run.read_settings(are_given=True)) == WANTED
    assert from_plain(run.read_settings()) == apply_changes(WANTED, {"micro_batch_size": 4, "precision": "bfloat16"})
    plans = read_folder(run.path).of(PlanMade)
    assert {plan.remedy for plan in plans} == {"shrink_micro_batch", "use_bfloat16"}
    undone = from_plain(run.read_settings())
    for plan in plans:
        undone = apply_changes(undone, plan.undo)
    assert undone == WANTED


def test_every_change_of_a_plan_has_its_remedy() -> None:
    assert set(REMEDIES.values()) <= set(remedies.REMEDIES.names())


def test_only_a_plan_that_warns_changes_anything() -> None:
    assert read_planned_changes(preflight("warning", remat=True)) == {"remat": True}
    assert read_planned_changes(preflight("ok")) == {} == read_planned_changes({"checks": []})


def test_a_run_that_goes_on_keeps_what_it_was_given(tmp_path: Path) -> None:
    launched = begin(WANTED, None, str(tmp_path / "run"), {"micro_batch_size": 4})
    run, settings = load_resumed(str(tmp_path / "run"), {"epochs": 99})
    assert (run.path, settings.epochs, settings.micro_batch_size) == (launched.path, 99, 4)
    begin(settings, run, None, {"remat": True})
    assert from_plain(run.read_settings()) == settings and from_plain(run.read_settings(are_given=True)) == WANTED


def test_the_last_run_is_the_last_that_was_trained(own_home: Path) -> None:
    trained = begin(WANTED, None, None, {})
    (own_home / "9999-watched").mkdir()
    assert load_resumed("last", {})[0].path == trained.path


def test_a_folder_that_holds_other_things_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(InvalidInputError, match="which holds other things"):
        begin(WANTED, None, str(tmp_path), {})
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
    assert not RunFolder(tmp_path).settings_path.exists()


# --- a run whose first worker is on another machine ---


def test_a_guest_begins_nothing_and_leaves_what_is_there_alone(tmp_path: Path) -> None:
    run = begin(WANTED, None, str(tmp_path / "run"), {"micro_batch_size": 4})
    own_folder = join_run(Settings(batch_size=16), str(tmp_path / "run"), worker=1)
    assert own_folder == run.of_worker(1) == own_folder.of_worker(1) and from_plain(own_folder.read_settings()) == WANTED
    assert from_plain(run.read_settings()) == apply_changes(WANTED, {"micro_batch_size": 4})


def test_a_guest_that_comes_first_is_not_in_the_way_of_the_run(tmp_path: Path) -> None:
    join_run(WANTED, str(tmp_path / "run"), worker=2)
    assert begin(WANTED, None, str(tmp_path / "run"), {}).settings_path.exists()
    (tmp_path / "other" / "workers").mkdir(parents=True)
    (tmp_path / "other" / "thesis.tex").touch()
    with pytest.raises(InvalidInputError, match="expected a folder that is empty"):
        begin(WANTED, None, str(tmp_path / "other"), {})


def test_a_guest_with_several_workers_has_those_in_its_folder(tmp_path: Path) -> None:
    own_folder = join_run(WANTED, str(tmp_path / "run"), worker=2)
    assert own_folder.of_worker(3).path == tmp_path / "run" / "workers" / "2" / "workers" / "3"


def test_a_guest_of_a_run_in_a_bucket_keeps_its_own_folder_there_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert join_run(WANTED, "gs://runs/photos", worker=2).bucket == "gs://runs/photos/workers/2"


def test_settings_of_a_run_that_goes_on_say_whether_they_are_of_its_beginning_or_of_a_repair(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    run.write_settings(as_plain(Settings(epochs=7, batch_size=32)), are_given=True)
    now = Settings(epochs=7, batch_size=32, micro_batch_size=8)
    assert list_sources(run, now) == {"epochs": "the run", "batch_size": "the run", "micro_batch_size": "a repair"}
    run.settings_given_path.unlink()
    assert list_sources(run, now) == dict.fromkeys(("epochs", "batch_size", "micro_batch_size"), "the run")
