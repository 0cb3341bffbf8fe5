"""check, shapes, stats and show as a person meets them, in real processes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from PIL import Image

from tests.cli.test_cli import as_json, call


@pytest.fixture(scope="module")
def sick(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sick") / "set"
    wanted = ["box_inverted", "image_truncated", "image_rotated", "box_tiny", "box_outside"]
    done = call(
        "data", "shapes", str(path), "--num-images", "30", "--image-size", "160x120", *(f"--defect={name}" for name in wanted)
    )
    assert done.returncode == 0, done.stderr
    assert all(name in done.stdout for name in wanted)
    return path


@pytest.fixture(scope="module")
def well(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("well") / "set"
    result = as_json(
        "data",
        "shapes",
        str(path),
        "--num-images",
        "20",
        "--image-size",
        "160x120",
        "--format",
        "voc",
        "--splits",
        "train=3,val=1",
    )
    assert result["images"] == 20 and result["format"] == "voc" and result["defects"] == []
    return path


def test_check_prints_a_table_and_ends_with_1_where_there_are_errors(sick: Path) -> None:
    done = call("data", "check", str(sick), COLUMNS="160")
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    box = r"images\[\d+\]: annotations\[\d+\].bbox \(shapes_\d+.jpg\):"
    assert re.match(rf"error +box_inverted +1 +annotations/instances_train.json: {box}", lines[1])
    assert "3 errors, 1 warning, 1 info" in lines[-1]


def test_check_of_a_healthy_data_set_ends_with_0(well: Path) -> None:
    done = call("data", "check", str(well))
    assert done.returncode == 0
    assert done.stdout.count("\n") == 1 and "voc: 20 images" in done.stdout and "nothing wrong was found" in done.stdout


def test_check_as_json_is_everything_and_nothing_else(sick: Path) -> None:
    done = call("data", "check", str(sick), "--json", "-")
    assert done.returncode == 1
    plain = json.loads(done.stdout)
    assert {row["problem"] for row in plain["problems"]} >= {"box_inverted", "image_truncated", "box_tiny"}
    fewer = json.loads(call("data", "check", str(sick), "--no-images", "--json", "-").stdout)
    assert fewer["images_looked_at"] == 0 and "image_truncated" not in {row["problem"] for row in fewer["problems"]}


def test_check_writes_a_page_that_needs_nothing_else(sick: Path, tmp_path: Path) -> None:
    call("data", "check", str(sick), "--html", str(tmp_path / "page.html"))
    page = (tmp_path / "page.html").read_text()
    assert page.count("data:image/jpeg;base64,") >= 4
    assert not re.search(r"(src|href)=\"(?!data:|#)", page)
    assert "box_inverted" in page and "<code>--fix</code>" in page


def test_check_beside_a_run_is_shown_by_its_report(sick: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / "events-watcher-1.jsonl").write_text("")
    assert call("data", "check", str(sick), "--run", str(run)).returncode == 1
    assert call("report", str(run)).returncode == 0
    page = (run / "report.html").read_text()
    assert "Defects of the data" in page and page.count("data:image/jpeg;base64,") >= 3 and "box_tiny" not in page
    done = call("data", "check", str(sick), "--run", str(tmp_path / "none"))
    assert done.returncode == 2 and "none" in done.stderr and done.stdout == ""


def test_names_from_a_file_cannot_write_into_the_page(tmp_path: Path) -> None:
    call("data", "shapes", str(tmp_path / "set"), "--num-images", "5", "--image-size", "64x64", "--splits", "")
    path = tmp_path / "set" / "annotations" / "instances.json"
    content = json.loads(path.read_text())
    content["images"][0]["file_name"] = "<script>alert(1)</script>.jpg"
    content["categories"][0]["name"] = "<img src=x onerror=alert(1)>"
    path.write_text(json.dumps(content))
    assert call("data", "check", str(tmp_path / "set"), "--html", str(tmp_path / "page.html")).returncode == 1
    assert call("data", "stats", str(tmp_path / "set"), "--html", str(tmp_path / "stats.html")).returncode == 0
    for name in ("page.html", "stats.html"):
        page = (tmp_path / name).read_text()
        assert "<script>" not in page and "<img src=x" not in page
    assert "&lt;script&gt;" in (tmp_path / "page.html").read_text()


def test_fix_writes_a_copy_that_is_well(sick: Path, tmp_path: Path) -> None:
    done = call("data", "check", str(sick), "--fix", str(tmp_path / "copy"))
    assert done.returncode == 1  # of the original
    assert "4 changes, listed in changes.txt" in done.stdout
    again = call("data", "check", str(tmp_path / "copy"))
    assert again.returncode == 0 and "1 info" in again.stdout


def test_fix_into_the_data_set_or_over_something_is_refused(sick: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    for target in (sick, sick / "copy", tmp_path):
        done = call("data", "check", str(sick), "--fix", str(target))
        assert done.returncode == 2 and "Expected" in done.stderr and done.stdout == ""
    assert not (sick / "copy").exists()


@pytest.mark.parametrize("command", ["check", "stats", "show"])
def test_what_is_not_there_or_no_data_set_is_said(command: str, tmp_path: Path) -> None:
    done = call("data", command, str(tmp_path / "nowhere"))
    assert done.returncode == 2 and "is not there" in done.stderr
    done = call("data", command, str(tmp_path))
    assert done.returncode == 2 and "in no format that is known" in done.stderr
    done = call("data", command, str(tmp_path), "--format", "cocoa")
    assert done.returncode == 2 and "There is no format 'cocoa'" in done.stderr


def test_a_target_that_cannot_be_written_is_said_before_the_work(well: Path, tmp_path: Path) -> None:
    for option in ("--json", "--html"):
        done = call("data", "check", str(well), option, str(tmp_path / "no" / "folder" / "x"))
        assert done.returncode == 2 and "Cannot write" in done.stderr and done.stdout == ""


def test_stats_are_printed_written_and_drawn(well: Path, tmp_path: Path) -> None:
    done = call(
        "data", "stats", str(well), "--png", str(tmp_path / "plots.png"), "--html", str(tmp_path / "page.html"), COLUMNS="140"
    )
    assert done.returncode == 0, done.stderr
    assert "voc: 20 images (train 15, val 5)" in done.stdout and "ssd300_vgg16" in done.stdout and "by size:" in done.stdout
    with Image.open(tmp_path / "plots.png") as picture:
        assert picture.width > 1000
    page = (tmp_path / "page.html").read_text()
    assert "data:image/png;base64," in page and "retinanet_resnet50_fpn_v2" in page


def test_stats_as_json_with_one_detector(well: Path) -> None:
    plain = as_json("data", "stats", str(well), "--detector", "ssd300_vgg16")
    assert [row["detector"] for row in plain["anchors"]] == ["ssd300_vgg16"]
    assert 0 <= plain["anchors"][0]["recall"] <= 1 and plain["images"] == 20
    shown = call("data", "stats", str(well), "--detector", "ssd300_vgg16", COLUMNS="120").stdout
    assert re.search(r"anchors that would fit better, in pixels of the resized image: \d+×\d+, ", shown)
    done = call("data", "stats", str(well), "--detector", "ssd")
    assert done.returncode == 2 and "There is no detector 'ssd'" in done.stderr


def test_show_draws_a_sheet(well: Path, tmp_path: Path) -> None:
    out = tmp_path / "sheet.png"
    result = as_json("data", "show", str(well), "--out", str(out), "--num-images", "8", "--columns", "4", "--tile-size", "100")
    assert len(result["examples"]) == 8
    with Image.open(out) as picture:
        assert picture.size == (4 * 112, 2 * 126)
        assert len(picture.getcolors(1 << 20)) > 1000
    same = as_json("data", "show", str(well), "--out", str(out), "--num-images", "8", "--seed", "0")
    other = as_json("data", "show", str(well), "--out", str(out), "--num-images", "8", "--seed", "1")
    assert same["examples"] == result["examples"] != other["examples"]


def test_show_can_be_asked_for_a_class_and_a_split(well: Path, tmp_path: Path) -> None:
    result = as_json("data", "show", str(well), "--out", str(tmp_path / "a.png"), "--class", "ring", "--split", "val")
    assert 0 < len(result["examples"]) <= 5
    for option, value, said in (("--class", "unicorn", "Classes: circle"), ("--split", "test", "Splits: train, val")):
        done = call("data", "show", str(well), option, value, "--out", str(tmp_path / "b.png"))
        assert done.returncode == 2 and said in done.stderr
    done = call("data", "show", str(well), "--out", str(tmp_path / "sheet.xyz"))
    assert done.returncode == 2 and "Expected a path that ends in .png or .jpg" in done.stderr


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--image-size", "640", "Expected --image-size as WIDTHxHEIGHT"),
        ("--image-size", "3x3", "Expected images from 16"),
        ("--splits", "train", "Expected --splits as NAME=SHARE"),
        ("--defect", "box_purple", "There is no defect 'box_purple'"),
        ("--format", "cocoa", "There is no format 'cocoa'"),
    ],
)
def test_shapes_with_a_wrong_wish_say_what_is_expected(option: str, value: str, said: str, tmp_path: Path) -> None:
    done = call("data", "shapes", str(tmp_path / "set"), option, value)
    assert done.returncode == 2 and said in done.stderr
    assert not (tmp_path / "set").exists()


def test_problems_are_listed_and_explained() -> None:
    from unstall.data.check.problems import PROBLEMS

    listed = as_json("data", "problems")["problems"]
    assert [row["problem"] for row in listed] == list(PROBLEMS.names())
    shown = call("data", "problems", COLUMNS="160").stdout
    assert all(name in shown for name in PROBLEMS.names())
    assert "What it does to a training" in call("data", "problems", "box_duplicate").stdout
    assert as_json("data", "problems", "box_duplicate")["page"].startswith("# box_duplicate")
    done = call("data", "problems", "box_duplicat")
    assert done.returncode == 2 and "Did you mean 'box_duplicate'?" in done.stderr
