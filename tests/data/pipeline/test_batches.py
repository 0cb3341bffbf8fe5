"""What stands in a batch, and that it is the same batch however one gets to it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import example as example_of
from hypothesis import strategies as st

from tests.data.pipeline.pictures import data_set, example, picture, some_data
from unstall.base.errors import InvalidInputError
from unstall.data.augment.augmentations import (
    LARGE_SCALE_JITTER,
    SSD,
    Augmentation,
    HorizontalFlip,
    IoUCrop,
    Mosaic,
    PhotometricDistort,
    ScaleJitter,
)
from unstall.data.example import UNKNOWN_CLASS, DataSet
from unstall.data.pipeline import Batch, Pipeline, PipelineSettings

SMALL = PipelineSettings(batch_size=4, height_px=64, width_px=80, max_boxes_per_image=8, num_input_workers=2)
KINDS: dict[str, tuple[Augmentation, ...]] = {
    "none": (),
    "ssd": SSD,
    "jitter": LARGE_SCALE_JITTER,
    "mosaic": (Mosaic(), HorizontalFlip(), PhotometricDistort()),
    "sometimes a mosaic": (Mosaic(probability=0.5), IoUCrop(), HorizontalFlip()),
}


def all_of(
    data: DataSet, pipeline_settings: PipelineSettings, epoch: int = 0, from_step: int = 0, epochs: int = 1
) -> list[Batch]:
    with Pipeline(data, pipeline_settings).batches(epoch, from_step, epochs) as batches:
        return list(batches)


def assert_equal(one: Batch, other: Batch) -> None:
    assert (one.epoch, one.step) == (other.epoch, other.step)
    for name, array in one.arrays().items():
        assert np.array_equal(array, other.arrays()[name]), name


def test_the_shapes_are_fixed_and_the_types_are_those_of_the_contract(tmp_path: Path) -> None:
    for batch in all_of(some_data(tmp_path), SMALL):
        shapes = {name: (array.shape, array.dtype.name) for name, array in batch.arrays().items()}
        assert shapes == {
            "images": ((4, 64, 80, 3), "uint8"),
            "boxes": ((4, 8, 4), "float32"),
            "mask": ((4, 8), "bool"),
            "classes": ((4, 8), "int32"),
            "crowd": ((4, 8), "bool"),
            "difficult": ((4, 8), "bool"),
            "rows": ((4,), "int32"),
            "sizes": ((4, 2), "int32"),
            "back": ((4, 4), "float64"),
        }


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("threads", [1, 3])
def test_the_stream_continues_from_any_step_with_the_same_batches(tmp_path: Path, kind: str, threads: int) -> None:
    data, pipeline_settings = some_data(tmp_path, 17), replace(SMALL, augmentations=KINDS[kind], seed=11)
    whole = all_of(data, pipeline_settings, epochs=3)
    assert [(batch.epoch, batch.step) for batch in whole] == [(epoch, step) for epoch in range(3) for step in range(4)]
    for start in (1, 5, 11):
        again = all_of(
            data,
            replace(pipeline_settings, num_input_workers=threads),
            whole[start].epoch,
            whole[start].step,
            3 - whole[start].epoch,
        )
        assert len(again) == 12 - start
        for one, other in zip(whole[start:], again, strict=True):
            assert_equal(one, other)


@pytest.mark.parametrize("workers", [2, 4])
def test_the_parts_of_several_workers_are_the_batch_of_one(tmp_path: Path, workers: int) -> None:
    data, pipeline_settings = some_data(tmp_path, 17), replace(SMALL, augmentations=SSD, seed=11)
    whole = all_of(data, pipeline_settings, epochs=2)
    share = replace(pipeline_settings, batch_size=4 // workers, world_size=workers)
    parts = [all_of(data, replace(share, rank=worker), epochs=2) for worker in range(workers)]
    for one, *others in zip(whole, *parts, strict=True):
        assert {(each.epoch, each.step) for each in others} == {(one.epoch, one.step)}
        for name, array in one.arrays().items():
            assert np.array_equal(array, np.concatenate([each.arrays()[name] for each in others])), name


def test_every_worker_knows_the_rows_of_the_whole_batch(tmp_path: Path) -> None:
    data, pipeline_settings = some_data(tmp_path, 17), replace(SMALL, batch_size=2, world_size=2)
    first, second = (Pipeline(data, replace(pipeline_settings, rank=worker)) for worker in (0, 1))
    assert first.list_all_rows(0, 1) == second.list_all_rows(0, 1) and len(first.list_all_rows(0, 1)) == 4


def test_a_worker_that_is_none_of_them_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="rank: expected 0 to 1"):
        replace(SMALL, rank=2, world_size=2)


def test_an_augmentation_depends_on_the_row_and_the_epoch_alone(tmp_path: Path) -> None:
    """Not on the batch or the place that the row stands in: another batch size gives the same images."""
    data, pipeline_settings = some_data(tmp_path, 12), replace(SMALL, augmentations=SSD)
    images = {}
    for batch in all_of(data, pipeline_settings):
        images |= {int(row): image.copy() for row, image in zip(batch.rows, batch.images, strict=True)}
    for batch in all_of(data, replace(pipeline_settings, batch_size=3)):
        for row, image in zip(batch.rows, batch.images, strict=True):
            assert np.array_equal(image, images[int(row)])
    later = [
        image
        for batch in all_of(data, pipeline_settings, epoch=1)
        for image in batch.images
        if not np.array_equal(image, images[0])
    ]
    assert len(later) == 12


def test_boxes_are_mapped_and_mapped_back(tmp_path: Path) -> None:
    data = some_data(tmp_path, 5, width=96, height=64)
    (first, second) = all_of(data, replace(SMALL, for_training=False))
    assert first.rows.tolist() == [0, 1, 2, 3] and second.rows.tolist() == [4, -1, -1, -1]
    scale = 80 / 96
    assert np.allclose(first.boxes[1, 0], np.array([5, 6, 41, 50]) * (scale, 53 / 64, scale, 53 / 64))
    assert first.mask.sum(axis=1).tolist() == [2, 2, 2, 2] and second.mask.sum() == 0
    assert first.classes[0].tolist() == [0, 1, -1, -1, -1, -1, -1, -1]
    assert first.sizes[0].tolist() == [64, 96]
    for place, row in enumerate(first.rows):
        boxes = first.boxes_of_image(place, first.boxes[place][first.mask[place]])
        assert np.allclose(boxes, data.examples[row].boxes, atol=1e-4)
    fill = np.array(SMALL.fill_rgb)
    assert (first.images[:, 53:] == fill).all() and (second.images[1:] == fill).all()


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(kind=st.sampled_from(sorted(KINDS)), seed=st.integers(0, 2**40), resize=st.sampled_from(("letterbox", "stretch")))
@example_of(kind="mosaic", seed=2264, resize="letterbox")  # leaves a box narrower than a float32 can tell
def test_boxes_follow_the_pixels_through_everything(tmp_path: Path, kind: str, seed: int, resize: str) -> None:
    """A green box on red ground is green where the batch says it is, and nowhere else."""
    for row in range(2):
        if not (path := tmp_path / f"{row}.png").exists():
            ground = np.zeros((120, 200, 3), np.uint8)
            ground[:, :, 2] = 255  # red, in OpenCV's order
            ground[30:90, 50 + row * 40 : 110 + row * 40] = (0, 255, 0)
            import cv2

            cv2.imwrite(str(path), ground)
    data = data_set([example(tmp_path / f"{row}.png", 200, 120, [(50 + row * 40, 30, 110 + row * 40, 90)]) for row in range(2)])
    augmentations = tuple(each for each in KINDS[kind] if not isinstance(each, PhotometricDistort))
    pipeline_settings = PipelineSettings(
        batch_size=2, height_px=160, width_px=160, augmentations=augmentations, seed=seed, resize=resize, min_kept_share=0
    )  # type: ignore[arg-type]
    for batch in all_of(data, pipeline_settings):
        for place in range(2):
            image, boxes = batch.images[place].astype(int), batch.boxes[place][batch.mask[place]]
            assert np.isfinite(boxes).all() and (boxes >= 0).all() and (boxes <= 160).all()
            assert (boxes[:, 2] > boxes[:, 0]).all() and (boxes[:, 3] > boxes[:, 1]).all()
            is_green = (image[:, :, 1] > 200) & (image[:, :, 0] < 60)
            inner = np.zeros((160, 160), np.bool_)
            for left, top, right, bottom in boxes.tolist():
                margin = 3  # resizing blurs the edge
                sides = int(top) + margin, int(bottom) - margin, int(left) + margin, int(right) - margin
                if sides[1] > sides[0] and sides[3] > sides[2]:
                    inner[sides[0] : sides[1], sides[2] : sides[3]] = True
            assert is_green[inner].all()
            if not any(isinstance(each, IoUCrop) for each in augmentations):  # it drops boxes whose centre is cut off
                outer = np.ones((160, 160), np.bool_)
                for left, top, right, bottom in boxes.tolist():
                    outer[max(0, int(top) - 3) : int(bottom) + 4, max(0, int(left) - 3) : int(right) + 4] = False
                assert not is_green[outer].any()


def test_flags_travel_with_their_boxes_and_bad_boxes_are_left_out(tmp_path: Path) -> None:
    data = some_data(tmp_path, 1)
    boxes = [
        (0, 0, 10, 10),
        (20, 20, 10, 30),
        (np.nan, 0, 5, 5),
        (5, 5, 5, 9),
        (-10, -10, 12, 12),
        (200, 0, 300, 9),
        (1, 2, 3, 4),
        (2, 2, 9, 9),
    ]
    bad = replace(
        example(data.examples[0].image.path, 96, 64, boxes),  # type: ignore[union-attr]
        crowd=np.array([1, 0, 0, 0, 0, 0, 0, 0], np.bool_),
        difficult=np.array([0, 0, 0, 0, 1, 0, 0, 0], np.bool_),
        classes=np.array([2, 0, 0, 0, 1, 0, UNKNOWN_CLASS, 0], np.int32),
    )
    pipeline_settings = PipelineSettings(batch_size=1, height_px=64, width_px=96, max_boxes_per_image=4, for_training=False)
    with Pipeline(data_set([bad]), pipeline_settings).batches() as batches:
        batch = next(batches)
        assert batches.measured().boxes_left_out == 5
    assert batch.boxes[0].tolist() == [[0, 0, 10, 10], [0, 0, 12, 12], [2, 2, 9, 9], [0, 0, 0, 0]]
    assert batch.classes[0].tolist() == [2, 1, 0, -1]
    assert batch.crowd[0].tolist() == [True, False, False, False] and batch.difficult[0].tolist() == [False, True, False, False]


def test_more_boxes_than_there_is_room_for_are_counted(tmp_path: Path) -> None:
    data = some_data(tmp_path, 4)
    with Pipeline(data, replace(SMALL, max_boxes_per_image=1, for_training=False)).batches() as batches:
        assert next(batches).mask.tolist() == [[True], [True], [True], [False]]
        assert batches.measured().boxes_left_out == 3


def test_shares_of_an_unknown_size_become_pixels(tmp_path: Path) -> None:
    path = some_data(tmp_path, 1).examples[0].image.path  # type: ignore[union-attr]
    shares = replace(example(path, 0, 0, [(0.25, 0.5, 0.5, 1.0)]), width=None, height=None, is_normalised=True)
    (batch,) = all_of(data_set([shares]), PipelineSettings(batch_size=1, height_px=64, width_px=96))
    assert batch.boxes[0, 0].tolist() == [24, 32, 48, 64]


def test_the_image_says_how_large_it_is_not_the_annotation(tmp_path: Path) -> None:
    path = some_data(tmp_path, 1).examples[0].image.path  # type: ignore[union-attr]
    (batch,) = all_of(
        data_set([example(path, 500, 400, [(0, 0, 400, 300)])]), PipelineSettings(batch_size=1, height_px=64, width_px=96)
    )
    assert batch.sizes[0].tolist() == [64, 96] and batch.boxes[0, 0].tolist() == [0, 0, 96, 64]


def test_a_batch_that_is_still_held_is_never_written_to(tmp_path: Path) -> None:
    """Arrays are used again: a view of one image, kept by anybody, must keep its array from that."""
    data, pipeline_settings = some_data(tmp_path, 40), replace(SMALL, prefetch_bytes=1, augmentations=SSD)
    views, copies = [], []
    with Pipeline(data, pipeline_settings).batches(epochs=4) as batches:
        for batch in batches:
            views.append(batch.images[1, 3:40])
            copies.append(batch.images[1, 3:40].copy())
    assert all(np.array_equal(view, copy) for view, copy in zip(views, copies, strict=True))
    assert not views[0].flags.writeable


@pytest.mark.parametrize("kind", KINDS)
def test_arrays_that_are_used_again_look_like_fresh_ones(tmp_path: Path, kind: str) -> None:
    """What is blank is not filled again: images of other shapes, mosaics and bad examples must leave no trace in the next."""
    (tmp_path / "tall").mkdir()
    examples = [*some_data(tmp_path, 9).examples, *some_data(tmp_path / "tall", 9, 40, 120).examples]
    examples[4].image.path.write_bytes(b"")  # type: ignore[union-attr]
    pipeline_settings = replace(SMALL, augmentations=KINDS[kind], max_bad_fraction=1.0)
    fresh = [
        batch.images for batch in all_of(data_set(examples), pipeline_settings, epochs=4)
    ]  # all of them held: none is used again
    with Pipeline(data_set(examples), replace(pipeline_settings, prefetch_bytes=1)).batches(epochs=4) as batches:
        for expected in fresh:
            assert np.array_equal(next(batches).images, expected)


def test_arrays_are_used_again_when_they_are_let_go(tmp_path: Path) -> None:
    addresses = set()
    with Pipeline(some_data(tmp_path, 40), replace(SMALL, prefetch_bytes=1)).batches(epochs=4) as batches:
        for batch in batches:
            addresses.add(batch.images.ctypes.data)
            assert batch.images.ctypes.data % 64 == 0
    assert len(addresses) <= 3


def test_large_jpegs_keep_their_boxes(tmp_path: Path) -> None:
    import cv2

    cv2.imwrite(str(tmp_path / "large.jpg"), cv2.cvtColor(picture(1001, 703), cv2.COLOR_RGB2BGR), [cv2.IMWRITE_JPEG_QUALITY, 95])
    (batch,) = all_of(
        data_set([example(tmp_path / "large.jpg", 1001, 703, [(100, 200, 900, 600)])]),
        PipelineSettings(batch_size=1, height_px=100, width_px=100),
    )
    left, top, right, bottom = batch.boxes[0, 0]
    for x, y, expected in ((left, top, (100, 200)), (right, bottom, (900, 600))):
        red, green = batch.images[0, int(y), int(x), :2].astype(float)
        assert abs(red / 255 * 1001 - expected[0]) < 20 and abs(green / 255 * 703 - expected[1]) < 20
    assert np.allclose(batch.boxes_of_image(0, batch.boxes[0, :1]), [(100, 200, 900, 600)], atol=0.01)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"batch_size": 0}, "batch_size: expected 1 or more. Received: 0"),
        ({"seed": -1}, "seed: expected 0 to"),
        ({"resize": "squash"}, "resize: expected one of letterbox, stretch. Received: 'squash'"),
        ({"engine": "spark"}, "engine: expected one of threads, tf.data"),
        ({"max_bad_fraction": 2.0}, "max_bad_fraction: expected a share"),
        ({"for_training": False, "augmentations": (ScaleJitter(),)}, "augmentations: expected none"),
    ],
)
def test_wrong_settings_are_named(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message.replace(".", r"\.")):
        PipelineSettings(**wrong)  # type: ignore[arg-type]
