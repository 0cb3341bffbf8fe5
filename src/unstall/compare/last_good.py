"""The last run of the same script, or of the same settings, that came to a good end."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from unstall.compare.comparison import Comparison, compare_records
from unstall.compare.differences import source_diff
from unstall.compare.differences.arguments import pair_sources
from unstall.compare.differences.source_diff import Change
from unstall.compare.record import facts
from unstall.diagnosis.findings import is_fallback
from unstall.journal import run_folder
from unstall.journal.run_folder import RunFolder

HARMFUL = frozenset({"stops", "spoils"})  # a run that was only slow is still one to measure others by
MAX_LOOKED_AT = 2000  # run folders, from the newest on
FIRST_LINES_BYTES = 64 * 1024


def find_last_good(script: str, before: RunFolder | None = None) -> RunFolder | None:
    """Of a script by its path or its name; `before` a run of it, which itself is never the answer."""
    wanted = Path(script)

    def is_it(key: tuple[str, ...]) -> bool:
        known = Path(key[1]) if len(key) > 1 else Path()
        return key[0] == "script" and (known == wanted.resolve() or (len(wanted.parts) == 1 and known.name == script))

    return _newest(lambda run: (key := build_key(run)) is not None and is_it(key), before)


def find_last_good_like(run: RunFolder) -> RunFolder | None:
    """The last good run before this one of what it runs: the same script; or a training of the same data and model, or data."""
    key = build_key(run)
    if key is None:
        return None
    found = _newest(lambda other: build_key(other) == key, run)
    if found is None and key[0] == "train":
        return _newest(lambda other: (build_key(other) or ("", ""))[:2] == key[:2], run)
    return found


def build_key(run: RunFolder) -> tuple[str, ...] | None:
    """What a run runs: ("script", path), ("module", name), ("train", data, model); None where nothing says so."""
    settings = _json(run.settings_path)
    if settings:
        return ("train", str(settings.get("data")), str(settings.get("model")))
    started = _first_started(run.path)
    if started is None:
        return None
    command, folder = [str(part) for part in started.get("command") or []], Path(str(started.get("folder") or "/"))
    for place, part in enumerate(command):
        if part.endswith(".py"):
            return ("script", str((folder / part).resolve()))
        if part == "-m" and place + 1 < len(command):
            return ("module", command[place + 1], str(folder))
    return ("script", str((folder / command[0]).resolve())) if command else None


def find_script_path(run: RunFolder) -> str:
    """The absolute path of the script that it ran, as recorded, or by its first event; empty where nothing says so."""
    text = (_json(run.record_path).get("record") or {}).get("run") or {}
    key = build_key(run) or ("",)
    return str(text.get("script") or (key[1] if key[0] == "script" else ""))


def is_good(run: RunFolder) -> bool:
    story = run.read_story() or {}
    verdicts = story.get("verdicts") or []
    is_well = story.get("state") == "done" and not any(verdict.get("effect") in HARMFUL for verdict in verdicts)
    if (story.get("printed") or {}).get("is_finite_now") is False:
        return False  # the program said itself that its loss is NaN, however sure that is
    return is_well and has_trained(run)


def has_trained(run: RunFolder) -> bool:
    """Whether steps of a training were seen from inside, and its loss, where that was seen, stayed a finite number. A story that
    found nothing wrong does not say so: of a program that nobody saw from inside there is little to find."""
    from unstall.compare.record.store import load_record

    record = load_record(run)
    figures = facts.get_section(record, "figures")
    last = figures.get("last_epoch")
    ended_finite = not isinstance(last, dict) or last.get("loss", 0.0) is not None
    return bool(figures.get("steps")) and not facts.is_broken(record) and ended_finite


def _newest(is_wanted: Callable[[RunFolder], bool], before: RunFolder | None) -> RunFolder | None:
    """By the time they began: a run that was put elsewhere may have any name."""
    until = _began_at(before) if before is not None else float("inf")
    listed = {run.path: run for run in (*_neighbours(before), *run_folder.list_runs()[-MAX_LOOKED_AT:])}
    matching = [(_began_at(run), run) for run in listed.values() if is_wanted(run)]
    for began_at, run in sorted(matching, key=lambda pair: pair[0], reverse=True):
        if began_at < until and is_good(run):
            return run
    return None


def _began_at(run: RunFolder) -> float:
    return float((_first_started(run.path) or {}).get("at") or 0.0)


def _neighbours(run: RunFolder | None) -> list[RunFolder]:
    """Runs beside a run that does not lie where runs are kept."""
    if run is None or run.path.parent == run_folder.get_home():
        return []
    try:
        folders = [path for path in run.path.parent.iterdir() if path.is_dir() and any(path.glob("events-*.jsonl"))]
    except OSError:
        return []
    return [RunFolder(path) for path in folders[:MAX_LOOKED_AT]]


def _first_started(folder: Path) -> dict[str, Any] | None:
    """The event by which the watcher's journal begins."""
    for path in sorted(folder.glob("events-*.jsonl"), key=lambda path: "watcher" not in path.name):
        try:
            with path.open("rb") as file:
                lines = file.read(FIRST_LINES_BYTES).split(b"\n")
        except OSError:
            continue
        for line in lines[:50]:
            if b'"RunStarted"' in line:
                try:
                    plain = json.loads(line)
                except ValueError:
                    continue
                return plain if isinstance(plain, dict) else None
    return None


