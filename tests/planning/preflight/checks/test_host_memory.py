"""What the run keeps in the host's memory, against what is free."""

from __future__ import annotations

from pathlib import Path

from tests.planning.preflight.contexts import context
from unstall.planning.memory.devices import HostNeed
from unstall.planning.preflight.check import CheckError, CheckOk, CheckWarning
from unstall.planning.preflight.checks.host_memory import estimate_need, judge

GIB = 2**30


def need(**parts: int) -> HostNeed:
    return HostNeed(
        **{
            **dict.fromkeys(("framework", "ahead", "cache", "scratch", "snapshot", "device", "used"), 0),
            "limit": 16 * GIB,
            **parts,
        }
    )


def test_more_than_is_free_refuses_and_names_what_takes_most() -> None:
    found = judge(need(cache=30 * GIB, framework=GIB, used=2 * GIB))
    assert isinstance(found, CheckError)
    assert "31 GiB of 14 GiB that are free, of 16 GiB" in found.reason and "cached images 30 GiB" in found.reason


def test_the_cure_is_of_what_can_be_made_smaller_the_largest_first() -> None:
    found = judge(need(framework=15 * GIB, device=3 * GIB, ahead=GIB))
    assert isinstance(found, CheckError) and found.fix == "a smaller --micro-batch-size, or smaller --prefetch-bytes"
    alone = judge(need(framework=30 * GIB))
    assert isinstance(alone, CheckError) and "end other programs" in alone.fix


def test_nearly_all_of_it_warns_and_less_fits() -> None:
    assert isinstance(judge(need(framework=15 * GIB)), CheckWarning)
    assert isinstance(judge(need(framework=5 * GIB)), CheckOk)


def test_a_cache_counts_no_more_than_there_are_images_and_nothing_on_disk(tmp_path: Path) -> None:
    small = context(tmp_path, synthetic_images=100, cache_bytes=GIB, detector={"image_size": [128, 96]})
    assert estimate_need(small).cache == 100 * 128 * 96 * 3
    assert estimate_need(context(tmp_path, cache_bytes=GIB, cache_dir=str(tmp_path))).cache == 0


def test_a_larger_model_and_more_batches_ahead_need_more(tmp_path: Path) -> None:
    tiny, large = (
        estimate_need(context(tmp_path, model=model, cache_bytes=0)) for model in ("ssd_tiny", "retinanet_resnet50_fpn")
    )
    assert large.total > tiny.total + 4 * 34_000_000
    assert estimate_need(context(tmp_path, prefetch_bytes=2 * GIB)).total > tiny.total + GIB
