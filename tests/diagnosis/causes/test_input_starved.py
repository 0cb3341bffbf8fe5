"""input_starved: steps wait for their batches, and the stage that is to blame."""

import dataclasses

import pytest

from tests.diagnosis.builders import T0, journal, main, py, started, steps
from tests.diagnosis.pipeline_events import (
    DECODING,
    PYTHON,
    fit,
    generator_source,
    in_generator,
    in_py_function,
    measured,
    node,
    stage,
    training,
)
from unstall.diagnosis.causes import input_starved, python_in_pipeline
from unstall.diagnosis.input_starvation import InputStarvation, find_starvation
from unstall.diagnosis.verdict import Certainty, Clear, Effect, Found, Unknown
from unstall.journal.events import DeviceSampled, InputDescribed, PipelineMeasured, StallEnded
from unstall.journal.reader import Journal


def test_found_with_the_stage_and_its_line() -> None:
    verdict = input_starved.examine(training(*DECODING))
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.CERTAIN
    assert verdict.effect is Effect.SLOWS
    assert verdict.where == "train.py:11"
    assert "250 ms of its 300 ms" in verdict.summary
    assert "reading and decoding in load at train.py:11" in verdict.summary


def test_likely_when_a_little_more_than_half_is_waiting() -> None:
    verdict = input_starved.examine(training(*DECODING, wait_s=0.18))
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.LIKELY


def test_names_the_python_function_that_is_waited_for() -> None:
    verdict = input_starved.examine(training(*PYTHON, stack=in_py_function(38)))
    assert isinstance(verdict, Found)
    assert verdict.where == "data.py:38"
    assert "bag_of_words" in verdict.summary


def test_names_the_generator_where_python_fetches_the_batches() -> None:
    verdict = input_starved.examine(training(stack=in_generator(py("data.py", "Sensor.read", 34)), thread_cores=0.05))
    assert isinstance(verdict, Found)
    assert verdict.where == "data.py:34"


def test_a_python_function_beside_a_harder_stage_is_not_blamed() -> None:
    verdict = input_starved.examine(training(*DECODING, stack=in_py_function(38)))
    assert isinstance(verdict, Found)
    assert verdict.where == "train.py:11"


def test_clear_when_a_third_is_waiting() -> None:
    assert isinstance(input_starved.examine(training(*DECODING, wait_s=0.1)), Clear)


def test_clear_for_tiny_steps_whose_wait_is_the_price_of_a_call() -> None:
    assert isinstance(input_starved.examine(training(wait_s=0.0012, step_s=0.002)), Clear)


def test_clear_when_a_few_steps_wait_long() -> None:
    quick = [steps(number * 100 + 2, number * 100 + 101, at=number * 4 + 1, each_s=0.01, wait_s=0.001) for number in range(10)]
    slow = [steps(number * 100 + 102, number * 100 + 102, at=number * 4 + 4, each_s=3.0, wait_s=2.99) for number in range(10)]
    assert isinstance(input_starved.examine(journal(started(), fit(0.0), *quick, *slow, now=41)), Clear)


def test_one_long_pause_is_not_shared_out_among_the_steps() -> None:
    before = [steps(first, first + 19, at=3 + first / 10, each_s=0.1, wait_s=0.065) for first in range(20, 200, 20)]
    pause = [steps(200, 219, at=90, each_s=3.0, wait_s=2.9), StallEnded(at=T0 + 90, phase="train", step=205, seconds=58.0)]
    result = find_starvation(journal(started(), fit(), *before, *pause, now=95))
    assert isinstance(result, InputStarvation) and result.wait is not None and result.wait.each_s == pytest.approx(0.065)


def test_clear_when_only_the_beginning_was_slow() -> None:
    slow = [steps(number * 3 + 2, number * 3 + 4, at=number + 1, each_s=0.3, wait_s=0.29) for number in range(30)]
    quick = [steps(number * 3 + 92, number * 3 + 94, at=number + 31, each_s=0.3, wait_s=0.01) for number in range(20)]
    assert isinstance(input_starved.examine(journal(started(), fit(0.0), *slow, *quick, now=51)), Clear)


def test_nothing_is_said_after_a_few_steps() -> None:
    small = [steps(number + 2, number + 2, at=number * 0.3 + 1, each_s=0.3, wait_s=0.29) for number in range(8)]
    assert isinstance(input_starved.examine(journal(started(), fit(0.0), *small, now=4)), Clear)


