"""What several workers have found, put together: the same as if one had looked at all images."""

from __future__ import annotations

import numpy as np

from unstall.training.evaluate.inference import DataSetDetections, ImageDetections


def found(count: int, seed: int) -> ImageDetections:
    random = np.random.default_rng(seed)
    return ImageDetections(random.random((count, 4)), random.random(count), random.integers(0, 5, count).astype(np.int32))


def same(one: ImageDetections, other: ImageDetections) -> bool:
    return all(left.tobytes() == right.tobytes() and left.dtype == right.dtype for left, right in zip(one, other, strict=True))


def test_parts_that_were_dealt_out_come_together_in_the_order_of_the_images() -> None:
    whole = {row: found(row % 3, seed=row) for row in range(7) if row != 4}
    parts = [
        DataSetDetections(
            {row // 3: each for row, each in whole.items() if row % 3 == worker}, {"bad": "why"} if worker == 1 else {}
        )
        for worker in range(3)
    ]
    together = DataSetDetections.from_parts([part.packed() for part in parts])
    assert list(together.by_row) == [0, 1, 2, 3, 5, 6]
    assert all(same(together.by_row[row], each) for row, each in whole.items())
    assert together.skipped == {"bad": "why"}


def test_a_part_without_images_takes_nothing_away() -> None:
    only = DataSetDetections({0: found(2, seed=0)}, {})
    together = DataSetDetections.from_parts([only.packed(), DataSetDetections({}, {}).packed()])
    assert list(together.by_row) == [0] and same(together.by_row[0], only.by_row[0])
