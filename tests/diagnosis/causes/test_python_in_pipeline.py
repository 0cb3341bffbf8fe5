"""python_in_pipeline: the interpreter makes the input, one piece at a time."""

from tests.diagnosis.builders import T0, journal, lib, py, started, thread
from tests.diagnosis.pipeline_events import DECODING, PYTHON, in_generator, in_py_function, training
from unstall.diagnosis.causes import python_in_pipeline
from unstall.diagnosis.verdict import Certainty, Clear, Found, Unknown
from unstall.journal.events import InputDescribed, SampleFailed


def test_found_with_the_function_and_the_threads_that_share_it() -> None:
    verdict = python_in_pipeline.examine(training(*PYTHON, stack=in_py_function(38)))
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.CERTAIN
    assert verdict.where == "data.py:38"
    assert "bag_of_words" in verdict.summary
    assert "4 of its threads share one interpreter" in verdict.summary


def test_found_for_a_generator_with_idle_workers() -> None:
    described = InputDescribed(at=T0 + 0.1, kind="generator", arguments={"workers": 8})
    verdict = python_in_pipeline.examine(training(described, stack=in_generator(py("data.py", "walk", 21), gil=True)))
    assert isinstance(verdict, Found)
    assert verdict.where == "data.py:21"
    assert "8 of its threads" in verdict.summary


def test_clear_when_the_python_code_waits() -> None:
    waiting = training(stack=in_generator(py("data.py", "Sensor.read", 34)), thread_cores=0.05)
    assert isinstance(python_in_pipeline.examine(waiting), Clear)


def test_clear_when_a_library_does_the_work_beside_the_interpreter() -> None:
    decompressing = training(stack=in_generator(py("data.py", "unpack", 34), gil=False))
    assert isinstance(python_in_pipeline.examine(decompressing), Clear)


def test_clear_when_a_stage_without_python_is_the_hardest() -> None:
    assert isinstance(python_in_pipeline.examine(training(*DECODING, stack=in_py_function(38))), Clear)


def test_clear_when_the_steps_do_not_wait() -> None:
    assert isinstance(python_in_pipeline.examine(training(*PYTHON, wait_s=0.02, stack=in_py_function(38))), Clear)


def test_unknown_without_stacks() -> None:
    refused = SampleFailed(at=T0 + 9, signal="stacks", missing="the permission to read the memory", fix="sudo")
    assert python_in_pipeline.examine(training(refused)) == Unknown("the permission to read the memory", "sudo")


def test_unknown_without_a_training() -> None:
    assert isinstance(python_in_pipeline.examine(journal(started())), Unknown)


def test_found_when_the_threads_of_the_input_leave_the_training_no_interpreter() -> None:
    """The step needs the interpreter too, so that part of the wait hides in it."""
    worker = thread(
        py("data.py", "draw", 33),
        lib("keras/src/trainers/data_adapters/py_dataset_adapter.py", "get_index", 300),
        active=True,
    )
    worker["gil"] = True
    verdict = python_in_pipeline.examine(training(wait_s=0.1, stack=worker))
    assert isinstance(verdict, Found)
    assert verdict.where == "data.py:33"


def test_clear_when_those_threads_are_ahead_and_rest() -> None:
    resting = thread(
        py("/usr/lib/python3.11/queue.py", "put", 140),
        lib("keras/src/trainers/data_adapters/py_dataset_adapter.py", "_run", 500),
    )
    assert isinstance(python_in_pipeline.examine(training(wait_s=0.1, stack=resting)), Clear)


def test_likely_by_the_stage_when_no_sample_met_the_function() -> None:
    verdict = python_in_pipeline.examine(training(*PYTHON))
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.LIKELY
    assert verdict.where == "train.py:11"


def test_clear_when_that_stage_only_waits() -> None:
    assert isinstance(python_in_pipeline.examine(training(*PYTHON, cores=0.1)), Clear)
