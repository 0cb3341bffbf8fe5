"""The page at the end of a run: it waits for nothing, and what goes wrong with it goes wrong with nothing else."""

import os
from pathlib import Path

import pytest

from tests.diagnosis.builders import T0, host, started, steps
from unstall.journal.events import Event, ProbeFailed, StepsEnded, WeightsSampled
from unstall.journal.run_folder import RunFolder
from unstall.journal.writer import JournalWriter, encode
from unstall.supervisor.run import program
from unstall.supervisor.run.program import add_exact_sums, write_report
from unstall.supervisor.watch import Watch

TRAINING = [started(), *(steps(number, number, at=number, loss=1.0) for number in range(1, 30)), host(9, rss_bytes=1 << 30)]
DAMAGED = WeightsSampled(at=T0 + 40, facts={"weights": [{"name": "a/b", "shape": "three", "gradient": 1.0}]})


def watched(folder: Path, *events: Event) -> Watch:
    """A watch of a run in which all this was written."""
    (folder / "events-probe-1.jsonl").write_bytes(b"".join(map(encode, events)))
    watch = Watch(RunFolder(folder), os.getpid(), JournalWriter(folder / "events-watcher-2.jsonl"))
    watch.read()
    return watch


def test_the_page_is_written_into_the_run_folder(tmp_path: Path) -> None:
    watch = watched(tmp_path, *TRAINING)
    assert write_report(watch, watch.examine()) == tmp_path / "report.html"
    assert "step_time" in (tmp_path / "report.html").read_text()


def test_an_event_that_the_timeline_cannot_take_costs_the_page_and_nothing_else(tmp_path: Path) -> None:
    watch = watched(tmp_path, *TRAINING, DAMAGED, steps(30, 30, at=50))
    diagnosis = watch.examine()
    assert len(watch.journal.of(StepsEnded)) == 30
    assert [failed.probe for failed in watch.journal.of(ProbeFailed)] == ["timeline"]
    assert write_report(watch, diagnosis) is None
    assert add_exact_sums(watch, {"time": "as told"}) == {"time": "as told"}


def test_a_disk_that_hangs_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    watch = watched(tmp_path, *TRAINING)
    diagnosis = watch.examine()
    monkeypatch.setattr(program, "MAX_S", 0.3)
    os.mkfifo(watch.run.report_path)  # nobody reads it: to open it for writing takes for ever
    assert write_report(watch, diagnosis) is None
    os.close(os.open(watch.run.report_path, os.O_RDONLY | os.O_NONBLOCK))
