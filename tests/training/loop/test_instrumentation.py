"""What the trainer tells the journal of its steps."""

import time
from pathlib import Path

import pytest

from unstall.journal.events import StepsEnded
from unstall.journal.reader import read_folder
from unstall.journal.run_folder import RunFolder
from unstall.probe.core import probe
from unstall.probe.core.probe import Probe
from unstall.training.loop import instrumentation


def test_what_comes_after_the_steps_of_an_epoch_is_not_counted_as_theirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = Probe(RunFolder(tmp_path))
    monkeypatch.setattr(probe, "get_current", lambda: own)
    began = time.monotonic()
    with instrumentation.fit("none", 1, 100):
        instrumentation.epoch_began(0)
        for _ in range(50):  # of the last of them it is told together
            instrumentation.step_began()
            instrumentation.step_ended(lambda: 1.0)
        instrumentation.steps_paused(0.5)
        steps_s = time.monotonic() - began
        time.sleep(0.3)
    own.writer.close()
    *_, last = read_folder(tmp_path).of(StepsEnded)
    assert last.last == 49 > last.first and last.seconds <= steps_s
