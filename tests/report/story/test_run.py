"""The story: sums over the journal, and what could not be seen."""

from dataclasses import replace

from tests.diagnosis.builders import FOLDER, T0, host, journal, main, py, stacks, stalled, started, steps
from unstall.diagnosis.findings import diagnose
from unstall.diagnosis.run_summary import summarize_numerics, summarize_time
from unstall.journal.events import (
    EpochEnded,
    ErrorRaised,
    Event,
    EventsLost,
    FitBegan,
    LoopSeen,
    ProcessEnded,
    ProgramEnded,
    ProgramStarted,
    ProgressPrinted,
    SampleFailed,
    SignalSent,
    VerdictReached,
)
from unstall.journal.reader import Journal
from unstall.report.story.run import build_story
from unstall.report.terminal.story import format_headline, format_summary

REFUSED = SampleFailed(at=T0 + 5, signal="stacks", missing="the permission", fix="sudo")


def missing(events: Journal) -> list[str]:
    return [row["missing"] for row in build_story(events, diagnose(events))["unknown"]]


def test_a_look_that_failed_for_good_is_told() -> None:
    assert "the permission" in missing(journal(started(), steps(0, 10, at=3), REFUSED, now=20))


def test_a_look_that_failed_once_and_then_worked_is_not() -> None:
    later = stacks(main(py("train.py", "<module>")), at=8)
    assert "the permission" not in missing(journal(started(), steps(0, 10, at=3), REFUSED, later, now=20))


def test_a_process_that_ended_while_it_was_looked_at_hides_nothing() -> None:
    gone = SampleFailed(at=T0 + 5, signal="stacks", missing="process 7: it is gone")
    assert "process 7: it is gone" not in missing(journal(started(), steps(0, 10, at=3), gone, now=20))


def test_the_first_call_of_several_steps_is_told_where_no_step_was_seen_yet() -> None:
    call = LoopSeen(at=T0 + 9, facts={"kind": "steps_per_call", "function": "learn", "where": f"{FOLDER}/train.py:12"})
    began = ProgramStarted(at=T0, pid=1)
    said = "the first call of learn at train.py:12, which makes several steps, had not returned yet"
    assert said in missing(journal(started(), began, call, now=90))
    assert said not in missing(journal(started(), began, call, steps(0, 99, at=80), now=90))


def test_the_time_of_a_stall_has_its_own_share() -> None:
    split = summarize_time(
        journal(started(), steps(0, 0, at=10, each_s=10), steps(1, 50, at=20), stalled(since=20, at=28), now=60)
    )
    assert split["stuck"] == 40
    assert split["compile"] == 10
    assert split["compute"] == 10
    assert split["other"] == 0


def test_all_shares_sum_up_to_the_total() -> None:
    split = summarize_time(journal(started(), steps(0, 0, at=3, each_s=2), steps(1, 50, at=20, wait_s=0.05), host(30), now=30))
    assert split["total"] == 30
    assert sum(seconds or 0.0 for name, seconds in split.items() if name != "total") == 30
    assert split["input"] == 2.5


def test_the_last_loss_is_the_latest_that_is_known_of_a_step_or_an_epoch() -> None:
    epoch = EpochEnded(at=T0 + 30, epoch=0, logs={"loss": 0.4})
    events = [started(), steps(0, 9, at=5, loss=2.0), steps(10, 19, at=20, loss=0.7)]
    assert summarize_numerics(journal(*events, epoch))["last_loss"] == 0.4
    assert summarize_numerics(journal(*events, epoch, steps(20, 29, at=40, loss=0.3)))["last_loss"] == 0.3
    assert summarize_numerics(journal(*events))["first_loss"] == 2.0


def test_the_state_is_how_the_program_ended() -> None:
    def state(*before: Event, **how: int) -> str:
        events = journal(started(), *before, ProcessEnded(at=T0 + 9, pid=1, **how))
        text: str = build_story(events, diagnose(events))["state"]
        return text

    assert [state(exit_code=0), state(exit_code=3), state(signal=9)] == ["done", "failed", "killed"]
    assert state(ProgramEnded(at=T0 + 8, pid=1)) == "done"
    assert state(ErrorRaised(at=T0 + 8, fatal=True, thread="MainThread")) == "failed"
    assert state() == "ended"  # os._exit or a kill: only the parent knows


def test_a_program_that_its_user_leaves_was_not_killed() -> None:
    def state(*before: Event) -> str:
        events = journal(started(), *before, ProcessEnded(at=T0 + 90, pid=1, signal=2), now=90)
        text: str = build_story(events, diagnose(events))["state"]
        return text

    pressed = SignalSent(at=T0 + 89, signal=2, from_terminal=True)
    assert state(pressed) == "interrupted"
    assert state() == "killed"
    assert state(SignalSent(at=T0 + 89, signal=15)) == "killed"
    assert state(stalled(since=30, at=40), pressed) == "killed"  # out of patience: why it stood still is wanted
    assert state(pressed, ErrorRaised(at=T0 + 89, kind="KeyboardInterrupt", fatal=True)) == "interrupted"
    assert state(ErrorRaised(at=T0 + 50, kind="cv2.error", fatal=True), pressed) == "killed"  # it was on its way out by itself


