"""A cache gives back what was offered, keeps within its bytes, and never stands in the way."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
import pytest

from tests.data.pipeline.pictures import picture, some_data
from unstall.data.example import ImageSource
from unstall.data.pipeline import Pipeline, PipelineSettings
from unstall.data.pipeline.cache import Cache, DiskCache, open_cache

BYTES = picture(32, 20).nbytes


@pytest.fixture(params=["memory", "disk"])
def cache(request: pytest.FixtureRequest, tmp_path: Path) -> Cache:
    return open_cache(2 * BYTES + 300, None if request.param == "memory" else tmp_path / "cache")


@pytest.fixture
def source(tmp_path: Path) -> ImageSource:
    (tmp_path / "image").write_bytes(b"encoded")
    return ImageSource(tmp_path / "image")


def test_what_is_offered_is_given_back_by_its_size(cache: Cache, source: ImageSource) -> None:
    pixels = picture(32, 20)
    cache.offer(4, source, 1, pixels)
    pixels[:] = 0  # a worker's buffer is used again
    kept = cache.get(4, source, 1)
    assert kept is not None and np.array_equal(kept, picture(32, 20))
    assert cache.get(4, source, 2) is None


def test_it_keeps_within_its_budget_and_keeps_what_it_has(cache: Cache, source: ImageSource) -> None:
    for reduction in (1, 2, 4, 8):
        cache.offer(1, source, reduction, picture(32, 20))
    assert [cache.get(1, source, reduction) is not None for reduction in (1, 2, 4, 8)] == [True, True, False, False]
    assert 2 * BYTES <= cache.bytes <= 2 * BYTES + 300


def test_on_disk_it_survives_the_run_and_a_changed_image_is_another(tmp_path: Path, source: ImageSource) -> None:
    DiskCache(tmp_path / "cache", 10 * BYTES).offer(0, source, 1, picture(32, 20))
    again = DiskCache(tmp_path / "cache", 10 * BYTES)
    assert again.bytes >= BYTES and again.get(0, source, 1) is not None
    os.utime(source.path, ns=(time.time_ns(), time.time_ns() + 5))
    assert again.get(0, source, 1) is None


def test_a_file_cut_short_is_as_if_it_were_not_there(tmp_path: Path, source: ImageSource) -> None:
    cache = DiskCache(tmp_path / "cache", 10 * BYTES)
    cache.offer(0, source, 1, picture(32, 20))
    (file,) = (tmp_path / "cache").iterdir()
    for length in (BYTES // 2, 40, 0):
        os.truncate(file, length)
        assert cache.get(0, source, 1) is None


def test_a_disk_that_fails_costs_the_cache_and_not_the_run(tmp_path: Path, source: ImageSource) -> None:
    cache = DiskCache(tmp_path / "cache", 10 * BYTES)
    (tmp_path / "cache").rmdir()
    cache.offer(0, source, 1, picture(32, 20))
    assert cache.get(0, source, 1) is None


@pytest.mark.parametrize("folder", [None, "cache"])
def test_batches_are_the_same_from_the_cache_and_nothing_is_decoded_twice(tmp_path: Path, folder: str | None) -> None:
    data = some_data(tmp_path)
    plain = PipelineSettings(batch_size=4, height_px=64, width_px=80)
    cached = PipelineSettings(batch_size=4, height_px=64, width_px=80, cache_bytes=10**7, cache_dir=folder and tmp_path / folder)  # type: ignore[arg-type]
    pipeline = Pipeline(data, cached)
    for epoch in range(3):
        with Pipeline(data, plain).batches(epoch) as expected, pipeline.batches(epoch) as got:
            for one, other in zip(expected, got, strict=True):
                assert np.array_equal(one.images, other.images)
            assert got.measured().cache_hits == (12 if epoch else 0)
            assert (got.measured().decode_s > 0) == (epoch == 0)
