"""Many small files become few large ones, which hold the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from unstall.base.errors import InvalidInputError
from unstall.data import formats
from unstall.data.synthetic.shapes import Shapes, write_shapes
from unstall.data.tools.pack import pack


@pytest.fixture
def source(tmp_path: Path) -> Path:
    write_shapes(tmp_path / "source", Shapes(20, 64, 64, 0), "yolo", splits={"train": 0.8, "val": 0.2})
    return tmp_path / "source"


def test_shards_hold_what_the_files_held(source: Path, tmp_path: Path) -> None:
    packed = pack(source, tmp_path / "packed", shard_bytes=8000)
    before, after = formats.read(source), formats.read(tmp_path / "packed")
    assert (after.format, after.classes) == ("tfrecord", before.classes)
    assert {name: len(rows) for name, rows in after.splits().items()} == {
        name: len(rows) for name, rows in before.splits().items()
    }
    by_name = {example.name: example for example in after.examples}
    for example in before.examples:
        same = by_name[example.name]
        assert same.image is not None and example.image is not None
        assert same.image.read() == example.image.read()
        np.testing.assert_allclose(same.boxes, example.boxes, atol=1e-3)
    names = sorted(path.name for path in (tmp_path / "packed").iterdir())
    assert len(names) == packed.shards + 1 > 3
    assert names[1].startswith("train-00000-of-")
    assert not [found for found in after.findings if found.problem == "record_truncated"]


def test_a_shard_that_is_missing_is_noticed(source: Path, tmp_path: Path) -> None:
    pack(source, tmp_path / "packed", shard_bytes=4000)
    next(iter(sorted((tmp_path / "packed").glob("train-*")))).unlink()
    assert "record_truncated" in {found.problem for found in formats.read(tmp_path / "packed").findings}


def test_nothing_is_written_over(source: Path, tmp_path: Path) -> None:
    (tmp_path / "packed").mkdir()
    (tmp_path / "packed" / "mine").touch()
    with pytest.raises(InvalidInputError, match="not empty"):
        pack(source, tmp_path / "packed")