def _json(path: Path) -> dict[str, Any]:
    try:
        plain = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return plain if isinstance(plain, dict) else {}


# What changed since the last good run of the same script or settings, where that explains a failure; where no cause is known,
# what was changed by hand. Else nothing.


MAX_LINES = 4
BAD = frozenset({"failed", "killed", "stuck", "slow"})
BY_USER = frozenset({"command", "setting", "source", "version"})
FILES = frozenset({"sources", "named_files"})  # sections
NEAR_LINES = 3  # a call may stand over several lines


def compare_with_last_good(run: RunFolder, story: dict[str, Any]) -> dict[str, Any] | None:
    """`run`: the last good one; `lines`: what changed since then and explains the failure. None: nothing can be said."""
    if story["state"] not in BAD and not any(verdict["effect"] in {"stops", "spoils"} for verdict in story["verdicts"]):
        return None
    good = find_last_good_like(run)
    if good is None:
        return None
    from unstall.compare.record.store import load_record

    before, after = load_record(good), _with_story(load_record(run), story)
    lines = explain_in_lines(compare_records(before, after), before, after, story)
    return {"run": good.name, "lines": lines} if lines else None


def _with_story(record: dict[str, Any], story: dict[str, Any]) -> dict[str, Any]:
    """With how it ended, as the story has it: the record may have been read before the end was written."""
    state = story["state"]
    outcome = {"killed": "failed", "slow": "stuck"}.get(state, state)
    cause = story["verdicts"][0]["cause"] if story["verdicts"] else ""
    return {**record, "run": {**facts.get_section(record, "run"), "outcome": outcome, "cause": cause}}


def explain_in_lines(comparison: Comparison, before: dict[str, Any], after: dict[str, Any], story: dict[str, Any]) -> list[str]:
    channels = facts.list_failed_channels(after)
    lines = [each.description for each in comparison.explanations if each.channel in channels]
    return _first(lines or _where_it_changed(before, after, story)) or _what_was_changed(comparison, story)


def _first(lines: list[str]) -> list[str]:
    """As many as are read; how many are left out is said."""
    return lines if len(lines) <= MAX_LINES else [*lines[: MAX_LINES - 1], f"and {len(lines) - MAX_LINES + 1} more"]


def _where_it_changed(before: dict[str, Any], after: dict[str, Any], story: dict[str, Any]) -> list[str]:
    """The verdict's own line is one that changed."""
    changes = source_diff.find_changes(*pair_sources(before, after))
    places = [place for verdict in story["verdicts"] if (place := _place(verdict.get("where")))]
    hit = [change for change in changes if any(_is_at(change, *place) for place in places)]
    return [f"{change.where} changed: {change.words}" for change in hit]


def _what_was_changed(comparison: Comparison, story: dict[str, Any]) -> list[str]:
    """Of a program that failed by an error of its own: what its user did otherwise this time."""
    is_explained = any(not is_fallback(verdict["cause"]) for verdict in story["verdicts"])
    if is_explained or story["state"] != "failed":
        return []
    by_user = [each for each in comparison.differences if each.name in BY_USER or each.section in FILES or each.lines]
    done = [each.description for each in by_user]
    more = len(done) - MAX_LINES + 1
    which = "which of these it was is not known"
    return done if len(done) < 2 else [*done[: MAX_LINES - 1], f"and {more} more; {which}" if more > 0 else which]


def _place(where: str | None) -> tuple[str, int] | None:
    match = re.match(r"(.+?):(\d+)", where or "")
    return (match[1], int(match[2])) if match else None


def _is_at(change: Change, file: str, line: int) -> bool:
    same = file.endswith(change.file) or change.file.endswith(file)
    return same and change.line - NEAR_LINES < line < change.line + max(1, len(change.after)) + NEAR_LINES
