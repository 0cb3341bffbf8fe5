"""Where a program stood: the user's own lines before all others."""

from tests.diagnosis.builders import T0, journal, lib, main, native, py, source, stacks, stalled, started, stuck, thread, three
from unstall.journal.events import ErrorRaised, ProcessEnded, StallEnded
from unstall.report.story.threads import describe_error, list_stalls

LIBRARY = thread(lib("tensorflow/python/x.py", "wait"), name="pool", id=7)
MINE = thread(lib("requests/api.py", "get", 9), py("loader.py", "load", 57), name="reader", id=8)
MAIN = main(lib("keras/trainer.py", "fit"), py("train.py", "<module>", 40))


def test_threads_in_which_the_users_code_stands_come_first() -> None:
    (stall,) = list_stalls(stuck(*three(LIBRARY, MINE, MAIN)))
    assert [row["name"] for row in stall["threads"]] == ["MainThread", "reader", "pool"]
    assert (stall["step"], stall["phase"], stall["seconds"], stall["goes_on"]) == (381, "train", 12.0, True)


def test_the_thread_that_a_verdict_names_comes_before_all_others() -> None:
    (stall,) = list_stalls(stuck(*three(LIBRARY, MINE, MAIN)), named=["loader.py:57", None])
    assert [row["name"] for row in stall["threads"]] == ["reader", "MainThread", "pool"]


def test_the_users_frames_are_told_apart_with_the_text_of_their_lines() -> None:
    (stall,) = list_stalls(stuck(*three(MINE), source("loader.py", 57, text="data = get(url)")))
    (row,) = stall["threads"]
    assert [(frame["where"], frame["function"], frame["text"]) for frame in row["user_frames"]] == [
        ("loader.py:57", "load", "data = get(url)")
    ]
    assert [frame["function"] for frame in row["frames"]] == ["get", "load"]


def test_a_sample_with_native_frames_is_preferred_and_says_the_library() -> None:
    deep = stacks(thread(native("RunSync"), *MINE["frames"], name="reader", id=8), at=110, native=True)
    (stall,) = list_stalls(stuck(*three(MINE)[:1], deep, *three(MINE)[2:]))
    assert stall["threads"][0]["frames"][0] == {
        "function": "RunSync",
        "where": "libtensorflow_cc.so.2",
        "is_user_code": False,
        "text": "",
    }


def test_a_stall_that_ended_has_its_own_samples_only() -> None:
    events = journal(
        started(), stalled(since=10, at=18), stacks(MINE, at=20), StallEnded(at=T0 + 30), stacks(MAIN, at=40), now=60
    )
    (stall,) = list_stalls(events)
    assert (stall["goes_on"], stall["seconds"]) == (False, 20.0)
    assert [row["name"] for row in stall["threads"]] == ["reader"]


def test_stacks_are_bounded() -> None:
    deep = thread(*(py("a.py", f"f{number}", number) for number in range(100)), name="deep", id=3)
    many = [thread(py("b.py", "g"), name=f"t{number}", id=100 + number) for number in range(50)]
    (stall,) = list_stalls(stuck(*three(deep, *many)))
    assert len(stall["threads"]) == 10
    assert (len(stall["threads"][0]["frames"]), stall["threads"][0]["frames_left_out"]) == (40, 60)


def test_the_error_that_ended_it_is_told_and_one_that_was_caught_is_not() -> None:
    raised = ErrorRaised(at=T0 + 9, kind="ValueError", message="no", frames=MINE["frames"], fatal=True)
    result = describe_error(journal(started(), raised, ProcessEnded(at=T0 + 10, exit_code=1)))
    assert result is not None
    assert (result["kind"], [frame["where"] for frame in result["user_frames"]]) == ("ValueError", ["loader.py:57"])
    assert (
        describe_error(journal(started(), ErrorRaised(at=T0 + 9, kind="KeyError"), ProcessEnded(at=T0 + 10, exit_code=0))) is None
    )
