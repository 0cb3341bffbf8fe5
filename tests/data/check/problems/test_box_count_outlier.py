"""One image with hundreds of boxes among many with few."""

from __future__ import annotations

from tests.data.check.datasets import checked, example, found


def boxes(count: int) -> list[tuple[float, ...]]:
    return [(step, step, step + 30, step + 30) for step in range(count)]


def test_400_where_others_have_5_is_found() -> None:
    others = [example(*boxes(5), name=f"{number}.jpg") for number in range(30)]
    (finding,) = found("box_count_outlier", checked(*others, example(*boxes(400), name="crowded.jpg")))
    assert finding.example == "crowded.jpg" and "400" in finding.message


def test_crowded_images_throughout_are_none() -> None:
    assert not found("box_count_outlier", checked(*(example(*boxes(300 + number), name=f"{number}.jpg") for number in range(10))))


def test_a_hundred_trouble_nobody() -> None:
    assert not found("box_count_outlier", checked(*(example(*boxes(1), name=f"{n}.jpg") for n in range(9)), example(*boxes(100))))


def test_a_single_image_is_none() -> None:
    assert not found("box_count_outlier", checked(example(*boxes(500))))
