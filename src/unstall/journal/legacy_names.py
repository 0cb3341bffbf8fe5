"""Names that older versions wrote into run folders, and the names of today: old run folders still load.

Applied where such a file is read, so that nothing else knows an old name. Settings have their own table (`config/aliases.py`). A
kept record (`record.json`) of another version is made anew from the journals.

Standard library only, syntax of Python 3.7, as all of the journal.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Callable, Optional

# Files of a run folder: the journal of a probe is events-probe-PID.jsonl now, and bucket.txt says where the copy of a run is.
OLD_PROBE_FILES = "events-inside"
OLD_BUCKET_FILE = "kept-in.txt"
REMEDIES = {
    "lower_rate": "lower_learning_rate",
    "compute_blocks_again": "enable_remat",
    "keep_decoded_images": "cache_decoded_images",
}
PROBLEMS = {"box_inside_out": "box_inverted", "box_twice": "box_duplicate"}
SEVERITIES = {"breaks": "error", "harms": "warning", "note": "info"}
HISTORY_COLUMNS = {"learn_s": "train_s", "wait_s": "input_wait_s", "score_s": "eval_s", "rate": "learning_rate"}
# Fields of events, by the event.
EVENT_FIELDS = {
    "HostSampled": {"most_rss_bytes": "max_rss_bytes"},
    "InputMeasured": {"most_ready_batches": "max_ready_batches"},
    "MembershipSeen": {"told_by": "source"},
    "MemoryExhausted": {"micro_batch": "micro_batch_size"},
    "PlanMade": {"most": "max_attempts"},
    "SampleFailed": {"cure": "fix"},
    "TrainingBegan": {"micro_batch": "micro_batch_size"},
    "TrainingEnded": {"ending": "exit_name"},
    "WorkerFaltered": {"do": "actions"},
}
EXPERIMENT_FACTS = {"least_loss": "min_loss"}
STORY = {"membership": "distributed", "given_up": "repair_failed"}
DISTRIBUTED = {"worker": "rank", "of": "world_size"}
REMEDY = {"do": "action"}
UNKNOWN = {"cure": "fix"}
REPAIR = {"most": "max_attempts"}
THREAD = {"yours": "is_user_code", "of": "total_samples", "for_s": "duration_s"}
DEFECT = {"do": "action", "harm": "impact"}


def rename_keys(plain: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """The same values by the names of today, in the same order."""
    return {names.get(key, key): value for key, value in plain.items()}


# --- history.csv, and the rows of it that a checkpoint holds ---


def update_history_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Also for the logs of an epoch, which hold the same columns. A program's own metrics may be called `rate` or `wait_s`: only
    a row of the trainer has `learn_s`."""
    return rename_keys(row, HISTORY_COLUMNS) if "learn_s" in row else dict(row)


# --- journals ---


def update_event(plain: dict[str, Any]) -> dict[str, Any]:
    """One line of a journal. Events keep their names; some of their fields and values have new ones."""
    fields = EVENT_FIELDS.get(plain["event"])
    if fields is not None and not fields.keys().isdisjoint(plain):
        plain = rename_keys(plain, fields)
    update = _EVENTS.get(plain["event"])
    return plain if update is None else update(plain)


def _update_facts(plain: dict[str, Any]) -> dict[str, Any]:
    facts = plain.get("facts")
    return {**plain, "facts": rename_keys(facts, EXPERIMENT_FACTS)} if isinstance(facts, dict) else plain


def _update_logs(plain: dict[str, Any]) -> dict[str, Any]:
    logs = plain.get("logs")
    return {**plain, "logs": update_history_row(logs)} if isinstance(logs, dict) and "learn_s" in logs else plain


def _update_remedy(plain: dict[str, Any]) -> dict[str, Any]:
    remedy = plain.get("remedy")
    return {**plain, "remedy": REMEDIES[remedy]} if isinstance(remedy, str) and remedy in REMEDIES else plain


_EVENTS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "EpochEnded": _update_logs,
    "ExperimentEnded": _update_facts,
    "PlanMade": _update_remedy,
    "PlanVerified": _update_remedy,
    "PlanUndone": _update_remedy,
}


# --- story.json ---


def update_story(plain: Mapping[str, Any]) -> dict[str, Any]:
    """What has not the form of a story stays as it is: its readers are prepared for that."""
    story = rename_keys(plain, STORY)
    if isinstance(story.get("distributed"), dict):
        story["distributed"] = rename_keys(story["distributed"], DISTRIBUTED)
    _rename_in_rows(story, "unknown", UNKNOWN)
    _rename_in_rows(story, "threads", THREAD)
    _rename_in_rows(story, "repairs", REPAIR)
    repairs = _rows(story.get("repairs"))
    if repairs is not None:
        story["repairs"] = [_update_remedy(row) for row in repairs]
    for verdict in _rows(story.get("verdicts")) or []:
        _rename_in_rows(verdict, "remedies", REMEDY)
    numerics = story.get("numerics")
    if isinstance(numerics, dict) and isinstance(numerics.get("last_epoch"), dict):
        story["numerics"] = {**numerics, "last_epoch": update_history_row(numerics["last_epoch"])}
    return story


def _rename_in_rows(plain: dict[str, Any], name: str, names: Mapping[str, str]) -> None:
    rows = _rows(plain.get(name))
    if rows is not None:
        plain[name] = [rename_keys(row, names) for row in rows]


def _rows(value: object) -> Optional[list[dict[str, Any]]]:
    return value if isinstance(value, list) and all(isinstance(row, dict) for row in value) else None


# --- data-defects/defects.json ---


def update_defect(row: Mapping[str, Any]) -> dict[str, Any]:
    defect = rename_keys(row, DEFECT)
    for key, names in (("name", PROBLEMS), ("severity", SEVERITIES)):
        if isinstance(defect.get(key), str):
            defect[key] = names.get(defect[key], defect[key])
    return defect
