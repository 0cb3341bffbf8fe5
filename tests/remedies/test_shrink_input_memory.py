"""Caches, queues and threads made smaller, until there is nothing left to shrink."""

from tests.remedies.builders import fault
from unstall.config.settings import GIB, MIB
from unstall.remedies.plan import Kind
from unstall.remedies.shrink_input_memory import plan

HOST = Kind.HOST_MEMORY


def test_all_that_the_input_holds_is_made_smaller_at_once() -> None:
    planned = plan(fault(HOST, cache_bytes=4 * GIB, prefetch_bytes=256 * MIB, cores=8))
    assert planned is not None
    assert planned.change == {"cache_bytes": 0, "prefetch_bytes": 64 * MIB, "num_input_workers": 4}
    assert planned.undo == {"cache_bytes": 4 * GIB, "prefetch_bytes": 256 * MIB, "num_input_workers": 0}


def test_images_kept_on_disk_take_no_memory() -> None:
    planned = plan(fault(HOST, cache_bytes=4 * GIB, cache_dir="/tmp/cache"))
    assert planned is not None
    assert "cache_bytes" not in planned.change


def test_a_small_queue_and_one_worker_stay_as_they_are() -> None:
    assert plan(fault(HOST, prefetch_bytes=16 * MIB, num_input_workers=1)) is None
