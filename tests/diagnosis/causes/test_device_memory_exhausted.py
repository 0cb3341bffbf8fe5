"""device_memory_exhausted: the training needs more than the card has. On journals recorded on a real card."""

import pytest

from tests.diagnosis.builders import journal, started
from tests.diagnosis.recorded_journals import HEALTHY, recorded
from unstall.diagnosis.causes import device_memory_exhausted
from unstall.diagnosis.verdict import Certainty, Clear, Found, Unknown
from unstall.journal.events import ErrorRaised, FrameworkLoaded, SampleFailed


@pytest.mark.parametrize("name", ["gpu_exhausted_batch_jax", "gpu_exhausted_batch_torch"])
def test_found_with_the_amounts_and_the_line(name: str) -> None:
    verdict = device_memory_exhausted.examine(recorded(name))
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.CERTAIN
    assert "64.0" in verdict.summary
    assert verdict.where is not None
    assert verdict.where.endswith(f"{name}.py:35")


@pytest.mark.parametrize("name", HEALTHY)
def test_clear_on_runs_that_had_enough_or_helped_themselves(name: str) -> None:
    assert isinstance(device_memory_exhausted.examine(recorded(name)), Clear)


@pytest.mark.parametrize("name", ["gpu_held_by_other_jax", "gpu_held_by_other_torch", "gpu_fragmented_torch"])
def test_clear_where_a_narrower_cause_explains_it(name: str) -> None:
    assert isinstance(device_memory_exhausted.examine(recorded(name)), Clear)


def test_a_warning_that_says_it_is_no_failure_is_none() -> None:
    text = "Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.53GiB. The caller indicates that this is not a failure"
    warned = ErrorRaised(at=started().at + 9, kind="tensorflow.errors.ResourceExhaustedError", message=text, fatal=True)
    assert isinstance(
        device_memory_exhausted.examine(journal(started(), FrameworkLoaded(at=started().at + 1, name="tensorflow"), warned)),
        Clear,
    )


def test_unknown_where_neither_the_program_nor_the_card_could_be_seen() -> None:
    failed = SampleFailed(at=started().at + 1, signal="device", missing="nvidia-ml-py", fix="pip install nvidia-ml-py")
    assert device_memory_exhausted.examine(journal(started(), failed)) == Unknown("nvidia-ml-py", "pip install nvidia-ml-py")
