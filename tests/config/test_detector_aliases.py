"""Old names of the detectors' settings load, each with a note that says the new one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from unstall.base.errors import InvalidInputError
from unstall.config import toml_file
from unstall.config.aliases import (
    OLD_DETECTOR_NAMES,
    describe_renamed_in_run,
)
from unstall.config.detectors import FAMILIES, list_family_settings
from unstall.config.settings import from_stored
from unstall.config.sources import resolve

OLD_RUN = Path(__file__).parents[1] / "old_runs" / "trained"
OLD_SETTINGS: dict[str, Any] = json.loads((OLD_RUN / "settings.json").read_text(encoding="utf-8"))


def test_every_old_setting_of_a_detector_leads_to_one_that_there_is() -> None:
    current = {each.name for family in FAMILIES.names() for each in list_family_settings(family)}
    assert set(OLD_DETECTOR_NAMES.values()) <= current
    assert not set(OLD_DETECTOR_NAMES) & current


def test_old_settings_of_a_detector_load_from_a_file_with_a_note_for_each(tmp_path: Path) -> None:
    path = tmp_path / "unstall.toml"
    path.write_text('model = "ssd_tiny"\n[detector]\nimage_px = [64, 96]\nwidth = 4\n')
    assert resolve({}, str(path)).settings.detector == {"image_size": [64, 96], "stem_channels": 4}
    assert toml_file.list_notes(path) == [
        f"{path}:3: 'image_px' is now 'image_size'.",
        f"{path}:4: 'width' is now 'stem_channels'.",
    ]


def test_old_settings_of_a_detector_load_from_a_run_folder() -> None:
    assert OLD_SETTINGS["detector"] == {"image_px": [128, 128]}
    assert from_stored(OLD_SETTINGS).detector == {"image_size": [128, 128]}
    assert "'image_px' is now 'image_size'" in describe_renamed_in_run(OLD_SETTINGS, "here")


def test_an_old_setting_of_a_detector_is_refused_as_an_option_with_the_one_to_use() -> None:
    with pytest.raises(InvalidInputError, match=r"ssd_tiny has no setting 'least_score'\. Use 'score_threshold'\."):
        resolve({"model": "ssd_tiny", "detector": {"least_score": 0.5}})
