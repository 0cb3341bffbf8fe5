"""Workers of other machines of which nothing is heard: said once each, by their machine; and when they are heard again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from unstall.journal.events import OthersMissed
from unstall.journal.reader import Journal
from unstall.supervisor.train.stragglers import SilenceMonitor, compute_gone_s

OURS = {0, 1}


def missed(at: float, *silent: int, gone: tuple[int, ...] = (), seconds: float = 9.0) -> OthersMissed:
    hosts = [f"node-{worker}" for worker in silent]
    return OthersMissed(at=at, worker=0, of=4, silent=list(silent), gone=list(gone), hosts=hosts, seconds=seconds)


def said(*events: OthersMissed) -> list[Any]:
    """What is said after each of these, one after the other."""
    journal, silence = Journal(), SilenceMonitor(OURS)
    heard = []
    for event in events:
        journal.extend([event])
        result = silence.look(journal)
        assert silence.look(journal) is None, "nothing is said twice"
        heard.append((sorted(result.silent), list(result.again)) if result else None)
    return heard


def test_one_that_falls_silent_is_named_once_with_its_machine() -> None:
    heard = SilenceMonitor(OURS).look(Journal([missed(100.0, 2)]))
    assert heard is not None
    assert heard.silent[2].startswith(
        "nothing was heard of worker 2 of 4 (node-2) for 9 s, and no step was made: its machine answers"
    )
    cut = SilenceMonitor(OURS).look(Journal([replace(missed(100.0, 2), unreached=[2])]))
    assert cut is not None and cut.silent[2].endswith("its machine is down, or the line to it is cut")
    assert said(missed(100, 2), missed(101, 2, 3), missed(102, 3)) == [([2], []), ([3], []), ([], [2])]


def test_those_of_this_machine_are_left_to_whoever_watches_them() -> None:
    assert said(missed(100, 1), missed(101)) == [None, None]


def test_one_that_is_gone_is_not_heard_again() -> None:
    assert said(missed(100, 2), missed(101, gone=(2,))) == [([2], []), None]


def test_for_how_long_one_has_been_gone() -> None:
    assert compute_gone_s(Journal([missed(100, gone=(2,)), missed(104, gone=(2, 3))], now=110.0)) == 10.0
    assert compute_gone_s(Journal([missed(100, 2)], now=110.0)) == compute_gone_s(Journal()) == 0.0