def test_a_few_steps_are_enough_where_they_take_long() -> None:
    def after(count: int) -> Journal:
        long = [steps(number + 2, number + 2, at=number * 8.0 + 10, each_s=8.0, wait_s=7.0) for number in range(count)]
        return journal(started(), fit(0.0), *long, now=count * 8.0 + 5)

    assert isinstance(input_starved.examine(after(6)), Found)
    assert isinstance(input_starved.examine(after(5)), Clear)


def test_clear_while_a_cache_fills() -> None:
    filling = [
        measured(
            at,
            [
                node("TensorSlice", at * 10),
                node("ParallelMapV2", at * 10, at * 0.9),
                node("MemoryCache", at * 10),
                node("Root", at),
            ],
            [stage("TensorSlice", 10), stage("Map", 11, ("decoding",)), stage("Cache", 12, elements=1_000)],
        )
        for at in (5, 15, 29)
    ]
    assert isinstance(input_starved.examine(training(*filling)), Clear)


def behind_a_full_cache(filled_s: float, *traits: str, **more: str) -> list[PipelineMeasured]:
    """Slow behind it; before it so many seconds went into filling it."""
    return [
        measured(
            at,
            [node("Map", 100, filled_s), node("MemoryCache", at * 10), node("Map", at * 10, at * 0.8), node("Root", at)],
            [
                stage("Map", 11, traits, **more),
                stage("Cache", 12, elements=100),
                stage("Map", 13, ("augmenting",), function="augment"),
            ],
        )
        for at in (5, 15, 29)
    ]


def test_found_when_it_is_slow_in_spite_of_a_full_cache() -> None:
    verdict = input_starved.examine(training(*behind_a_full_cache(3.0, "decoding")))
    assert isinstance(verdict, Found)
    assert verdict.where == "train.py:13"


def test_what_filled_a_cache_is_not_named_for_what_is_slow_afterwards() -> None:
    full = behind_a_full_cache(300.0, "python", "decoding", function="load")
    verdict = input_starved.examine(training(*full))
    assert isinstance(verdict, Found)
    assert verdict.where == "train.py:13"
    assert isinstance(python_in_pipeline.examine(training(*full)), Clear)
    only_while_it_filled = python_in_pipeline.examine(training(full[0]))
    assert isinstance(only_while_it_filled, Clear)


def test_clear_when_the_device_is_busy() -> None:
    busy = [DeviceSampled(at=T0 + at, index=0, busy_percent=93.0) for at in range(2, 30, 5)]
    assert isinstance(input_starved.examine(training(*DECODING, *busy)), Clear)


def test_found_by_samples_in_a_loop_over_a_generator() -> None:
    loop = main(py("data.py", "read_shard", 12), py("data.py", "batches", 40), py("train.py", "main", 70))
    verdict = input_starved.examine(training(generator_source(), wait_s=None, stack=loop, api="own_loop"))
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.LIKELY
    assert verdict.where == "data.py:12"


def test_clear_for_a_loop_that_is_found_in_its_step() -> None:
    loop = main(py("train.py", "train_step", 30), py("train.py", "main", 70))
    assert isinstance(input_starved.examine(training(generator_source(), wait_s=None, stack=loop, api="own_loop")), Clear)


def test_where_nothing_shows_the_stage_the_input_itself_is_named() -> None:
    described = InputDescribed(at=T0 + 0.1, kind="PyDataset", where="/home/user/project/data.py:7")
    verdict = input_starved.examine(training(described))
    assert isinstance(verdict, Found)
    assert verdict.where == "/home/user/project/data.py:7"


def test_unknown_without_a_training() -> None:
    assert isinstance(input_starved.examine(journal(started())), Unknown)


def test_clear_when_the_wait_was_not_measured() -> None:
    assert isinstance(input_starved.examine(training(wait_s=None)), Clear)


def test_a_fit_before_this_one_does_not_count() -> None:
    starving = training(*DECODING)
    starving.extend([dataclasses.replace(fit(32.0), at=T0 + 32), steps(0, 10, at=35)])
    assert isinstance(input_starved.examine(starving), Clear)


def test_clear_for_arrays_in_memory_on_a_crowded_machine() -> None:
    arrays = InputDescribed(at=T0 + 0.1, kind="arrays", where="/home/user/project/train.py:90")
    assert isinstance(input_starved.examine(training(arrays, wait_s=0.02, step_s=0.03)), Clear)
    assert isinstance(input_starved.examine(training(wait_s=0.02, step_s=0.03)), Found)
