"""Real data sets, where there are some: UNSTALL_DATA names the folder that holds bccd/ and tfod/."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from tests.data.dataset_files import same_boxes
from unstall.data import formats
from unstall.data.io.images import read_header
from unstall.data.tools.convert import convert

PLACE = os.environ.get("UNSTALL_DATA", "")
pytestmark = pytest.mark.skipif(not (PLACE and Path(PLACE).is_dir()), reason="UNSTALL_DATA names no folder with real data sets")


def test_blood_cells_are_read_whole_and_nothing_is_called_wrong() -> None:
    data = formats.read(Path(PLACE) / "bccd")
    assert (data.format, data.classes, len(data.examples), data.box_count) == ("voc", ("Platelets", "RBC", "WBC"), 364, 4888)
    assert Counter(example.split for example in data.examples) == {"train": 205, "val": 87, "test": 72}
    assert data.findings == ()
    boxes = np.concatenate([example.boxes for example in data.examples])
    assert int((boxes[:, 2:] <= boxes[:, :2]).any(axis=1).sum()) == 2  # the two of no area are kept for the check


@pytest.mark.parametrize("name", formats.FORMATS.names())
def test_blood_cells_through_each_format(tmp_path: Path, name: str) -> None:
    before = formats.read(Path(PLACE) / "bccd")
    convert(Path(PLACE) / "bccd", tmp_path / name, name, link=True)
    after = formats.read(tmp_path / name)
    by_name = {example.name: example for example in after.examples}
    assert after.findings == ()
    for example in before.examples:
        other = by_name[example.name]
        assert same_boxes(example, other, 1e-4 if name == "tfrecord" else 1e-9)
        assert (example.split, example.classes.tolist()) == (other.split, other.classes.tolist())


def test_records_of_the_object_detection_api() -> None:
    data = formats.read(Path(PLACE) / "tfod")
    assert (data.format, len(data.examples), data.box_count, len(data.classes)) == ("tfrecord", 10, 10, 37)
    assert data.findings == ()
    for example in data.examples:
        assert example.image is not None
        assert (example.width, example.height) == (read_header(example.image).width, read_header(example.image).height)
        assert example.boxes.min() >= 0
        name = data.classes[example.classes[0]].lower()
        assert example.name.lower().startswith(name)
