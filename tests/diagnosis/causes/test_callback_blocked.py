"""callback_blocked: a callback of the program's own has not come back."""

import pytest

from tests.diagnosis.builders import T0, host, journal, lib, main, native, py, stacks, stalled, started, steps
from unstall.diagnosis.causes import callback_blocked
from unstall.diagnosis.verdict import Certainty, Clear, Found, Unknown
from unstall.journal.events import Frame, SignalSent, ThreadStack
from unstall.journal.reader import Journal

PYTHON_LIB = "/usr/lib/python3.11"


def fit(*inner: Frame, by: str = "keras/src/callbacks/callback_list.py") -> ThreadStack:
    return main(
        *inner,
        lib(by, "on_epoch_end"),
        lib("keras/src/backend/tensorflow/trainer.py", "fit"),
        py("train.py", "<module>", 31),
    )


def posts(line: int = 12) -> list[Frame]:
    return [py(f"{PYTHON_LIB}/socket.py", "readinto", 706), py("notify.py", "post", line), py("notify.py", "on_epoch_end", 30)]


def stall_with(*samples: object, cpu: float = 0.0) -> Journal:
    return journal(
        started(),
        steps(300, 380, at=100),
        stalled(since=100, at=108),
        *samples,
        *(host(at, cpu) for at in range(101, 112)),
        now=112,
    )


@pytest.mark.parametrize(
    "by",
    [
        "keras/src/callbacks/callback_list.py",
        "tf_keras/src/callbacks.py",
        "keras/src/callbacks.py",
        "keras/callbacks.py",
        "keras/callbacks/callbacks.py",
        "tensorflow/python/keras/callbacks.py",
    ],
)
def test_found_with_the_users_line_and_what_it_waits_for(by: str) -> None:
    verdict = callback_blocked.examine(stall_with(*(stacks(fit(*posts(), by=by), at=at) for at in (109, 110, 111))))
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.CERTAIN
    assert verdict.where == "notify.py:12"
    assert "has not come back from on_epoch_end. It waits for the network in post at notify.py:12" in verdict.summary


def test_found_also_when_somebody_lost_patience_and_the_program_cleans_up() -> None:
    """Ctrl-C: the last sample shows the traceback being printed, and the CPU is used again."""
    stood = [stacks(fit(*posts()), at=at) for at in (109, 110, 111)]
    ends = stacks(main(lib("keras/src/utils/traceback_utils.py", "error_handler"), py("train.py", "<module>", 31)), at=113)
    busy = [host(at, 1.0) for at in range(113, 140)]
    events = [started(), steps(300, 380, at=100), stalled(since=100, at=108), *stood, *(host(at, 0.0) for at in range(101, 112))]
    verdict = callback_blocked.examine(journal(*events, SignalSent(at=T0 + 112, signal=2), ends, *busy, now=140))
    assert isinstance(verdict, Found)
    assert verdict.where == "notify.py:12"


def test_clear_where_it_moves_or_works() -> None:
    moves = [stacks(fit(*posts(line)), at=at) for line, at in ((12, 109), (13, 110), (19, 111))]
    assert isinstance(callback_blocked.examine(stall_with(*moves)), Clear)
    works = [stacks(fit(*posts()), at=at) for at in (109, 110, 111)]
    assert isinstance(callback_blocked.examine(stall_with(*works, cpu=1.0)), Clear)


def test_clear_where_the_callback_only_sleeps_or_the_input_is_what_stands() -> None:
    sleeps = fit(native("clock_nanosleep", "libc.so.6"), py("cool.py", "on_epoch_end", 5))
    assert isinstance(callback_blocked.examine(stall_with(*(stacks(sleeps, at=at) for at in (109, 110, 111)))), Clear)
    fetches = main(*posts(), lib("keras/src/trainers/data_adapters/py_dataset_adapter.py", "get"), py("train.py", "<module>", 9))
    assert isinstance(callback_blocked.examine(stall_with(*(stacks(fetches, at=at) for at in (109, 110, 111)))), Clear)


def test_a_process_that_it_waits_for_is_given_a_minute() -> None:
    """A copy to a bucket by a program of its own uses no CPU here, and ends."""
    copies = fit(py(f"{PYTHON_LIB}/subprocess.py", "wait", 1264), py("keep.py", "on_epoch_end", 30))
    samples = [stacks(copies, at=at) for at in (109, 110, 111)]
    assert isinstance(callback_blocked.examine(stall_with(*samples)), Clear)
    idle = [host(at, 0.0) for at in range(112, 162)]
    verdict = callback_blocked.examine(journal(*stall_with(*samples).all(), *idle, now=162))
    assert isinstance(verdict, Found)
    assert "waits for another process in on_epoch_end at keep.py:30" in verdict.summary


def test_clear_without_a_stall_and_unknown_without_stacks() -> None:
    assert isinstance(callback_blocked.examine(journal(started(), steps(0, 50, at=10), now=20)), Clear)
    assert isinstance(callback_blocked.examine(stall_with()), Unknown)
