"""As many hands as help: found by what comes of them, and sent home when they are idle."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.data.pipeline.pictures import some_data
from unstall.data.pipeline import Pipeline, PipelineSettings, autotune
from unstall.data.pipeline.autotune import FIRST, ThreadAutotuner, ThroughputSample

STARVED_TAKES = 1e9  # examples a second that the training could take


def after(seconds: int, most: int, makes: Callable[[int], float], takes: float = STARVED_TAKES) -> list[int]:
    """The hands of each second, where so many make so many examples a second, and the training takes them in batches of ten."""
    now = ThroughputSample(0.0)
    autotuner, counts = ThreadAutotuner(most, now.at), []
    for _ in range(seconds):
        able = makes(autotuner.count)
        rate = min(able, takes)
        now = ThroughputSample(
            at=now.at + 1.01,
            batches=now.batches + 10,
            made=now.made + round(10 * rate),
            waited_s=now.waited_s + max(0.0, 1 - able / takes),
            idle_s=now.idle_s + autotuner.count * (1 - rate / able),
        )
        counts.append(autotuner.look(now))
    return counts


def crowded(count: int) -> float:
    """Three are best: more of them stand in each other's way."""
    return {1: 400.0, 2: 700.0, 3: 900.0, 5: 700.0}.get(count, 500.0)


def test_while_each_one_more_helps_all_come() -> None:
    assert after(10, 17, lambda count: 100.0 * count)[-1] == 17


def test_no_more_than_help_stay() -> None:
    counts = after(120, 17, crowded)
    assert counts.count(3) > 100, "a trial now and then, and back"
    assert set(counts) <= {2, 3, 5}


def test_trials_in_vain_grow_rare() -> None:
    counts = after(2000, 17, crowded)
    assert counts[-1000:].count(3) > 990


def test_where_the_first_are_too_many_some_go() -> None:
    assert after(12, 17, lambda count: 900.0 / count)[-1] == 1


def test_idle_ones_are_sent_home() -> None:
    assert after(30, 17, lambda count: 1000.0 * count, takes=300.0)[-1] == 1


def test_the_last_ones_stay_while_they_are_busy() -> None:
    assert after(60, 17, lambda count: 100.0 * count, takes=250.0)[-1] == FIRST


def test_a_training_that_grows_hungry_again_gets_them_back() -> None:
    now, autotuner = ThroughputSample(0.0), ThreadAutotuner(8, 0.0)
    for waited in (0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1):
        able = 100.0 * autotuner.count
        idle = 0.0 if waited else autotuner.count
        now = ThroughputSample(now.at + 1.01, now.batches + 10, now.made + round(able), now.waited_s + waited, now.idle_s + idle)
        autotuner.look(now)
    assert autotuner.count == 8


def test_before_a_few_batches_nothing_is_judged() -> None:
    autotuner = ThreadAutotuner(8, 0.0)
    assert autotuner.look(ThroughputSample(100.0, batches=2, made=4, waited_s=90.0)) == FIRST


def test_what_is_made_while_nobody_trains_or_all_is_stopped_says_nothing() -> None:
    now, autotuner, counts = ThroughputSample(0.0), ThreadAutotuner(3, 0.0), []
    for tenth in range(1, 3000):
        stopped_s = 30.0 if tenth % 40 == 0 else 0.0  # now and then, in the midst of a batch
        made = now.made + round(crowded(autotuner.count) / 10)
        now = ThroughputSample(now.at + 0.1 + stopped_s, now.batches + 1, made, now.waited_s + 0.1 + stopped_s)
        counts.append(autotuner.look(now))
    assert counts[-1000:].count(3) > 900


def test_slow_steps_are_no_gaps() -> None:
    now, autotuner = ThroughputSample(0.0), ThreadAutotuner(8, 0.0)
    for _ in range(40):
        now = ThroughputSample(now.at + 20.0, now.batches + 1, now.made + autotuner.count, now.waited_s + 10.0)
        autotuner.look(now)
    assert autotuner.count == 8


def test_beyond_the_ladder_comes_what_is_allowed() -> None:
    assert after(30, 5000, lambda count: 100.0 * count)[-1] == 5000


@pytest.mark.parametrize("most", [1, 2, 3, 4])
def test_never_more_than_are_allowed_and_never_none(most: int) -> None:
    assert set(after(100, most, lambda count: 100.0)) <= set(range(1, most + 1))


def test_what_those_gone_have_done_stays_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(autotune, "PERIOD_S", 0.0)
    monkeypatch.setattr(autotune, "IDLE_THREADS", -1.0)
    monkeypatch.setattr(autotune, "WAITED_SHARE", 1.0)
    data = some_data(tmp_path, 12, 64, 48)
    with Pipeline(data, PipelineSettings(batch_size=2, height_px=32, width_px=32, num_input_workers=3)).batches(
        epochs=10
    ) as stream:
        assert stream.measured().at_work == 3
        batches = sum(1 for _ in stream)
        measured = stream.measured()
    assert batches == 60
    assert measured.at_work == 1
    assert measured.examples == 120
