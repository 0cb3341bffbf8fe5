"""What the run keeps in the host's memory, against what is free."""

from __future__ import annotations

from pathlib import Path

from tests.preflight.contexts import context
from unstall.preflight.answers import Fits, Refuses, Warns
from unstall.preflight.checks.host_memory import judged, needed

GIB = 2**30


def test_more_than_is_free_refuses_and_names_what_takes_most() -> None:
    found = judged({"cached images": 30 * GIB, "the framework": GIB}, free=16 * GIB, limit=20 * GIB)
    assert isinstance(found, Refuses)
    assert (
        "31.0 GiB of 16.0 GiB" in found.reason and "limit 20.0 GiB" in found.reason and "cached images 30.0 GiB" in found.reason
    )


def test_nearly_all_of_it_warns_and_less_fits() -> None:
    assert isinstance(judged({"the framework": 9 * GIB}, free=10 * GIB, limit=None), Warns)
    assert isinstance(judged({"the framework": 5 * GIB}, free=10 * GIB, limit=None), Fits)


def test_a_cache_counts_no_more_than_there_are_images_and_nothing_on_disk(tmp_path: Path) -> None:
    small = needed(context(tmp_path, shapes=100, cache_bytes=GIB))
    assert small["cached images"] == 100 * 128 * 128 * 3
    assert "cached images" not in needed(context(tmp_path, cache_bytes=GIB, cache_folder=str(tmp_path)))


def test_a_larger_model_and_more_batches_ahead_need_more(tmp_path: Path) -> None:
    tiny, large = (sum(needed(context(tmp_path, model=model)).values()) for model in ("ssd_tiny", "retinanet_resnet50_fpn"))
    assert large > tiny + 4 * 38_000_000
    assert sum(needed(context(tmp_path, ahead_bytes=2 * GIB)).values()) > tiny + GIB
