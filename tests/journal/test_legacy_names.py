"""Fields of events under the names that they had before are read by the names of today."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from unstall.journal.events import KINDS, ExperimentEnded, from_plain
from unstall.journal.legacy_names import EVENT_FIELDS, update_event
from unstall.journal.reader import Tail

WRITTEN: list[tuple[dict[str, Any], str, Any]] = [
    ({"event": "HostSampled", "most_rss_bytes": [1, 2]}, "max_rss_bytes", [1, 2]),
    ({"event": "InputMeasured", "most_ready_batches": 4}, "max_ready_batches", 4),
    ({"event": "MembershipSeen", "told_by": "RANK"}, "source", "RANK"),
    ({"event": "MemoryExhausted", "micro_batch": 8}, "micro_batch_size", 8),
    ({"event": "PlanMade", "most": 10, "remedy": "lower_rate"}, "max_attempts", 10),
    ({"event": "SampleFailed", "cure": "sudo"}, "fix", "sudo"),
    ({"event": "TrainingBegan", "micro_batch": 8}, "micro_batch_size", 8),
    ({"event": "TrainingEnded", "ending": "done"}, "exit_name", "done"),
    ({"event": "WorkerFaltered", "do": ["look"]}, "actions", ["look"]),
]


@pytest.mark.parametrize(("plain", "name", "value"), WRITTEN, ids=[plain["event"] for plain, _, _ in WRITTEN])
def test_an_old_field_is_read_by_its_name_of_today(plain: dict[str, Any], name: str, value: Any, tmp_path: Path) -> None:
    path = tmp_path / "events-watcher-1.jsonl"
    path.write_text(json.dumps({"at": 1.0, **plain}) + "\n")
    (event,) = Tail(path).read()
    assert getattr(event, name) == value


def test_every_old_field_is_tried_and_leads_to_one_that_there_is() -> None:
    for event, names in EVENT_FIELDS.items():
        current = {each.name for each in fields(KINDS[event])}
        assert set(names.values()) <= current and not set(names) & current
        assert any(plain["event"] == event and set(names) <= set(plain) for plain, _, _ in WRITTEN)


def test_old_facts_of_an_experiment_are_read() -> None:
    event = from_plain(update_event({"event": "ExperimentEnded", "at": 1.0, "facts": {"least_loss": 0.1, "first_loss": 2.0}}))
    assert isinstance(event, ExperimentEnded) and event.facts == {"min_loss": 0.1, "first_loss": 2.0}


def test_an_event_of_today_stays_as_it_is() -> None:
    plain = {"event": "SampleFailed", "at": 1.0, "fix": "sudo"}
    assert update_event(dict(plain)) == plain
