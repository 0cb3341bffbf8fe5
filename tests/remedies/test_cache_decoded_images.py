"""Decoded images are kept where that saves most of the work, there is memory, and epochs are left to use them."""

import pytest

from tests.remedies.builders import began, fault, host, measured, steps
from unstall.config.settings import GIB
from unstall.remedies.cache_decoded_images import plan
from unstall.remedies.plan import Fault, Kind


def starved(read_s: float = 5, decode_s: float = 20, free_gib: float = 10, epochs: int = 10, cache_bytes: int = 0) -> Fault:
    events = (began(epochs=epochs), steps(0.4), measured(read_s, decode_s, augment_s=5), host(cpu_cores=8, free_gib=free_gib))
    return fault(Kind.STARVED, *events, cache_bytes=cache_bytes)


def test_a_part_of_the_free_memory_is_given_to_it() -> None:
    planned = plan(starved())
    assert planned is not None
    assert planned.change == {"cache_bytes": 4 * GIB}
    assert planned.verify.past_step == 60 + 100  # when an epoch has filled it


@pytest.mark.parametrize(
    "not_worth_it", [starved(read_s=0, decode_s=1), starved(free_gib=0.1), starved(epochs=1), starved(cache_bytes=GIB)]
)
def test_where_it_would_save_little_it_is_left_alone(not_worth_it: Fault) -> None:
    assert plan(not_worth_it) is None
