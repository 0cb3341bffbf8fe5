"""device_memory_held_by_other: who holds the memory that is missing. On journals recorded on a real card."""

import pytest

from tests.diagnosis.builders import journal, started
from tests.diagnosis.recorded_journals import HEALTHY, recorded
from unstall.diagnosis.causes import device_memory_held_by_other
from unstall.diagnosis.verdict import Certainty, Clear, Found, Unknown
from unstall.journal.events import SampleFailed


@pytest.mark.parametrize(("name", "pid"), [("gpu_held_by_other_jax", 2125), ("gpu_held_by_other_torch", 2382)])
def test_found_with_the_process_its_name_and_its_share(name: str, pid: int) -> None:
    verdict = device_memory_held_by_other.examine(recorded(name))
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.CERTAIN
    assert f"Process {pid}" in verdict.summary
    assert f"end process {pid}" in verdict.actions[0]


@pytest.mark.parametrize("name", [*HEALTHY, "gpu_exhausted_batch_jax", "gpu_exhausted_batch_torch", "gpu_fragmented_torch"])
def test_clear_where_nobody_else_made_the_difference(name: str) -> None:
    assert isinstance(device_memory_held_by_other.examine(recorded(name)), Clear)


def test_unknown_where_nothing_could_be_seen() -> None:
    failed = SampleFailed(at=started().at + 1, signal="device", missing="NVML", fix="check nvidia-smi")
    assert device_memory_held_by_other.examine(journal(started(), failed)) == Unknown("NVML", "check nvidia-smi")
