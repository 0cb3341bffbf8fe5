"""The probe knows what it sees: the signals that its hooks give, and those that a version of a framework does not let it see."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.programs import UNSTALL, write
from unstall.journal.events import SignalsSeen
from unstall.journal.reader import read_folder
from unstall.probe import hooks
from unstall.probe.coverage import EXPECTED
from unstall.report.terminal.story import not_seen

FIT = """
import os
os.environ["KERAS_BACKEND"] = {backend!r}
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras, numpy as np
model = keras.Sequential([keras.layers.Dense(1)])
model.compile(optimizer="sgd", loss="mse")
model.fit(np.ones((64, 3), "float32"), np.ones((64, 1), "float32"), batch_size=8, verbose=0)
"""
# A package of the name that has none of the places which hooks look for, as one of another version may be, or half installed.
OTHER_VERSION = """
import os, sys
sys.path.insert(0, os.path.dirname(__file__))
import tensorflow
from tensorflow.python.eager import backprop
print("ran", tensorflow.__version__)
"""


def story_of(program: Path) -> tuple[dict[str, Any], str]:
    text = program.parent / "story.json"
    command = [*UNSTALL, "run", "--json", str(text), "--", sys.executable, str(program)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(text.read_text())
    return found, done.stdout


def test_every_signal_that_is_expected_of_a_framework_has_a_hook_that_gives_it() -> None:
    given = {signal for hook in hooks.HOOKS for signal in hook.gives}
    assert {signal for signals in EXPECTED.values() for signal in signals} <= given


@pytest.mark.parametrize(
    "backend", [pytest.param(name, marks=getattr(pytest.mark, name)) for name in ("tensorflow", "jax", "torch")]
)
def test_of_the_frameworks_of_today_everything_is_seen(backend: str, tmp_path: Path, own_home: Path) -> None:
    story, _ = story_of(write(tmp_path, FIT.format(backend=backend)))
    (run,) = own_home.iterdir()
    event = read_folder(run).last(SignalsSeen)
    assert event is not None and {"keras", backend} <= set(event.frameworks)
    assert story["not_seen"] == [] and event.not_seen == {}


def test_of_a_version_that_has_no_place_for_a_hook_it_is_said_what_is_not_seen(tmp_path: Path, own_home: Path) -> None:
    for folder in ("tensorflow", "tensorflow/python", "tensorflow/python/eager"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "__init__.py").write_text("__version__ = '99.0'\n")
    (tmp_path / "tensorflow/python/eager/backprop.py").write_text("context = None\n")
    story, printed = story_of(write(tmp_path, OTHER_VERSION))
    assert "ran 99.0" in printed
    (row,) = story["not_seen"]
    assert (row["framework"], row["version"]) == ("TensorFlow", "99.0")
    assert row["signals"] == list(EXPECTED["tensorflow"])
    assert story["outcome"] == "unknown", "what is not seen is not well"


def test_the_summary_says_it_in_a_line() -> None:
    row = {"framework": "TensorFlow", "version": "2.4.1", "signals": ["function traces", "checkpoint times"]}
    story = {"state": "done", "verdicts": [], "unknown": [], "not_seen": [row]}
    assert not_seen(story) == ["TensorFlow 2.4.1: function traces, checkpoint times"]