def test_a_loss_that_was_read_once_is_not_said_to_have_stayed_the_same() -> None:
    read_once = [started(), steps(0, 9, at=5, loss=2.0), steps(10, 173, at=40)]
    read_twice = [*read_once, steps(174, 180, at=50, loss=2.0)]
    for events, text, last in ((read_once, "loss 2, read once", None), (read_twice, "loss 2 → 2", 2.0)):
        result = build_story(journal(*events), diagnose(journal(*events)))
        assert result["numerics"]["last_loss"] == last
        assert ("numbers", text) in format_summary(result)


def test_the_step_since_which_the_loss_is_not_finite_is_the_closest_that_was_seen() -> None:
    seen = LoopSeen(at=T0 + 6, facts={"kind": "not_finite", "step": 25})
    broken = [started(), steps(0, 9, at=5, loss=2.0), seen, replace(steps(1024, 1030, at=20), loss_is_finite=False)]
    result = build_story(journal(*broken), diagnose(journal(*broken)))
    assert result["numerics"]["not_finite_since_step"] == 25
    assert ("numbers", "loss 2, not finite since step 25") in format_summary(result)
    corrected = [*broken, replace(steps(1040, 1050, at=30, loss=1.5), loss_is_finite=True)]
    result = build_story(journal(*corrected), diagnose(journal(*corrected)))
    assert ("numbers", "loss 2 → 1.5, not finite in step 25") in format_summary(result)


def test_a_verdict_that_no_longer_holds_in_the_end_is_told_with_the_evidence_it_had() -> None:
    said = VerdictReached(
        at=T0 + 5, cause="input_starved", certainty="likely", summary="It waits.", evidence=["9 of 10 s"], remedies=["prefetch"]
    )
    again = replace(said, at=T0 + 8, summary="It waits still.")
    events = [started(), steps(0, 10, at=3), said, again]
    assert build_story(goes_on := journal(*events, now=9), diagnose(goes_on))["earlier"] == []
    ended = journal(*events, ProcessEnded(at=T0 + 20, pid=1, exit_code=0))
    story = build_story(ended, diagnose(ended))
    (result,) = story["earlier"]
    assert (result["cause"], result["summary"], result["evidence"], result["remedies"]) == (
        "input_starved", "It waits.", ["9 of 10 s"], ["prefetch"],
    )  # fmt: skip
    assert ("earlier", "input_starved: said while it ran, and no longer so") in format_summary(story)


def test_a_verdict_that_still_holds_is_not_told_twice() -> None:
    events = [started(), steps(0, 10, at=3), ErrorRaised(at=T0 + 8, kind="MemoryError", message="", fatal=True)]
    first = diagnose(journal(*events))
    said = [VerdictReached(at=T0 + 9, cause=each.cause) for each in first.findings]
    ended = journal(*events, *said, ProcessEnded(at=T0 + 20, pid=1, exit_code=1))
    assert said and build_story(ended, diagnose(ended))["earlier"] == []


def test_a_training_whose_later_steps_could_not_be_written_is_not_called_healthy() -> None:
    """The disk was full from step 8 on: the program may have made many more, and its loss may have become anything."""
    lost = EventsLost(at=T0 + 9, count=3, why="No space left on device")
    ended = ProcessEnded(at=T0 + 10, exit_code=0)
    events = journal(started(), steps(0, 7, at=3), host(4), lost, ended, now=10)
    story = build_story(events, diagnose(events))
    assert story["outcome"] == "unknown"
    assert "8 steps or more" in format_headline(story)
    assert any("No space left on device" in row["missing"] for row in story["unknown"])
    for more in (steps(8, 9, at=9.5), ProgramEnded(at=T0 + 9.8)):
        whole = journal(started(), steps(0, 7, at=3), host(4), lost, more, ended, now=10)
        assert build_story(whole, diagnose(whole))["outcome"] == "clear"
        assert "or more" not in format_headline(build_story(whole, diagnose(whole)))


def test_the_epochs_of_a_loop_are_those_that_it_prints_and_those_of_a_fit_are_its_own() -> None:
    printed = [ProgressPrinted(at=T0 + at, epoch=at, epochs=12) for at in (1, 4)]
    for api, epochs, expected in (("own_loop", None, (3, 12)), ("keras", 5, (0, 5))):
        fit = FitBegan(at=T0 + 0.5, api=api, epochs=epochs)
        events = journal(started(), fit, *printed, steps(0, 40, at=5), now=9)
        progress = build_story(events, diagnose(events))["progress"]
        assert (progress["epoch"], progress["epochs"]) == expected
    without_steps = journal(started(), FitBegan(at=T0 + 0.5, api="own_loop"), *printed, now=9)
    assert build_story(without_steps, diagnose(without_steps))["progress"]["epoch"] is None
