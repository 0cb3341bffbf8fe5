"""device_unused: a card is there, and the training runs on the processor."""

from tests.diagnosis.builders import T0, journal, started, steps
from tests.diagnosis.recorded_journals import recorded
from unstall.diagnosis.causes import device_unused
from unstall.diagnosis.verdict import Certainty, Clear, Found, Unknown
from unstall.journal.events import DeviceSampled, DevicesListed, FitBegan, SampleFailed

CARD = DeviceSampled(at=T0 + 5, name="NVIDIA H200", used_bytes=10, total_bytes=1000)
FIT = FitBegan(at=T0 + 5, api="keras", backend="jax", where="/home/user/project/train.py:30")


def listed(**more: object) -> DevicesListed:
    known = {"framework": "jax", "devices": ["cpu"], "weights_on": "cpu", **more}
    return DevicesListed(at=T0 + 6, **known)


def run(*events: object, seconds: float = 20.0) -> object:
    return device_unused.examine(journal(started(), FIT, *events, steps(1, 100, at=30, each_s=seconds / 100)))


def test_found_with_the_variable_that_hides_the_card_and_its_line() -> None:
    hidden = listed(variables={"CUDA_VISIBLE_DEVICES": ""}, set_at={"CUDA_VISIBLE_DEVICES": "/home/user/project/train.py:7"})
    verdict = run(CARD, hidden)
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.CERTAIN
    assert verdict.where == "train.py:7"
    assert verdict.actions == ("unset CUDA_VISIBLE_DEVICES",)


def test_clear_where_the_command_itself_asks_for_the_cpu() -> None:
    manual = listed(variables={"JAX_PLATFORMS": "cpu"})
    assert isinstance(run(CARD, manual), Clear)


def test_found_in_a_build_without_cuda() -> None:
    verdict = run(CARD, listed(framework="tensorflow", built_with_gpu=False))
    assert isinstance(verdict, Found)
    assert "has no CUDA" in verdict.summary


def test_clear_where_there_is_no_card() -> None:
    assert isinstance(run(listed()), Clear)


def test_clear_where_the_program_holds_memory_of_the_card() -> None:
    used = DeviceSampled(at=T0 + 7, name="NVIDIA H200", processes=[{"pid": 1, "bytes": 10**9, "ours": True}])
    assert isinstance(run(used, listed()), Clear)


def test_clear_for_a_training_of_a_moment() -> None:
    assert isinstance(run(CARD, listed(), seconds=3.0), Clear)


def test_found_on_real_runs_that_left_the_card_idle() -> None:
    for name in ("gpu_hidden_by_environment_jax", "gpu_left_out_torch"):
        assert isinstance(device_unused.examine(recorded(name)), Found)


def test_clear_on_a_real_run_that_used_its_card() -> None:
    assert not isinstance(device_unused.examine(recorded("gpu_almost_full_jax")), Found)


def test_unknown_where_the_card_cannot_be_asked_or_the_weights_not_found() -> None:
    failed = SampleFailed(at=T0 + 1, signal="device", missing="nvidia-ml-py", fix="pip install nvidia-ml-py")
    assert run(failed, listed()) == Unknown("nvidia-ml-py", "pip install nvidia-ml-py")
    assert isinstance(run(CARD), Unknown)
