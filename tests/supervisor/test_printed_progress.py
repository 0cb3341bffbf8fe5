"""Programs in which nothing is seen but what they print: they are followed, and a stall and a NaN are told by their lines."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections import deque
from pathlib import Path
from typing import Any

import pytest

from tests.interpreters import interpreter
from tests.programs import UNSTALL
from unstall.sensors.printed_output.parser import Series
from unstall.supervisor import timeouts

LIMIT_S = 240.0
STEPS = 'for i in $(seq 1 {count}); do echo "epoch 2 step $i/100 loss 0.$i"; sleep 0.2; done'


def run(home: Path, command: list[str], stop_after_s: float = 0.0) -> tuple[dict[str, Any], str]:
    """(story, what Unstall printed)"""
    story = home / "story.json"
    environment = {**os.environ, "UNSTALL_HOME": str(home / "runs")}
    whole = [*UNSTALL, "run", "--json", str(story), "--", *command]
    started = subprocess.Popen(whole, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, text=True)
    try:
        if stop_after_s:
            time.sleep(stop_after_s)
            started.send_signal(signal.SIGTERM)
        _, said = started.communicate(timeout=LIMIT_S)
    finally:
        started.kill()
        started.wait()
    return json.loads(story.read_text()), said


def events(home: Path, kind: str) -> list[dict[str, Any]]:
    lines = [line for path in (home / "runs").glob("*/events-watcher-*") for line in path.read_text().splitlines()]
    return [event for line in lines if (event := json.loads(line))["event"] == kind]


def test_the_summary_shows_what_a_shell_script_prints_of_its_training(tmp_path: Path) -> None:
    story, said = run(tmp_path, ["bash", "-c", STEPS.format(count=15)])
    assert story["outcome"] == "clear"
    assert {"printed steps", "printed loss"} <= set(story["seen"])
    printed = story["printed"]
    assert (printed["step"], printed["steps_per_epoch"], printed["epoch"]) == (15, 100, 2)
    assert (printed["first_loss"], printed["is_finite_now"]) == (0.1, True)
    assert 1 < printed["steps_s"] < 6
    assert "step 15 of 100 · epoch 2" in said


def test_a_script_that_stops_printing_in_the_middle_of_an_epoch_is_stuck(tmp_path: Path) -> None:
    fifo = tmp_path / "never"
    os.mkfifo(fifo)
    program = f"{STEPS.format(count=12)}; read line < {fifo}"
    home = tmp_path / "home"
    home.mkdir()
    environment = {**os.environ, "UNSTALL_HOME": str(home / "runs")}
    started = subprocess.Popen([*UNSTALL, "run", "--quiet", "--", "bash", "-c", program], stdout=subprocess.PIPE, env=environment)
    until = time.monotonic() + LIMIT_S
    story: dict[str, Any] = {}
    while story.get("state") != "stuck" and time.monotonic() < until:
        time.sleep(0.5)
        for path in (home / "runs").glob("*/story.json"):
            story = json.loads(path.read_text())
    started.send_signal(signal.SIGTERM)
    started.wait(LIMIT_S)
    assert story["state"] == "stuck", story
    (stall,) = events(home, "StallBegan")
    assert (stall["phase"], stall["step"], stall["epoch"], stall["sure"]) == ("train", 12, 2, False)
    assert stall["printed"] == "epoch 2 step 12/100 loss 0.12"
    assert 0.15 < stall["usual_s"] < 2


def test_own_words_in_a_file_that_both_print_to_are_not_read(tmp_path: Path) -> None:
    """They quote the lines of the program."""
    program = 'for i in $(seq 1 80); do echo "step $i/100 loss nan"; sleep 0.2; done'
    story = tmp_path / "story.json"
    with (tmp_path / "log").open("wb") as log:
        command = [*UNSTALL, "run", "--json", str(story), "--", "bash", "-c", program]
        environment = {**os.environ, "UNSTALL_HOME": str(tmp_path / "runs")}
        subprocess.run(command, stdout=log, stderr=log, env=environment, check=True, timeout=LIMIT_S)
    assert (tmp_path / "log").read_text().count("it printed: step") >= 2
    losses = events(tmp_path, "LossPrinted")
    assert 70 <= sum(event["readings"] for event in losses) <= 80  # what the program prints meanwhile may be left out with them
    assert all(event["line"].startswith("step ") for event in losses)
    assert [verdict["cause"] for verdict in json.loads(story.read_text())["verdicts"]] == ["loss_not_finite"]


def test_a_run_that_printed_nan_all_at_once_is_not_good_and_not_clear(tmp_path: Path) -> None:
    program = 'for i in $(seq 1 400); do echo "step $i/400 loss nan"; done'
    story, _ = run(tmp_path, ["bash", "-c", program])
    assert story["outcome"] == "unknown"
    assert story["verdicts"] == []
    assert story["printed"]["is_finite_now"] is False


def test_a_server_that_prints_is_not_stuck(tmp_path: Path) -> None:
    program = 'for i in 1 2 3 4 5 6 7 8 9 10; do echo "GET /step/$i 200 0.$i ms"; sleep 0.2; done; sleep 30'
    story, _ = run(tmp_path, ["bash", "-c", program])
    assert (story["state"], story["verdicts"]) == ("done", [])
    assert all(stall["phase"] == "" for stall in events(tmp_path, "StallBegan"))


@pytest.mark.parametrize("version", ["2.7", "3.6", "3.12"])
def test_an_old_python_is_followed_by_its_lines(version: str, tmp_path: Path) -> None:
    python = interpreter(version)
    if python is None or subprocess.run([python, "-c", "0"], check=False).returncode:
        pytest.skip(f"no Python {version} here")
    program = tmp_path / "train.py"
    program.write_text(
        """
