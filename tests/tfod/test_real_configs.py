"""Configs that people train by, where there are some: UNSTALL_DATA names the folder that holds tfod/configs/."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from unstall.base.errors import InvalidInputError
from unstall.config.sources import resolve
from unstall.tfod.config import list_leaves, read
from unstall.tfod.conversion import ConvertedConfig, convert, write
from unstall.tfod.inputs import PathOverrides

PLACE = Path(os.environ.get("UNSTALL_DATA", "")) / "tfod"
pytestmark = pytest.mark.skipif(not (PLACE / "configs").is_dir(), reason="UNSTALL_DATA names no folder with tfod/configs/")
CONFIGS = sorted((PLACE / "configs").glob("*.config"))
BUILD = """
import json, sys
from unstall.config.detectors import create_settings
for model, changes in json.load(sys.stdin):
    create_settings(model, **changes)
"""


@pytest.fixture(scope="module")
def all_converted() -> dict[str, ConvertedConfig | str]:
    """Each by its name; of one that is refused, what was said."""
    given = PathOverrides(str(PLACE / "pets_examples.record"), str(PLACE / "pet_label_map.pbtxt"))
    found: dict[str, ConvertedConfig | str] = {}
    for path in CONFIGS:
        try:
            found[path.name] = convert(path, given)
        except InvalidInputError as refused:
            found[path.name] = str(refused)
    return found


def test_all_are_read() -> None:
    assert len(CONFIGS) == 70
    assert all(sum(1 for _ in list_leaves(read(path))) > 30 for path in CONFIGS)


def test_those_with_a_counterpart_are_converted_and_others_refused_by_name(
    all_converted: dict[str, ConvertedConfig | str],
) -> None:
    models = Counter(found.model for found in all_converted.values() if isinstance(found, ConvertedConfig))
    assert models == {
        "fasterrcnn_resnet50_fpn": 27,
        "ssdlite320_mobilenet_v3_large": 18,
        "retinanet_resnet50_fpn_v2": 16,
        "ssd300_vgg16": 2,
    }
    refused = {name: said for name, said in all_converted.items() if isinstance(said, str)}
    assert len(refused) == 7
    assert all("Received: CenterNet" in said and name.startswith("center") for name, said in refused.items())


def test_no_field_of_them_is_unknown(all_converted: dict[str, ConvertedConfig | str]) -> None:
    for found in all_converted.values():
        if isinstance(found, ConvertedConfig):
            assert found.count()["unknown"] == 0, [row for row in found.rows if row.became == "unknown"]
            assert found.images == 10


def test_their_settings_are_read_again(all_converted: dict[str, ConvertedConfig | str], tmp_path: Path) -> None:
    for name, found in all_converted.items():
        if isinstance(found, ConvertedConfig):
            write(found, str(tmp_path / name))
            settings = resolve({}, str(tmp_path / name / "unstall.toml")).settings
            assert (settings.model, settings.epochs) == (found.model, found.settings.get("epochs", settings.epochs))


@pytest.mark.torch
def test_detectors_can_be_built_with_them(all_converted: dict[str, ConvertedConfig | str]) -> None:
    """In a process of its own: it loads Keras."""
    wanted = [(found.model, found.settings["detector"]) for found in all_converted.values() if isinstance(found, ConvertedConfig)]
    environment = {**os.environ, "KERAS_BACKEND": "torch"}
    done = subprocess.run(
        [sys.executable, "-c", BUILD], input=json.dumps(wanted), capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr[-2000:]
