"""What the verdict on a failure carries: what changed since the last good run, where that explains it, and nothing else."""

from __future__ import annotations

from typing import Any

from tests.compare.records import SCRIPT, changed, record, source
from unstall.compare.attribution import compared
from unstall.compare.since_last_good import explained_lines

OUT_OF_MEMORY = {"outcome": "failed", "cause": "host_memory_exhausted"}


def lines(before: dict[str, Any], after: dict[str, Any], where: str | None = None) -> list[str]:
    story = {"state": "failed", "verdicts": [{"cause": after["run"]["cause"], "where": where, "effect": "stops"}]}
    return explained_lines(compared(before, after), before, after, story)


def test_out_of_memory_is_explained_by_what_needs_more() -> None:
    after = record(batch=64, run=OUT_OF_MEMORY, optimizer={"learning_rate": 0.01})
    (line,) = lines(record(peak_mib=670), after)
    assert line.startswith("batch 16 → 64: +")


def test_nothing_is_said_where_nothing_is_explained() -> None:
    assert lines(record(), record(run=OUT_OF_MEMORY)) == []
    assert lines(record(), record(run=OUT_OF_MEMORY, optimizer={"learning_rate": 0.01})) == []


def test_a_stall_at_a_line_that_changed_is_explained_by_it() -> None:
    stuck = {"outcome": "stuck", "cause": "generator_blocked"}
    after = record(run=stuck, sources=source(SCRIPT.replace("dataset.map(read, num", "dataset.map(fetch, num")))
    (line,) = lines(record(), after, where="train.py:5")
    assert line.startswith("train.py:5 changed: dataset = dataset.map(read")
    assert lines(record(), after, where="other.py:5") == []


def test_a_loss_that_broke_is_explained_by_what_entered_it() -> None:
    run = {"outcome": "failed", "cause": "loss_not_finite"}
    after = changed(record(run=run, optimizer={"learning_rate": 10.0}), figures={"not_finite_since_step": 3})
    (line,) = lines(record(), after)
    assert line.startswith("learning rate 0.001 → 10")
