"""checkpoint_refused: torch.load refuses what is no weight. The file is whole."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.diagnosis.builders import T0, journal, lib, py, started
from tests.diagnosis.real_programs import ended
from unstall.diagnosis.causes import checkpoint_refused, record_corrupt
from unstall.diagnosis.verdict import Clear, Found, Unknown
from unstall.journal.events import ErrorRaised, FileMet, ProcessEnded

RECORDED = json.loads((Path(__file__).parents[1] / "errors" / "messages.json").read_text(encoding="utf-8"))
CRASHED = ProcessEnded(at=T0 + 60, exit_code=1)


def raised(recorded: str) -> ErrorRaised:
    """As PyTorch really raised it."""
    frames = [lib("torch/serialization.py", "load"), py("train.py", "main", 55)]
    error = RECORDED[recorded]
    return ErrorRaised(at=T0 + 59, kind=error["kind"], message=error["message"], frames=frames, fatal=True)


def test_found_with_the_class_that_is_refused_and_the_file_that_was_read() -> None:
    read = FileMet(at=T0 + 59.1, path="/runs/last.pt", how="read")
    verdict = checkpoint_refused.examine(journal(started(), raised("torch: weights only"), read, CRASHED))
    assert isinstance(verdict, Found)
    assert "refused /runs/last.pt: it holds argparse.Namespace" in verdict.summary
    assert verdict.where == "train.py:55"
    assert "add_safe_globals([argparse.Namespace])" in verdict.remedies[0].action


def test_a_refused_checkpoint_is_not_called_damaged() -> None:
    events = journal(started(), raised("torch: weights only"), CRASHED)
    assert isinstance(record_corrupt.examine(events), Clear)
    verdict = checkpoint_refused.examine(events)
    assert isinstance(verdict, Found)
    assert "refused a checkpoint" in verdict.summary


def test_a_damaged_checkpoint_is_not_called_refused() -> None:
    events = journal(started(), raised("torch: damaged pt"), CRASHED)
    assert isinstance(checkpoint_refused.examine(events), Clear)
    assert isinstance(record_corrupt.examine(events), Found)


def test_clear_where_the_program_catches_it_and_unknown_without_the_probe() -> None:
    caught = replace(raised("torch: weights only"), fatal=False)
    assert isinstance(checkpoint_refused.examine(journal(started(), caught, ProcessEnded(at=T0 + 60, exit_code=0))), Clear)
    assert isinstance(checkpoint_refused.examine(journal(started("./train.sh"), CRASHED)), Unknown)


def verdicts(folder: Path, specimen: str) -> list[dict[str, Any]]:
    path = next((Path(__file__).parents[2] / "specimens").rglob(f"{specimen}.py"))
    found: list[dict[str, Any]] = ended(folder, path.read_text().replace("from onset import mark", "mark = print"))["verdicts"]
    return found


@pytest.mark.torch
def test_said_of_a_real_training_and_not_of_its_healthy_twin(tmp_path: Path) -> None:
    said = verdicts(tmp_path, "checkpoint_refused_torch")
    assert [verdict["cause"] for verdict in said] == ["checkpoint_refused"]
    assert "it holds argparse.Namespace" in said[0]["summary"]
    assert verdicts(tmp_path, "checkpoint_with_safe_globals_torch") == []
