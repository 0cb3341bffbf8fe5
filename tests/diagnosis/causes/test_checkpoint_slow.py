"""checkpoint_slow: saving takes a large part of the run, or one save does not end."""

from tests.diagnosis.builders import T0, host, journal, lib, main, py, stacks, stalled, started, steps
from unstall.diagnosis.causes import checkpoint_slow
from unstall.diagnosis.verdict import Certainty, Clear, Effect, Found, Unknown
from unstall.journal.events import CheckpointSaved, Event, FitEnded, PhaseBegan, ProcessEnded


def save(at: float, seconds: float, line: int = 40) -> CheckpointSaved:
    return CheckpointSaved(at=T0 + at, path="/data/last.keras", seconds=seconds, where=f"/home/user/project/train.py:{line}")


def training(period_s: float, save_s: float, rounds: int = 10) -> list[Event]:
    """Ten steps, a save, ten steps, a save, …"""
    events: list[Event] = [started()]
    for number in range(rounds):
        at = 10 + number * period_s
        events.append(steps(number * 10, number * 10 + 9, at=at + period_s - save_s, each_s=(period_s - save_s) / 10))
        events.append(save(at + period_s, save_s))
    return events


def test_found_when_saving_takes_most_of_the_time() -> None:
    verdict = checkpoint_slow.examine(journal(*training(period_s=4.0, save_s=3.0)))
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.CERTAIN
    assert verdict.effect is Effect.SLOWS
    assert verdict.where == "/home/user/project/train.py:40"
    assert "10 saves of 3 s, one every 10 steps" in verdict.summary


def test_likely_when_it_takes_a_little_less() -> None:
    verdict = checkpoint_slow.examine(journal(*training(period_s=4.0, save_s=2.0)))
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.LIKELY


def test_the_line_is_the_one_that_cost_most() -> None:
    events = [*training(period_s=4.0, save_s=3.0), save(50.5, 0.1, line=70)]
    verdict = checkpoint_slow.examine(journal(*events))
    assert isinstance(verdict, Found)
    assert verdict.where is not None and verdict.where.endswith(":40")


def test_says_what_was_written() -> None:
    hosts = [host(at, write_bytes_s=50e6) for at in range(12, 50)]
    verdict = checkpoint_slow.examine(journal(*training(period_s=4.0, save_s=3.0), *hosts))
    assert isinstance(verdict, Found)
    assert any("MB from one save to the next" in evidence.claim for evidence in verdict.evidence)


def test_clear_when_a_save_is_a_small_part_of_an_epoch() -> None:
    assert isinstance(checkpoint_slow.examine(journal(*training(period_s=15.0, save_s=2.0))), Clear)


def test_clear_for_a_few_saves_of_a_short_run() -> None:
    assert isinstance(checkpoint_slow.examine(journal(*training(period_s=2.0, save_s=1.2, rounds=4))), Clear)


def test_clear_for_what_is_saved_when_all_is_done() -> None:
    done = [started(), steps(0, 100, at=30), FitEnded(at=T0 + 31, seconds=25, steps=101)]
    at_the_end = [save(40 + number * 10, 9.0) for number in range(4)]
    ended = ProcessEnded(at=T0 + 90, pid=1, exit_code=0)
    assert isinstance(checkpoint_slow.examine(journal(*done, *at_the_end, ended)), Clear)


def test_found_when_a_save_does_not_end() -> None:
    writing = main(
        lib("keras/src/saving/saving_lib.py", "save_model"),
        lib("keras/src/callbacks/model_checkpoint.py", "on_epoch_end"),
        py("train.py", "<module>", 44),
    )
    verdict = checkpoint_slow.examine(
        journal(
            started(),
            steps(0, 100, at=30),
            save(31, 1.5),
            PhaseBegan(at=T0 + 40, phase="save"),
            stalled(since=40, at=60, phase="save", usual_s=None),
            *(stacks(writing, at=at) for at in (61, 62, 63)),
            *(host(at, write_bytes_s=2e4) for at in range(41, 64)),
            now=64,
        )
    )
    assert isinstance(verdict, Found)
    assert verdict.effect is Effect.STOPS
    assert verdict.where == "train.py:44"
    assert "Nothing has moved for 24 s" in verdict.summary


def test_unknown_without_a_training() -> None:
    assert isinstance(checkpoint_slow.examine(journal(started())), Unknown)
