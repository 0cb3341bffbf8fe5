"""What a training has left in its folder: settings, the score, pictures. What is not there, or damaged, is left out."""

import io
import json
import random
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.diagnosis.builders import stuck
from unstall.diagnosis.findings import diagnose
from unstall.journal.run_folder import RunFolder
from unstall.report.html.page import render_run
from unstall.report.story.report import build_full_story
from unstall.report.timeline import build_timeline
from unstall.training.summary import MAX_PICTURE_BYTES, encode_picture, list_pictures, list_places, read_score, read_settings

SCORE = {
    "epoch": 7,
    "images": 40,
    "data": "shapes",
    "figures": {"AP": 0.4321, "AP50": 0.71, "AP_small": None},
    "classes": [{"class": "<disc>", "objects": 90, "AP": 0.5, "AP50": 0.8, "AP75": None, "AR_100": 0.6}],
    "confusion": {"classes": ["<disc>", "background"], "table": [[80, 10], [3, 0]]},
}


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    return RunFolder(tmp_path)


def write(run: RunFolder, name: str, plain: Any) -> None:
    (run.path / name).write_text(json.dumps(plain))


def picture(run: RunFolder, name: str, size: int, noise: bool) -> None:
    folder = run.path / "predictions"
    folder.mkdir(exist_ok=True)
    pixels = random.Random(0).randbytes(3 * size * size) if noise else bytes(3 * size * size)
    Image.frombytes("RGB", (size, size), pixels).save(folder / name)


def page(run: RunFolder) -> str:
    journal = stuck()
    return render_run(build_full_story(run, journal, diagnose(journal), build_timeline(journal)))


def test_the_score_is_shown_with_its_classes(run: RunFolder) -> None:
    write(run, "score.json", SCORE)
    result = read_score(run)
    assert result is not None
    assert [row["value"] for row in result["figures"][:4]] == [0.4321, 0.71, None, None]
    assert result["classes"][0] == {"name": "<disc>", "objects": 90, "AP": 0.5, "AP50": 0.8, "AP75": None, "AR_100": 0.6}
    assert result["mistaken"] == ["10 × <disc> not found", "3 × <disc> where there is none"]
    shown = page(run)
    assert "0.4321" in shown and "&lt;disc&gt;" in shown and "of epoch 7, on 40 images of shapes" in shown


@pytest.mark.parametrize("damaged", [None, [], {"figures": 3}, {"figures": {}, "classes": None}])
def test_what_is_no_score_is_left_out(run: RunFolder, damaged: Any) -> None:
    write(run, "score.json", damaged)
    assert read_score(run) is None
    assert "How well it detects" not in page(run)


def test_settings_are_those_that_lie_in_the_folder(run: RunFolder) -> None:
    assert read_settings(run) == {}
    write(run, "settings.json", {"batch_size": 8, "weights": None})
    assert read_settings(run) == {"batch_size": 8, "weights": None}
    assert "<dt>batch_size</dt><dd>8</dd>" in page(run)
    (run.path / "settings.json").write_text('{"batch_si')
    assert read_settings(run) == {}


def test_pictures_stand_in_the_page_and_large_ones_are_made_smaller(run: RunFolder) -> None:
    picture(run, "01-small.png", 32, noise=False)
    picture(run, "02-large.png", 1200, noise=False)
    picture(run, "03-photo.png", 600, noise=True)
    small, large, photo = (encode_picture(path) or "" for path in list_pictures(run))
    assert (run.path / "predictions" / "03-photo.png").stat().st_size > MAX_PICTURE_BYTES
    assert small.startswith("data:image/png;") and large.startswith("data:image/png;") and photo.startswith("data:image/jpeg;")
    assert len(photo) < 1.4 * MAX_PICTURE_BYTES
    assert page(run).count("<img src=") == 3


def test_what_is_no_picture_is_left_out(run: RunFolder) -> None:
    (run.path / "predictions").mkdir()
    (run.path / "predictions" / "01-torn.png").write_bytes(b"\x89PNG" + bytes(MAX_PICTURE_BYTES))
    out = io.BytesIO()
    Image.frombytes("RGB", (600, 600), random.Random(0).randbytes(3 * 600 * 600)).save(out, "PNG")
    (run.path / "predictions" / "02-half.png").write_bytes(out.getvalue()[:500_000])
    assert [encode_picture(path) for path in list_pictures(run)] == [None, None]
    assert encode_picture(str(run.path / "nowhere.png")) is None
    assert "What is there, and what it finds" not in page(run)


def test_where_a_run_lies_is_told_with_its_bucket(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    run.best_weights_path.write_bytes(b"")
    assert list_places(run) == [("best weights", str(run.best_weights_path))]
    run.keep_in("gs://photos/runs/first")
    assert list_places(run)[1:] == [("copied to", "gs://photos/runs/first")]
