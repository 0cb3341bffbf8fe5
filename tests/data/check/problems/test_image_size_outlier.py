"""One image far larger than the rest."""

from __future__ import annotations

from tests.data.check.datasets import checked, example, found


def test_one_of_12_megapixels_among_small_ones_is_found() -> None:
    others = [example(name=f"{number}.jpg") for number in range(20)]
    (finding,) = found("image_size_outlier", checked(*others, example(size=(4000, 3000), name="large.jpg")))
    assert finding.example == "large.jpg" and "4,000×3,000" in finding.message


def test_large_images_throughout_are_none() -> None:
    assert not found("image_size_outlier", checked(*(example(size=(4000, 3000), name=f"{n}.jpg") for n in range(5))))


def test_a_mixture_of_sizes_is_usual() -> None:
    mixed = [example(size=(640, 480) if n % 10 else (4000, 3000), name=f"{n}.jpg") for n in range(100)]
    assert not found("image_size_outlier", checked(*mixed))


def test_ten_times_a_thumbnail_troubles_nobody() -> None:
    others = [example(size=(64, 64), name=f"{number}.jpg") for number in range(20)]
    assert not found("image_size_outlier", checked(*others, example(size=(640, 640), name="b.jpg")))
