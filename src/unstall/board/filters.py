"""Some of the runs: by state, script, model, age or words; and the last one of a script that went well."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath

from unstall.base.errors import InvalidInputError, RunNotFoundError
from unstall.board.rows import TONES, Row, find_script

STATES = tuple(TONES)
UNITS_S = {"m": 60.0, "h": 3600.0, "d": 86400.0, "w": 7 * 86400.0}
STEPS = ("/", "./", "../")  # a path that begins so means one file, and no other of its name
_AGE = re.compile(r"(\d{1,6}(?:\.\d{1,6})?)\s*([mhdw])")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True)
class RunFilter:
    states: tuple[str, ...] = ()
    script: str | None = None
    model: str | None = None
    since: float | None = None  # began after this moment
    before: float | None = None  # nothing was written after this moment
    words: tuple[str, ...] = ()

    @property
    def is_everything(self) -> bool:
        return self == RunFilter()

    def fits(self, row: Row, path: str = "") -> bool:
        """`path`: of the script that it ran, where that is known."""
        began = row["began_at"] or row["changed_at"]
        return (
            (not self.states or row["state"] in self.states)
            and (self.script is None or is_script(row, self.script, path))
            and (self.model is None or self.model in (row["model"] or ""))
            and (self.since is None or began >= self.since)
            and (self.before is None or row["changed_at"] < self.before)
            and all(word.lower() in _said(row) for word in self.words)
        )


def is_script(row: Row, script: str, path: str = "") -> bool:
    """By its path, its name with or without .py, or the model that `unstall train` trained. `path`: where the script of the run
    lies, which its command, typed in some folder, does not tell."""
    if path and "/" in script and Path(script).resolve() == Path(path):
        return True
    if path and script.startswith(STEPS):
        return False
    own = find_script(row)
    return script in {own, PurePath(own).name, PurePath(own).stem, row["model"]} or own.endswith(f"/{script.removeprefix('./')}")


def _said(row: Row) -> str:
    verdict = row["verdict"] or {}
    parts = [
        row["run"],
        row["state"],
        row["model"],
        *row["command"],
        verdict.get("cause"),
        verdict.get("where"),
        verdict.get("summary"),
        row["failure"],
    ]
    return " ".join(str(part) for part in parts if part).lower()


def is_good(row: Row) -> bool:
    """It came to its end, and nothing was found that would have stopped or spoiled it."""
    return row["state"] == "done" and (row["verdict"] is None or row["verdict"]["effect"] == "slows")


def find_last_good(rows: Iterable[Row], script: str, paths: Mapping[str, str], has_trained: Callable[[Row], bool]) -> Row:
    """`paths`: of the scripts, by the names of the runs. `has_trained` reads more of a run, and is asked of the newest first."""
    of_it = [row for row in rows if is_script(row, script, paths.get(row["run"], ""))]
    of_it.sort(key=lambda row: float(row["began_at"] or row["changed_at"]))
    found = next((row for row in reversed(of_it) if is_good(row) and has_trained(row)), None)
    if found is not None:
        return found
    if of_it:
        raise RunNotFoundError(
            f"No run of '{script}' has gone well: {len(of_it)} of them, the last '{of_it[-1]['run']}' {of_it[-1]['state']}. "
            "A good run ends with exit code 0 and no harmful verdict, its training steps were seen, and its loss was finite."
        )
    raise RunNotFoundError(
        f"There is no run of '{script}'. Expected a script as `unstall run` was given it, or a model of `unstall train`."
    )


def parse_moment(given: str, option: str) -> float:
    """Seconds since 1970 of '2h', '3d', '1w' ago, or of a day, '2026-11-15'."""
    text = given.strip()
    if found := _AGE.fullmatch(text):
        return time.time() - float(found[1]) * UNITS_S[found[2]]
    if _DATE.fullmatch(text):
        try:
            return time.mktime(time.strptime(text, "%Y-%m-%d"))
        except (ValueError, OverflowError):
            pass  # a day that there is not
    raise InvalidInputError(f"{option}: expected an age like 30m, 12h, 7d or 2w, or a day like 2026-11-15. Received: '{given}'")
