"""One program under `unstall run`: what was said of it, and whether the line that must be changed was shown."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

PROGRAMS = Path(__file__).parent / "programs"
UNSTALL = [sys.executable, "-m", "unstall"]
LIMIT_S = 400.0  # a machine that is busy, and imports
_ENVIRONMENT = {"TF_CPP_MIN_LOG_LEVEL": "2"}


@dataclass(frozen=True)
class Program:
    """A folder with a program and its truth."""

    name: str
    path: Path
    half: str  # dev | locked
    truth: dict[str, Any]

    @property
    def dies(self) -> bool:
        return bool(self.truth["dies"])

    @property
    def culprits(self) -> frozenset[str]:
        """The lines that may be changed to mend it: train.py:27."""
        culprit = self.truth.get("culprit") or {}
        file = culprit.get("file", "train.py")
        places = {f"{file}:{culprit['line']}"} if "line" in culprit else set()
        for other in self.truth.get("also_accept", []):
            places.add(f"{other['file']}:{other['line']}" if isinstance(other, dict) else f"{file}:{other}")
        return frozenset(places)


@dataclass(frozen=True)
class Row:
    program: str
    half: str
    dies: bool
    exit_code: int
    named: tuple[str, ...]
    where: str
    is_culprit_shown: bool
    text: str  # as `unstall diagnose` prints it
    seconds: int

    @property
    def is_answered(self) -> bool:
        return bool(self.named) == self.dies

    @property
    def is_right(self) -> bool:
        return self.is_answered and (self.is_culprit_shown or not self.dies)

    @property
    def said(self) -> str:
        return f"{', '.join(self.named) or 'no verdict'} {self.where}".strip()

    def as_plain(self) -> dict[str, Any]:
        return {**asdict(self), "named": list(self.named), "is_answered": self.is_answered}


def load_programs() -> list[Program]:
    halves = {
        f"{path.parent.name}/{name}": half
        for path in sorted(PROGRAMS.glob("*/split.json"))
        for half, names in json.loads(path.read_text(encoding="utf-8")).items()
        for name in names
    }
    found = []
    for path in sorted(PROGRAMS.glob("*/*/truth.json")):
        name = f"{path.parents[1].name}/{path.parent.name}"
        found.append(Program(name, path.parent, halves[name], json.loads(path.read_text(encoding="utf-8"))))
    return found


def try_program(program: Program, keep: Path | None = None) -> Row:
    """In a copy of its folder: some write beside themselves."""
    with tempfile.TemporaryDirectory(prefix="unstall-bench-", ignore_cleanup_errors=True) as scratch:
        folder, home, story = Path(scratch, "program"), Path(scratch, "home"), Path(scratch, "story.json")
        shutil.copytree(program.path, folder, ignore=shutil.ignore_patterns("truth.json", "__pycache__"))
        env = {**os.environ, **_ENVIRONMENT, "UNSTALL_HOME": str(home)}
        command = [*UNSTALL, "run", "--quiet", "--json", str(story), "--", sys.executable, *program.truth["command"]]
        began = time.monotonic()
        with tempfile.TemporaryFile() as output:
            done = subprocess.run(
                command, cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=output, stderr=output, timeout=LIMIT_S, check=False
            )
        seconds = round(time.monotonic() - began)
        plain = json.loads(story.read_text(encoding="utf-8"))
        env["COLUMNS"] = "150"
        said = subprocess.run(
            [*UNSTALL, "diagnose"], cwd=folder, env=env, capture_output=True, text=True, timeout=LIMIT_S, check=False
        )
        text = said.stdout.replace(str(folder), ".")
        if keep is not None:
            kept = keep / program.name
            shutil.copytree(home, kept / "home", dirs_exist_ok=True)
            (kept / "said.txt").write_text(text, encoding="utf-8")
    verdicts = plain["verdicts"]
    return Row(
        program=program.name,
        half=program.half,
        dies=program.dies,
        exit_code=done.returncode,
        named=tuple(verdict["cause"] for verdict in verdicts),
        where=verdicts[0].get("where") or "" if verdicts else "",
        is_culprit_shown=_is_shown(verdicts[0], program.culprits) if verdicts else False,
        text=text,
        seconds=seconds,
    )


def _is_shown(verdict: dict[str, Any], culprits: frozenset[str]) -> bool:
    """Whether one of the lines stands in what is said: as the place, in the evidence, or as a change."""
    text = json.dumps([verdict[key] for key in ("where", "summary", "evidence", "changes") if key in verdict])
    return any(_stands_in(place, text) for place in culprits)


def _stands_in(place: str, text: str) -> bool:
    """train.py:2 does not stand in train.py:27."""
    return any(not after[:1].isdigit() for after in text.split(place)[1:])
