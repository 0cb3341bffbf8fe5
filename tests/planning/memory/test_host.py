"""The host's memory: the sum of what is asked for, against the tightest limit."""

from __future__ import annotations

from dataclasses import replace

from unstall.config.settings import Settings
from unstall.planning.memory.devices import (
    FRAMEWORK_BYTES,
    KEPT_SHARE,
    USUAL_PIXELS,
    estimate_host_need,
    read_limit_bytes,
    read_used_bytes,
)

MIB = 2**20


def test_everything_that_is_held_is_in_the_sum() -> None:
    settings = Settings(num_input_workers=3, prefetch_bytes=100 * MIB, cache_bytes=50 * MIB, batch_size=10)
    need = estimate_host_need(settings, "jax", input_bytes=10 * MIB, state_bytes=7 * MIB, largest_pixels=1_000_000)
    assert (need.ahead, need.cache, need.snapshot) == (100 * MIB, 50 * MIB, 7 * MIB)
    assert need.scratch == 3 * (6 * 1_000_000 + 2 * MIB)
    assert need.total == FRAMEWORK_BYTES["jax"] + 157 * MIB + need.scratch


def test_a_cache_on_disk_takes_no_memory() -> None:
    settings = Settings(cache_bytes=50 * MIB, cache_dir="/tmp/cache")
    assert estimate_host_need(settings, "torch", MIB, MIB).cache == 0


def test_two_batches_are_there_even_where_none_may_be_made_ahead() -> None:
    assert estimate_host_need(Settings(prefetch_bytes=1), "torch", 10 * MIB, MIB).ahead == 20 * MIB


def test_an_image_that_nobody_has_seen_is_a_photograph() -> None:
    assert estimate_host_need(Settings(num_input_workers=1), "torch", 0, 0).scratch == 6 * USUAL_PIXELS


def test_a_training_on_the_cores_is_in_the_sum() -> None:
    alone, beside = (estimate_host_need(Settings(), "jax", MIB, MIB, on_the_cores_bytes=held) for held in (0, 500 * MIB))
    assert beside.total - alone.total == 500 * MIB


def test_a_tenth_is_promised_to_nobody() -> None:
    need = replace(estimate_host_need(Settings(), "jax", MIB, MIB), limit=1000 * MIB, used=0)
    room = replace(need, framework=need.framework + int(1000 * MIB * (1 - KEPT_SHARE)) - need.total)
    assert room.fits and not replace(room, framework=room.framework + 1).fits


def test_the_limit_is_the_machines_or_less() -> None:
    assert 0 < read_used_bytes() < read_limit_bytes()


def test_several_workers_of_one_host_need_all_but_the_checkpoint_each() -> None:
    one = estimate_host_need(Settings(num_input_workers=1), "jax", 1000, 500, 300)
    three = one.of_all(3)
    assert three.total - three.snapshot == 3 * (one.total - one.snapshot) and three.snapshot == one.snapshot
