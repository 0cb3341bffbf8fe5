"""How fast a training goes, and what takes its time."""

from __future__ import annotations

from typing import Any

import pytest

from tests.diagnosis.builders import T0, host, journal, steps
from unstall.diagnosis.run_summary import measure_speed, summarize_time
from unstall.journal.events import (
    DeviceSampled,
    DevicesListed,
    EpochEnded,
    Event,
    FitBegan,
    FunctionTraced,
    SampleFailed,
    StepsEnded,
)


def slow_fit(*more: Event, wait_s: float | None = None) -> dict[str, Any]:
    """A fit of 3 epochs of 40 steps that take 20 s each, seen up to its tenth step."""
    taken = [
        steps(0, 0, at=30.0, each_s=30.0),
        *(steps(at, at, at=30.0 + 20.0 * at, each_s=20.0, wait_s=wait_s) for at in range(1, 10)),
    ]
    found = measure_speed(journal(FitBegan(at=T0, epochs=3, steps_per_epoch=40), *taken, *more))
    assert found is not None
    return found


def test_a_slow_fit_has_the_times_of_a_step_an_epoch_and_the_run() -> None:
    found = slow_fit()
    assert (found["step_s"], found["steps"]) == (20.0, 9)
    assert (found["epoch_s"], found["run_s"], found["left_s"]) == (800.0, 2400.0, 2200.0)
    assert found["compute_fraction"] == 1.0
    assert found["input_fraction"] is None
    assert found["faster_without_waiting"] is None


def test_the_wait_for_input_says_how_much_faster_it_would_be_without() -> None:
    found = slow_fit(wait_s=15.0)
    assert found["input_fraction"] == pytest.approx(0.75)
    assert found["compute_fraction"] == pytest.approx(0.25)
    assert found["faster_without_waiting"] == pytest.approx(4.0)


def test_an_epoch_takes_what_the_last_ones_took_with_their_validation() -> None:
    ended = [EpochEnded(at=T0 + 200, epoch=number, seconds=seconds) for number, seconds in enumerate((300.0, 100.0, 110.0, 90.0))]
    assert slow_fit(*ended)["epoch_s"] == 100.0


def test_the_cores_are_those_of_the_steps_and_not_of_the_imports_before() -> None:
    found = slow_fit(
        host(5.0, cpu_cores=1.0, usable_cores=2.0),
        *(host(40.0 + at, cpu_cores=1.5, usable_cores=2.0, queued_cores=0.5) for at in range(100)),
    )
    assert (found["cores_used"], found["cores_usable"], found["cores_queued"]) == (1.5, 2.0, 0.5)


@pytest.mark.parametrize(
    ("said", "accelerator"),
    [
        ((), "unknown"),
        ((DevicesListed(devices=["cpu"]),), "none"),
        ((DevicesListed(devices=["cpu"]), SampleFailed(signal="device", missing="nvidia-ml-py")), "unknown"),
        ((DevicesListed(devices=["cpu"], weights_on="cpu"), DeviceSampled(name="NVIDIA H200")), "unused"),
        ((DevicesListed(devices=["cpu", "gpu"], weights_on="cpu"),), "unused"),
        ((DevicesListed(devices=["gpu"], weights_on="gpu:0"), DeviceSampled(name="NVIDIA H200")), "used"),
        ((DevicesListed(devices=["gpu"]), DeviceSampled(name="NVIDIA H200")), "unknown"),
    ],
)
def test_which_accelerator_is_used(said: tuple[Event, ...], accelerator: str) -> None:
    assert slow_fit(*said)["accelerator"] == accelerator


def test_the_first_step_and_one_more_are_too_few() -> None:
    assert measure_speed(journal(steps(0, 0, at=30.0), steps(1, 2, at=31.0))) is None


def first_call(last: int, *more: Event) -> dict[str, float | None]:
    """A first call of 300 s that made steps up to this one."""
    call = StepsEnded(at=T0 + 310.0, first=0, last=last, seconds=300.0, busy_s=300.0)
    return summarize_time(journal(*more, call))


def test_of_a_first_call_with_many_steps_only_the_trace_is_compiling() -> None:
    """The seconds of a trace are those of all traces of the function up to then."""
    earlier = FunctionTraced(at=T0 + 1.0, function="evaluate", count=1, seconds=50.0)
    traced = FunctionTraced(at=T0 + 170.0, function="train", count=1, seconds=160.0)
    again = FunctionTraced(at=T0 + 210.0, function="train", count=2, seconds=200.0)
    found = first_call(99, earlier, traced, again)
    assert (found["compile"], found["compute"]) == (200.0, 100.0)


def test_a_first_step_is_all_compiling_and_so_is_a_call_whose_traces_are_not_seen() -> None:
    traced = FunctionTraced(at=T0 + 170.0, function="train", count=1, seconds=160.0)
    assert first_call(0, traced)["compile"] == 300.0
    assert first_call(99)["compile"] == 300.0
