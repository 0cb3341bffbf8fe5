"""reader_blocked: a thread without Python sleeps in the opening or the reading of a file, and the main thread waits for it."""

import pytest

from tests.diagnosis.builders import journal, kernel, lib, main, py, sleeper, stacks, started, steps, stuck, thread, three
from unstall.diagnosis.causes import reader_blocked
from unstall.diagnosis.verdict import Certainty, Clear, Found, Unknown
from unstall.journal.events import Event, SampleFailed

EXECUTE = lib("tensorflow/python/eager/execute.py", "quick_execute", 54)
FIT = main(EXECUTE, lib("keras/engine/training.py", "fit", 1184), py("train.py", "<module>", 31))
SHARD = "/data/train-2.tfrecord"


def reader(call: str | None = "openat", on: str | None = SHARD, number: int = 77, asleep_s: float = 60.0) -> dict[str, object]:
    return sleeper(id=number, call=call, on=on, name="tf_data", asleep_s=asleep_s)


def looks(*threads: dict[str, object]) -> tuple[Event, ...]:
    return tuple(kernel(sleeper(), *threads, at=at) for at in (109, 110, 111))


@pytest.mark.parametrize(
    ("call", "words"), [("openat", "opening"), ("open", "opening"), ("read", "reading"), ("pread64", "reading")]
)
def test_found_with_the_file_and_the_line_that_waits(call: str, words: str) -> None:
    verdict = reader_blocked.examine(stuck(*three(FIT), *looks(reader(call))))
    assert isinstance(verdict, Found) and verdict.certainty is Certainty.CERTAIN
    assert verdict.where == "train.py:31"
    said = f"since step 381: {words} {SHARD} does not return, in a thread of the framework. The main thread waits at train.py:31."
    assert said in verdict.summary
    assert verdict.evidence[0].events and SHARD in verdict.evidence[0].claim


def test_several_readers_are_told_once_each() -> None:
    verdict = reader_blocked.examine(stuck(*three(FIT), *looks(reader(), reader(number=78), reader(on="/data/b", number=79))))
    assert isinstance(verdict, Found)
    assert "Others do not come back from /data/b." in verdict.summary


def test_a_native_sample_that_interrupts_the_call_hides_nothing() -> None:
    interrupted = kernel(sleeper(), reader(call="system call 219", on=None), at=111.5)
    verdict = reader_blocked.examine(stuck(*three(FIT), *looks(reader()), interrupted))
    assert isinstance(verdict, Found)


def test_where_the_trainer_is_installed_its_own_line_is_named() -> None:
    installed = main(EXECUTE, lib("keras/engine/training.py", "fit", 1184), lib("a_trainer/bin/train.py", "main", 538))
    verdict = reader_blocked.examine(stuck(*three(installed), *looks(reader())))
    assert isinstance(verdict, Found) and verdict.where is not None and verdict.where.endswith("a_trainer/bin/train.py:538")


@pytest.mark.parametrize(
    "thread_seen",
    [
        reader("futex", None),  # waits for work
        reader("read", "a pipe"),
        reader("read", "a connection to 10.0.0.7:443"),
        reader("read", "anon_inode:inotify"),
        reader("read", "/dev/nvidia0"),
        reader(asleep_s=2.0),  # it has only begun
    ],
)
def test_clear_where_no_thread_stands_in_a_file(thread_seen: dict[str, object]) -> None:
    assert isinstance(reader_blocked.examine(stuck(*three(FIT), *looks(thread_seen))), Clear)


def test_clear_where_it_goes_from_file_to_file() -> None:
    seen = [kernel(sleeper(), reader(on=f"/data/{at}"), at=at) for at in (109, 110, 111)]
    assert isinstance(reader_blocked.examine(stuck(*three(FIT), *seen)), Clear)


def test_clear_where_the_thread_runs_python_or_the_main_thread_waits_in_the_programs_own_code() -> None:
    python = thread(py("loader.py", "read", 7), id=77)
    assert isinstance(reader_blocked.examine(stuck(*three(FIT, python), *looks(reader()))), Clear)
    own = main(py("train.py", "rest", 12), py("train.py", "<module>", 31))
    assert isinstance(reader_blocked.examine(stuck(*three(own), *looks(reader()))), Clear)


def test_clear_where_the_program_works_or_makes_progress() -> None:
    assert isinstance(reader_blocked.examine(stuck(*three(FIT), *looks(reader()), cpu=1.5)), Clear)
    assert isinstance(reader_blocked.examine(journal(started(), steps(1, 80, at=100), now=101)), Clear)


def test_unknown_where_no_stack_could_be_taken() -> None:
    refused = SampleFailed(at=0, signal="stacks", missing="the permission", fix="run it with sudo")
    assert isinstance(reader_blocked.examine(stuck(refused)), Unknown)


def test_a_file_opened_under_a_main_thread_that_was_sampled_once_is_no_verdict() -> None:
    assert isinstance(reader_blocked.examine(stuck(stacks(FIT, at=109), *looks(reader()))), Clear)