import sys, time
weight = 0.1
for epoch in range(1, 4):
    sys.stdout.write("Epoch %d/3\\n" % epoch)
    for step in range(1, 9):
        loss = (weight - 3.0) ** 2
        weight -= 1e80 * (weight - 3.0) if epoch > 1 else 0.2 * (weight - 3.0)
        sys.stdout.write("\\b" * 60 + "\\r%d/8 [====>....] - ETA: 1s - loss: %r" % (step, loss - loss + loss))
        sys.stdout.flush()
        time.sleep(0.15)
    sys.stdout.write("\\n")
""".replace("** 2", "* (weight - 3.0)")
    )
    story, _ = run(tmp_path, [python, str(program)])
    (verdict,) = [each for each in story["verdicts"] if each["cause"] == "loss_not_finite"]
    assert verdict["certainty"] in {"likely", "certain"}
    assert any("loss: nan" in evidence["claim"] for evidence in verdict["evidence"])
    assert story["printed"]["epochs"] == 3


# --- when a line is late ---


def series(step: int | None, of: int | None, *intervals: float) -> Series:
    return Series("pairs", step, of, is_training=True, intervals=deque(intervals), longest_s=max(intervals, default=0.0))


def test_the_next_line_is_awaited_in_the_middle_of_an_epoch() -> None:
    limit = timeouts.compute_printed_limit(series(20, 100, 1, 1, 1, 1, 3))
    assert limit is not None
    assert (limit.usual_s, limit.idle_s) == (1, 20)
    slow = timeouts.compute_printed_limit(series(20, 100, 30, 30, 30, 30, 500))
    assert slow is not None
    assert slow.idle_s == 1500


def test_at_the_end_of_an_epoch_no_line_is_awaited() -> None:
    """It may evaluate or save, or be done."""
    assert timeouts.compute_printed_limit(series(100, 100, 1, 1, 1, 1, 1)) is None


def test_lines_that_do_not_say_how_many_there_are_are_awaited_where_they_come_regularly() -> None:
    regular = timeouts.compute_printed_limit(series(20, None, *[1.0] * 10))
    assert regular is not None
    assert regular.idle_s == 60
    assert timeouts.compute_printed_limit(series(20, None, *[1.0] * 9, 9.0)) is None
    assert timeouts.compute_printed_limit(series(20, None, *[1.0] * 5)) is None


def test_a_few_lines_say_nothing_of_the_next() -> None:
    assert timeouts.compute_printed_limit(series(2, 100, 1)) is None
    assert timeouts.compute_printed_limit(None) is None
