"""`unstall init` on data sets as people name and fill them."""

from __future__ import annotations

import shlex
from pathlib import Path

from tests.cli.test_cli import call
from tests.data.dataset_files import coco_box, coco_image, coco_text, picture, put
from unstall.config.toml_file import read


def small(folder: Path, boxes: int = 1) -> Path:
    marked = [coco_box(1)] * boxes
    content = coco_text([coco_image(1, "a.jpg")], marked, [{"id": 1, "name": "кошка"}])
    return put(folder, {"a.json": content, "a.jpg": picture()})


def test_what_is_to_be_typed_next_can_be_typed_whatever_the_file_is_called(tmp_path: Path) -> None:
    out = tmp_path / "my settings.toml"
    done = call("init", str(small(tmp_path / "set")), "--out", str(out))
    assert shlex.split(done.stdout.partition("Next: ")[2]) == ["unstall", "train", "--config", str(out)]


def test_the_path_in_the_file_has_no_way_up(tmp_path: Path) -> None:
    small(tmp_path / "set")
    (tmp_path / "elsewhere").mkdir()
    out = tmp_path / "a.toml"
    call("init", f"{tmp_path}/elsewhere/../set", "--out", str(out))
    assert read(out)[0]["data"] == str((tmp_path / "set").resolve())


def test_without_any_box_there_is_nothing_to_learn(tmp_path: Path) -> None:
    out = tmp_path / "a.toml"
    done = call("init", str(small(tmp_path / "set", boxes=0)), "--out", str(out))
    assert done.returncode == 2 and not out.exists()
    assert "1 image, 0 boxes, 1 class: there is nothing to learn" in done.stderr
