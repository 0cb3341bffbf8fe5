"""`unstall data` as a person meets it, in real processes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.test_cli import as_json, call
from tests.data.dataset_files import coco_box, coco_image, coco_text, picture, put
from unstall.cli import list_group_commands
from unstall.data.formats import FORMATS


def test_the_group_lists_its_commands() -> None:
    done = call("data", "--help", COLUMNS="120")
    assert done.returncode == 0
    listed = [line.split()[0] for line in done.stdout.partition("Commands:")[2].splitlines() if line[:3].strip()]
    assert listed == list(list_group_commands("data").names())


def test_a_wrong_command_of_the_group_names_the_nearest() -> None:
    done = call("data", "format")
    assert done.returncode == 2
    assert "There is no command 'data format'. Did you mean 'formats'?" in done.stderr


def test_formats_are_listed_for_a_person_and_as_json() -> None:
    listed = as_json("data", "formats")["formats"]
    assert [row["format"] for row in listed] == list(FORMATS.names())
    shown = call("data", "formats").stdout
    assert all(row["format"] in shown for row in listed)


def test_a_format_that_is_not_there_is_refused() -> None:
    done = call("data", "formats", "cocoa")
    assert done.returncode == 2
    assert "There is no format 'cocoa'" in done.stderr


def test_the_page_of_a_format_for_a_person_and_as_json() -> None:
    assert "What it cannot hold" in call("data", "formats", "yolo").stdout
    assert as_json("data", "formats", "yolo")["page"].startswith("# yolo")


WITHOUT = """
import sys
from pathlib import Path
sys.modules[{package!r}] = None
sys.argv = ["unstall", "data", "convert", "in", "out", "--to", "coco"]
from unstall.cli import main
main()
"""


@pytest.mark.parametrize("package", ["numpy", "msgspec", "yaml", "google_crc32c", "google.protobuf"])
def test_a_missing_package_is_named_with_the_command_that_installs_it(package: str) -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT.format(package=package)], capture_output=True, text=True, check=False)
    assert done.returncode == 5
    assert done.stderr == f"unstall: `unstall data` needs the package '{package}'. Install: pip install 'unstall[data]'\n"


def test_an_output_that_has_no_such_characters_gets_a_question_mark_and_no_error(tmp_path: Path) -> None:
    content = coco_text([coco_image(1, "a.jpg")], [coco_box(1)], [{"id": 1, "name": "кошка"}])
    put(tmp_path / "set", {"a.json": content, "a.jpg": picture()})
    done = call("data", "stats", str(tmp_path / "set"), PYTHONIOENCODING="ascii")
    assert done.returncode == 0 and "?????" in done.stdout
    assert call(
        "data", "convert", str(tmp_path / "set"), str(tmp_path / "out"), "--to", "yolo", PYTHONIOENCODING="latin-1"
    ).stdout


def test_on_a_narrow_terminal_no_figure_is_cut(tmp_path: Path) -> None:
    content = coco_text([coco_image(1, "a.jpg")], [coco_box(1)], [{"id": 1, "name": "cat"}])
    put(tmp_path / "set", {"a.json": content, "a.jpg": picture()})
    figures = call("data", "stats", str(tmp_path / "set"), COLUMNS="60").stdout
    assert "…" not in figures and "ssd300" in figures


def test_a_split_has_the_other_name_that_everyone_gives_it(tmp_path: Path) -> None:
    put(
        tmp_path / "set",
        {"images/val/a.jpg": picture(), "labels/val/a.txt": "0 .5 .5 .5 .5\n", "data.yaml": "val: images/val\nnames: [cat]\n"},
    )
    shown = as_json("data", "show", str(tmp_path / "set"), "--split", "valid", "--out", str(tmp_path / "sheet.png"))
    assert len(shown["examples"]) == 1


def test_small_files_are_packed_and_a_variable_that_is_not_set_is_refused(tmp_path: Path) -> None:
    assert call("data", "shapes", str(tmp_path / "set"), "--num-images", "6", "--image-size", "64x64").returncode == 0
    done = as_json("data", "pack", str(tmp_path / "set"), str(tmp_path / "packed"))
    assert (done["images"], done["to"]["format"]) == (6, "tfrecord")
    assert len(list((tmp_path / "packed").glob("*.record"))) == done["shards"]
    refused = call("data", "pack", "gs://$NOT_SET_HERE/set", str(tmp_path / "other"))
    assert refused.returncode == 2
    assert "variable NOT_SET_HERE, which is not set" in refused.stderr
