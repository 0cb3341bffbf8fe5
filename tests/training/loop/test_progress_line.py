"""The line that shows how a training goes."""

from __future__ import annotations

import pytest

from unstall.training.loop.instrumentation import LOOK_BACK_S, StepRate, TrainingLine


def test_rates_are_those_of_the_last_seconds_and_the_first_step_is_left_out_of_the_time_left() -> None:
    step_rate = StepRate(0.0)
    now = 60.0  # of compiling
    step_rate.step(now, 0.0)
    for _ in range(200):
        now += 0.5
        step_rate.step(now, 0.1)
    assert step_rate.steps_each_s == pytest.approx(2.0, rel=0.05)
    assert step_rate.wait_share == pytest.approx(0.2, rel=0.05)
    assert step_rate.left_s(now, steps_left=100) == pytest.approx(50.0)
    for _ in range(int(LOOK_BACK_S / 4) + 2):
        now += 4.0
        step_rate.step(now, 0.0)
    assert step_rate.steps_each_s == pytest.approx(0.25, rel=0.1) and step_rate.wait_share == 0.0


def test_what_lies_between_epochs_does_not_make_steps_slow_but_counts_in_the_time_left() -> None:
    step_rate = StepRate(0.0)
    for step in range(11):
        step_rate.step(float(step), 0.0)
    step_rate.rest(100.0)
    assert step_rate.steps_each_s is None
    for step in range(10):
        step_rate.step(101.0 + step, 0.0)
    assert step_rate.steps_each_s == pytest.approx(1.0)
    assert step_rate.left_s(110.0, 20) == pytest.approx(110.0)


def test_before_the_second_step_no_time_is_told() -> None:
    step_rate = StepRate(0.0)
    assert step_rate.left_s(1.0, 10) is None and step_rate.steps_each_s is None
    step_rate.step(1.0, 0.0)
    assert step_rate.left_s(1.0, 10) is None


def test_the_line_has_all_of_it() -> None:
    line = TrainingLine(epochs=20, steps_per_epoch=187, batch_size=16, memory=lambda: 3 * 2**29)
    for step in (118, 119, 120):
        line.step(2, step, 0.8123, 0.0)
    parts = line.text().split("   ")
    assert parts[:3] == ["epoch 3/20", "step 120/187", "loss 0.8123"]
    assert parts[3].endswith(" images/s") and parts[4] == "input wait 0%" and parts[5].endswith(" left") and parts[6] == "1.5 GiB"


def test_other_work_takes_the_place_of_the_step(capsys: pytest.CaptureFixture[str]) -> None:
    line = TrainingLine(3, 10, 4, lambda: None)
    line.works("detecting", 17, 300)
    assert line.text() == "epoch 1/3   detecting 17/300"
    line.works("compiling", 0, 0)
    assert line.text() == "epoch 1/3   compiling"


def test_without_a_terminal_each_epoch_is_a_plain_line(capsys: pytest.CaptureFixture[str]) -> None:
    row = {
        "epoch": 2,
        "loss": 0.5,
        "AP": 0.25,
        "AP50": None,
        "is_best": True,
        "skipped_updates": 1,
        "train_s": 61.0,
        "eval_s": 4.0,
    }
    with TrainingLine(3, 10, 4, lambda: None) as line:
        line.epoch_ended(row)
        line.say("a name \x1b[31m of a file")
    err = capsys.readouterr().err
    assert err.splitlines()[0] == "epoch 2/3   loss 0.5000   AP 0.2500   the best so far   1 update skipped   1 min 5 s"
    assert "\x1b" not in err
