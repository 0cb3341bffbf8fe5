"""The time that a run lay between two of its programs is nobody's."""

import pytest

from tests.diagnosis.builders import T0, host, journal, stalled, started, steps
from tests.report.timeline.test_timeline import of_stream
from unstall.diagnosis.findings import diagnose
from unstall.journal.events import FunctionTraced, RunStarted, StepsEnded
from unstall.report.story.run import build_story


def test_a_run_that_was_interrupted_and_went_on_later_was_away_in_between() -> None:
    """In the queue of a cluster, say: that is no time of the program."""
    again = RunStarted(at=T0 + 3600, mode="train", command=["python"])
    events = [started(), steps(0, 9, at=30), steps(10, 19, at=60), again, steps(20, 29, at=3630)]
    split = of_stream(events).exact(build_story(journal(*events), diagnose(journal(*events)), "run"), T0 + 3630)["time"]
    assert split["away"] == pytest.approx(3540) and split["other"] < 90


def test_a_silence_after_which_the_same_program_goes_on_is_not() -> None:
    events = [started(), steps(0, 9, at=30), steps(10, 19, at=1000)]
    split = of_stream(events).exact(build_story(journal(*events), diagnose(journal(*events)), "run"), T0 + 1000)["time"]
    assert split["away"] == 0


def test_a_stall_ends_where_the_run_went_away() -> None:
    again = RunStarted(at=T0 + 3600, mode="train", command=["python"])
    events = [started(), steps(0, 9, at=30), stalled(since=100, at=108), host(120), again]
    split = of_stream(events).exact(build_story(journal(*events), diagnose(journal(*events)), "run"), T0 + 3600)["time"]
    assert (split["stuck"], split["away"]) == pytest.approx((20, 3480))


def test_of_a_first_call_with_many_steps_only_the_trace_is_compiling() -> None:
    traced = FunctionTraced(at=T0 + 170, function="train", count=1, seconds=160)
    events = [started(), traced, StepsEnded(at=T0 + 310, first=0, last=99, seconds=300, busy_s=300)]
    split = of_stream(events).exact(build_story(journal(*events), diagnose(journal(*events)), "run"), T0 + 310)["time"]
    assert (split["compile"], split["compute"]) == pytest.approx((160, 140))
