"""device_memory_fragmented: enough is free, in pieces. On journals recorded on a real card."""

import pytest

from tests.diagnosis.builders import journal, started
from tests.diagnosis.recorded_journals import HEALTHY, recorded
from unstall.diagnosis.causes import device_memory_fragmented
from unstall.diagnosis.verdict import Certainty, Clear, Found, Unknown
from unstall.journal.events import DeviceMemoryCounted, ErrorRaised, SampleFailed

GIB = 2**30


def test_found_in_what_pytorch_says_of_its_own_memory() -> None:
    verdict = device_memory_fragmented.examine(recorded("gpu_fragmented_torch"))
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.CERTAIN
    assert "57.20 GiB unused" in verdict.summary
    assert "expandable_segments" in verdict.actions[0]


def jax_error_with(largest_gib: int) -> object:
    """JAX's error says how much was asked for (41 GiB); its allocator says what is free, and in which pieces."""
    real = recorded("gpu_fragmented_jax")
    at = real.of(ErrorRaised)[-1].at + 0.5
    count = DeviceMemoryCounted(
        at=at, framework="jax", device="gpu:0", in_use_bytes=60 * GIB, limit_bytes=105 * GIB, largest_free_bytes=largest_gib * GIB
    )
    real.extend([count])
    return device_memory_fragmented.examine(real)


def test_found_where_jax_counts_enough_but_no_piece_is_large_enough() -> None:
    verdict = jax_error_with(largest_gib=12)
    assert isinstance(verdict, Found)
    assert "12.00 GiB" in verdict.summary


def test_clear_where_one_piece_was_large_enough() -> None:
    assert isinstance(jax_error_with(largest_gib=44), Clear)


@pytest.mark.parametrize("name", [*HEALTHY, "gpu_exhausted_batch_torch", "gpu_held_by_other_torch"])
def test_clear_where_the_memory_was_simply_too_small_or_enough(name: str) -> None:
    assert isinstance(device_memory_fragmented.examine(recorded(name)), Clear)


def test_unknown_where_nothing_could_be_seen() -> None:
    failed = SampleFailed(at=started().at + 1, signal="device", missing="NVML", fix="check nvidia-smi")
    assert device_memory_fragmented.examine(journal(started(), failed)) == Unknown("NVML", "check nvidia-smi")
