"""The data's defects on the page of the run that learns from it: in words and in small pictures, and nothing where there are none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.diagnosis.builders import stuck
from tests.planning.preflight.contexts import context
from unstall.data.check import defects
from unstall.data.synthetic.shapes import Shapes, write_shapes
from unstall.diagnosis.findings import diagnose
from unstall.journal.run_folder import RunFolder
from unstall.planning.preflight.check import as_plain
from unstall.planning.preflight.checks.data_set import look
from unstall.report.html.page import render_run
from unstall.report.story.report import build_full_story
from unstall.report.timeline import build_timeline
from unstall.supervisor.train.setup import keep_defects


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunFolder:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "run").mkdir()
    return RunFolder(tmp_path / "run")


def preflight(run: RunFolder, *found: str) -> dict[str, Any]:
    """What the preflight says of data with these defects, as the supervisor gets it: through JSON."""
    data = run.path.parent / "-".join(["set", *found])
    if not data.exists():
        write_shapes(data, Shapes(24, 64, 64), "coco", {}, list(found), None)
    answer = look(context(run.path, data=str(data), warmup_steps=1, max_bad_fraction=0.5))
    return {"checks": [json.loads(json.dumps(as_plain("data_set", answer, 0.1)))]}


def page(run: RunFolder) -> str:
    journal = stuck()
    return render_run(build_full_story(run, journal, diagnose(journal), build_timeline(journal)))


def test_each_defect_stands_there_with_pictures_that_lie_in_the_run(run: RunFolder) -> None:
    keep_defects(run, preflight(run, "box_inverted", "image_truncated"))
    result = defects.read_run_defects(run)
    assert result is not None and result["images"] == 24
    assert {row["name"]: row["severity"] for row in result["problems"]} == {"box_inverted": "error", "image_truncated": "error"}
    for row in result["problems"]:
        assert row["count"] == 1 and row["listed"][0]["place"] and row["action"]
        path = Path(row["pictures"][0]["path"])
        assert path.parent.parent == run.path
        with Image.open(path) as picture:
            assert picture.format == "JPEG" and max(picture.size) <= 2 * defects.SIDE
    shown = page(run)
    assert shown.count('src="data:image/jpeg;base64,') == 2 and "Defects of the data" in shown
    assert 'alt="' in shown and "in red: box_inverted" in shown


def test_what_was_found_before_has_its_pictures_again(run: RunFolder) -> None:
    preflight(run, "box_inverted")
    keep_defects(run, preflight(run, "box_inverted"))  # the second is remembered
    assert page(run).count('src="data:image/jpeg;base64,') == 1


def test_healthy_data_and_mere_notes_are_nothing(run: RunFolder) -> None:
    keep_defects(run, preflight(run, "box_tiny"))
    assert defects.read_run_defects(run) is None and "Defects of the data" not in page(run)
    assert not (run.path / defects.FOLDER).exists()


def test_data_that_was_mended_before_going_on_is_well(run: RunFolder) -> None:
    keep_defects(run, preflight(run, "image_truncated"))
    keep_defects(run, preflight(run))
    assert defects.read_run_defects(run) is None


def test_a_check_that_was_not_made_leaves_what_is_known(run: RunFolder) -> None:
    keep_defects(run, preflight(run, "image_truncated"))
    keep_defects(run, {"checks": [{"check": "data_set", "facts": {}}]})
    assert defects.read_run_defects(run) is not None


def test_pictures_that_are_gone_cost_themselves_alone(run: RunFolder) -> None:
    found = preflight(run, "box_inverted")
    for path in Path(found["checks"][0]["facts"]["defects"]["folder"]).iterdir():
        path.unlink()
    keep_defects(run, found)
    shown = page(run)
    assert "box_inverted" in shown and "data:image/jpeg" not in shown


def test_what_a_stranger_put_there_is_neither_run_nor_followed(run: RunFolder) -> None:
    """Names are escaped, links and paths that lead elsewhere are not shown, what has another shape is left out."""
    keep_defects(run, preflight(run, "box_inverted"))
    folder = run.path / defects.FOLDER
    secret = run.path.parent / "secret.jpg"
    secret.write_bytes(b"\xff\xd8 secret")
    (folder / "7.jpg").symlink_to(secret)
    plain = json.loads((folder / defects.DEFECTS_FILE).read_text())
    hostile = "<script>alert(1)</script>"
    files = ["0.jpg", "7.jpg", "../secret.jpg", str(secret), 5, "9.jpg"]
    plain["problems"][0] |= {
        "action": hostile,
        "pictures": [{"name": hostile, "message": hostile, "file": file} for file in files],
    }
    plain["problems"] += [{"name": hostile}, 5, {"name": "box_tiny", "listed": 3, "pictures": {}, "count": "many"}]
    (folder / defects.DEFECTS_FILE).write_text(json.dumps(plain))
    read = defects.read_run_defects(run)
    assert read is not None and [row["name"] for row in read["problems"]] == ["box_inverted", "box_tiny"]
    assert [Path(picture["path"]).name for picture in read["problems"][0]["pictures"]] == ["0.jpg"]
    shown = page(run)
    assert "<script>alert" not in shown and "&lt;script&gt;alert" in shown


@pytest.mark.parametrize("text", ["", "[]", '{"problems": 3}', "{ half"])
def test_a_file_that_is_no_such_file_is_as_if_it_were_not_there(run: RunFolder, text: str) -> None:
    (run.path / defects.FOLDER).mkdir()
    (run.path / defects.FOLDER / defects.DEFECTS_FILE).write_text(text)
    assert defects.read_run_defects(run) is None
