"""The stall that a run ends in: how long it counts, what was seen of it, and when it is none."""

from __future__ import annotations

import signal

from tests.diagnosis.builders import T0, host, journal, lib, main, py, stacks, stalled, started, steps
from unstall.diagnosis.findings import diagnose
from unstall.diagnosis.stalls import find_current_stall, is_without_steps
from unstall.journal.events import (
    ErrorRaised,
    Event,
    FitBegan,
    ProcessEnded,
    SignalSent,
    StackSampled,
    StallEnded,
    StepsEnded,
    VerdictReached,
)
from unstall.report.story.run import build_story
from unstall.report.terminal.story import explain_no_verdict

SAID = VerdictReached(at=T0 + 111.5, cause="generator_blocked", certainty="certain")
INTERRUPT = SignalSent(at=T0 + 115, signal=signal.SIGINT, from_terminal=True)


def blocked(at: float) -> StackSampled:
    adapter = lib("keras/src/trainers/data_adapters/generator_data_adapter.py", "get_torch_dataloader")
    return stacks(main(py("train.py", "batches", 12), adapter, py("train.py", "<module>", 40)), at=at)


def cleans_up(at: float) -> StackSampled:
    return stacks(main(py("train.py", "clean_up", 50), py("train.py", "<module>", 42)), at=at)


def hang(*later: Event) -> list[Event]:
    """Noticed after 8 s, and named in the 12th."""
    before = [started(), steps(300, 380, at=100), stalled(since=100, at=108)]
    return [*before, *(host(at) for at in range(101, 112)), *(blocked(at) for at in (109, 110, 111)), SAID, *later]


def causes_of(*later: Event) -> list[str]:
    return [finding.cause for finding in diagnose(journal(*hang(*later))).findings]


def test_a_hang_that_is_ended_is_what_it_was_though_the_last_looks_met_it_on_its_way_out() -> None:
    way_out = [cleans_up(113), cleans_up(114), cleans_up(115.5)]
    busy = [host(at, 1.0) for at in range(113, 130)]
    for end in (
        [INTERRUPT, ProcessEnded(at=T0 + 130, signal=signal.SIGINT)],
        [ErrorRaised(at=T0 + 116, kind="KeyboardInterrupt", thread="MainThread")],  # of a notebook: it lives on
        [ProcessEnded(at=T0 + 130, signal=signal.SIGKILL)],
    ):
        assert causes_of(*way_out, *busy, *end) == ["generator_blocked"]


def test_what_is_said_of_a_program_that_goes_on_is_what_is_seen_now() -> None:
    assert causes_of(cleans_up(113), cleans_up(114), cleans_up(115)) == []


def test_a_stall_that_ended_by_itself_is_none_however_the_program_ends_later() -> None:
    went_on = [StallEnded(at=T0 + 113), steps(381, 390, at=114)]
    assert causes_of(*went_on, INTERRUPT, ProcessEnded(at=T0 + 116, signal=signal.SIGINT)) == []


def test_a_program_that_comes_to_its_end_by_itself_has_gone_on() -> None:
    done = ProcessEnded(at=T0 + 116, exit_code=0)
    assert find_current_stall(journal(*hang(done))) is None
    assert causes_of(done) == []
    assert causes_of(INTERRUPT, done) == ["generator_blocked"]  # it caught the interrupt, and ended in order


def test_only_a_signal_that_asks_for_the_end_ends_a_stall() -> None:
    """The size of a terminal's window is no such thing."""
    resized = SignalSent(at=T0 + 110.5, signal=signal.SIGWINCH, from_terminal=True)
    ended = ProcessEnded(at=T0 + 130, signal=signal.SIGKILL)
    for sent, seconds, samples in ((resized, 30, 3), (SignalSent(at=T0 + 110.5, signal=signal.SIGTERM), 10.5, 2)):
        stall = find_current_stall(journal(*hang(sent, ended), now=130))
        assert stall is not None
        assert (stall.seconds, len(stall.samples)) == (seconds, samples)


def test_a_program_that_stands_on_in_spite_of_the_signal_is_stuck_for_as_long_as_it_is() -> None:
    early = SignalSent(at=T0 + 108.5, signal=signal.SIGTERM)  # before it was looked at
    stall = find_current_stall(journal(*hang(early), now=150))
    assert stall is not None
    assert (stall.seconds, len(stall.samples)) == (50, 3)


def test_whether_steps_were_made_after_a_verdict() -> None:
    def is_without(*later: Event) -> bool:
        return is_without_steps(journal(*hang(*later)), SAID)

    assert is_without()
    assert is_without(StepsEnded(at=T0 + 120, first=375, last=380))  # from before, and written down on the way out
    assert is_without(steps(0, 3, at=120, phase="validate"))
    assert not is_without(steps(381, 381, at=120))
    assert not is_without(FitBegan(at=T0 + 119), steps(0, 3, at=120))
    assert not is_without_steps(journal(started(), steps(0, 380, at=100), SAID), SAID)  # said of a run that moves


def test_a_stall_goes_on_though_a_request_to_end_was_swallowed() -> None:
    """As TensorFlow's and JAX's handlers of SIGTERM do; it was ended by another, much later."""
    swallowed = SignalSent(at=T0 + 115, signal=signal.SIGTERM)
    for end in (
        [SignalSent(at=T0 + 700, signal=signal.SIGTERM), ProcessEnded(at=T0 + 700.5, signal=signal.SIGTERM)],
        [ProcessEnded(at=T0 + 700, signal=signal.SIGKILL)],
    ):
        stood = find_current_stall(journal(*hang(swallowed, blocked(121), *end)))
        left = find_current_stall(journal(*hang(swallowed, cleans_up(121), *end)))
        assert stood is not None and stood.seconds == 600
        assert left is not None and left.seconds == 15  # it heeded the first, and took its time: that is no stall


def test_of_a_process_that_is_stopped_the_stacks_tell_of_no_wait() -> None:
    events = [started(), steps(300, 380, at=100), stalled(since=100, at=108), *(blocked(at) for at in (109, 110, 111))]
    stopped = journal(*events, *(host(at, stopped_share=1.0) for at in range(101, 112)), now=112)
    assert not diagnose(stopped).findings
    story = build_story(stopped, diagnose(stopped))
    assert story["state"] == "stuck" and story["outcome"] == "unknown"
    assert "its process is stopped" in explain_no_verdict(story)
    by_our_look = journal(*events, *(host(at) for at in range(101, 111)), host(111, stopped_share=1.0), now=112)
    assert [finding.cause for finding in diagnose(by_our_look).findings] == ["generator_blocked"]
    went_on = journal(*events, host(101, stopped_share=1.0), *(host(at) for at in range(102, 112)), now=112)
    assert [finding.cause for finding in diagnose(went_on).findings] == ["generator_blocked"]
