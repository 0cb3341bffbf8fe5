"""What was found in images, as a table."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from unstall.report.terminal.detections import show

BOX = {"class": "ring", "score": 0.5, "box": [1.0, 2.0, 130.5, 104.25]}


@pytest.mark.parametrize(
    "folder", ["/home/somebody/with/a/long/way/to/photographs", "gs://bucket/with/a/long/way/to/photographs"]
)
def test_images_are_told_apart_on_a_narrow_terminal(folder: str) -> None:
    images = [{"image": f"{folder}/{name}", "boxes": [BOX]} for name in ("train/photograph_0001.jpg", "val/photograph_0002.jpg")]
    out = io.StringIO()
    show({"images": images, "skipped": [], "score_threshold": 0.3}, Console(file=out, width=80))
    lines = out.getvalue().splitlines()
    assert [line.split()[0] for line in lines[1:3]] == ["train/photograph_0001.jpg", "val/photograph_0002.jpg"]
    assert "104.2" in lines[1] and "2 images, 2 boxes" in lines[3]


def test_one_image_is_told_by_its_name() -> None:
    out = io.StringIO()
    show({"images": [{"image": "a/b.jpg", "boxes": [BOX]}], "skipped": [], "score_threshold": 0.3}, Console(file=out, width=80))
    assert out.getvalue().splitlines()[1].startswith("b.jpg  ring")
