"""The figures of a data set, counted by hand."""

from __future__ import annotations

from pathlib import Path

from tests.data.check.datasets import checked, example
from unstall.data.synthetic.shapes import Shapes
from unstall.data.tools.stats import compute_stats
from unstall.report.html.command_pages import draw_data_plots


def test_what_is_counted_is_what_there_is() -> None:
    first = example((0, 0, 10, 20), (0, 0, 50, 50), (0, 0, 200, 100), classes=[0, 0, 1], split="train")
    second = example(name="b.jpg", split="val")
    plain = compute_stats(checked(first, second, classes=("cat", "dog", "emu")).data, ())
    assert (plain["images"], plain["images_without_boxes"], plain["boxes"], plain["boxes_left_out"]) == (2, 1, 3, 0)
    assert plain["splits"] == {"train": 1, "val": 1}
    assert [(row["class"], row["boxes"], row["images"]) for row in plain["classes"]] == [
        ("cat", 2, 1),
        ("dog", 1, 1),
        ("emu", 0, 0),
    ]
    assert {name: row["boxes"] for name, row in plain["by_size"].items()} == {"small": 1, "medium": 1, "large": 1}
    assert plain["boxes_per_image"]["mean"] == 1.5 and plain["box_width"]["100%"] == 200
    assert plain["aspect_ratio"]["0%"] == 0.5 and plain["aspect_ratio"]["100%"] == 2


def test_bad_boxes_are_left_out_and_counted() -> None:
    plain = compute_stats(
        checked(
            example((5, 5, 5, 5), (9, 9, 1, 1), (float("nan"), 0, 1, 1), (0, 0, 10, 10)),
            example((0, 0, 9, 9), size=None, name="b.jpg"),
        ).data
    )
    assert plain["boxes"] == 5 and plain["boxes_left_out"] == 4 and plain["box_width"]["mean"] == 10


def test_what_is_far_from_the_others_is_named() -> None:
    boxes = [(10, 10, 60 + step, 60 + step) for step in range(30)]
    plain = compute_stats(checked(example(*boxes, (10, 10, 13, 12))).data, ())
    assert [row["what"] for row in plain["outliers"]] == ["area"]
    assert "box 31" in plain["outliers"][0]["place"]
    assert not compute_stats(checked(example(*boxes)).data, ())["outliers"]


def test_a_data_set_without_boxes_has_figures_and_plots_too() -> None:
    data = checked(example(), classes=()).data
    plain = compute_stats(data)
    assert plain["boxes"] == 0 and plain["box_width"] is None and plain["anchors"][0]["recall"] == 0
    assert draw_data_plots(data, plain).startswith(b"\x89PNG")


def test_the_plots_are_a_picture_of_some_size(tmp_path: Path) -> None:
    import io

    from PIL import Image

    drawn = [Shapes(20, 160, 120)[index] for index in range(20)]
    examples = [example(*one.boxes, classes=one.classes, size=(160, 120), name=f"{n}.jpg") for n, one in enumerate(drawn)]
    data = checked(*examples, classes=("$x$", "<b>", "ü", "d", "e", "f")).data
    with Image.open(io.BytesIO(draw_data_plots(data, compute_stats(data)))) as picture:
        assert picture.width > 1000 and picture.height > 600
        assert len(picture.convert("RGB").resize((200, 120)).getcolors(24_000)) > 10
