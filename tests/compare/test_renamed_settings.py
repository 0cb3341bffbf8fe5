"""A run from before settings were renamed is compared with one of today by what its settings say, not by what they are called."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from unstall.compare.differences.finder import find_differences
from unstall.compare.record import facts, store
from unstall.compare.record.store import load_record
from unstall.config.aliases import update_names
from unstall.config.settings import list_names
from unstall.journal.reader import JOURNAL_FILES
from unstall.journal.run_folder import RunFolder

OLD_RUN = Path(__file__).parents[1] / "old_runs" / "trained"


def copied(folder: Path, has_record: bool = False, **changes: Any) -> RunFolder:
    """The old run; with changes it is one of today, which has them."""
    shutil.copytree(OLD_RUN, folder)
    run = RunFolder(folder)
    if changes:
        run.write_settings({**update_names(run.read_settings()), **changes})
    if has_record:
        plain = json.loads(run.record_path.read_text(encoding="utf-8"))
        plain["journal_bytes"] = sum(path.stat().st_size for path in folder.glob(JOURNAL_FILES))
        plain["version"] = store.VERSION
        run.record_path.write_text(json.dumps(plain), encoding="utf-8")
    else:
        run.record_path.unlink()
    return run


@pytest.mark.parametrize("has_record", [False, True])
def test_settings_that_are_only_called_otherwise_do_not_differ(tmp_path: Path, has_record: bool) -> None:
    before = load_record(copied(tmp_path / "old", has_record=has_record))
    after = load_record(copied(tmp_path / "new", seed=0))
    assert set(facts.read_settings(before)) == set(list_names()) == set(facts.read_settings(after))
    assert find_differences(before, after) == []


@pytest.mark.parametrize("has_record", [False, True])
def test_a_setting_that_differs_is_told_once_by_its_name_of_today(tmp_path: Path, has_record: bool) -> None:
    before = load_record(copied(tmp_path / "old", has_record=has_record))
    after = load_record(copied(tmp_path / "new", warmup_steps=50, augmentations=["mosaic"], lr_schedule="constant"))
    found = [(each.name, each.detail) for each in find_differences(before, after)]
    assert sorted(found) == [
        ("augmentation", "augmentations"),
        ("learning_rate", "lr_schedule"),
        ("learning_rate", "warmup_steps"),
    ]
