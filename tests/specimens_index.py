"""Reads the headers of the specimens: which fault each has, where, and how it ends. Shared by the tests and the benchmarks.

A specimen is a small program of `specimens/CAUSE/sick`, which has the cause, or of `specimens/CAUSE/healthy`, which nearly has it. It
begins with a block of TOML in comments:

    # /// specimen
    # cause = "generator_blocked"             "" for a healthy one
    # also = []                               causes that are true too and may stand below the first
    # where = "BLOCKED HERE"                  the comment on the line that the verdict should name
                                              (on several: on any of them); "" if none can be known
    # framework = "keras-tensorflow"
    # ends = "hangs"                          what it does when nobody stops it
    # seconds = 25                            how long to watch it
    # near = "generator_pauses_fit"           sick: the healthy twin. healthy: the cause that it nearly has
    # needs = []
    # ///

Optional: shape = "guard"; workers = 2 (it is started so many times, each under its own watcher, and the runs are read together),
of = 3 (as how many they are told to be), ahead_s = 90 (the clock of the last one).
"""

from __future__ import annotations

import ast
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "specimens"
FRAMEWORKS = frozenset({"keras-tensorflow", "keras-jax", "keras-torch", "loop-tensorflow", "tf_keras", "python"})
ENDS = frozenset({"hangs", "crashes", "exits", "is killed"})
NEEDS = frozenset({"root", "cgroup-memory", "cgroup-io", "swap", "two-processes", "tmpfs", "gpu", "cc"})
SHAPES = frozenset({"run", "guard", "watch"})
FIELDS: dict[str, tuple[type, ...]] = {
    "cause": (str,),
    "also": (list,),
    "where": (str,),
    "framework": (str,),
    "ends": (str,),
    "seconds": (int, float),
    "near": (str,),
    "needs": (list,),
}
OPTIONAL: dict[str, tuple[type, ...]] = {"shape": (str,), "workers": (int,), "of": (int,), "ahead_s": (int, float)}


class MalformedSpecimen(Exception):
    """Names the file, what was expected and what came."""


@dataclass(frozen=True)
class Specimen:
    path: Path
    cause: str  # "" for a healthy one
    also: tuple[str, ...]
    where: tuple[int, ...]  # the lines of which the verdict should name one; () if none can be known
    framework: str
    ends: str
    seconds: float
    near: str
    needs: tuple[str, ...]
    shape: str  # run: as it is, from outside; guard, watch: it uses unstall itself
    workers: int = 1  # how many of it are started
    of: int = 1  # how many they are told to be
    ahead_s: float = 0.0  # of the last one's clock

    @property
    def name(self) -> str:
        return self.path.stem

    @property
    def is_sick(self) -> bool:
        return self.path.parent.name == "sick"


def paths() -> list[Path]:
    return sorted([*FOLDER.glob("*/sick/*.py"), *FOLDER.glob("*/healthy/*.py")])


@cache
def load_all() -> list[Specimen]:
    """Every specimen, the sick and the healthy. Raises MalformedSpecimen at the first bad header."""
    return [load(path) for path in paths()]


def load(path: Path) -> Specimen:
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    header, end = _header(path, lines)
    wrong = _wrong_fields(header)
    if wrong:
        raise MalformedSpecimen(f"{path.name}: {'; '.join(wrong)}")
    if not ast.get_docstring(ast.parse(text)):
        raise MalformedSpecimen(f"{path.name}: a docstring after the header must say what is wrong, or nearly wrong, and why.")
    return Specimen(
        path=path,
        cause=header["cause"],
        also=tuple(header["also"]),
        where=_marked_lines(path, lines, end, header["where"]),
        framework=header["framework"],
        ends=header["ends"],
        seconds=float(header["seconds"]),
        near=header["near"],
        needs=tuple(header["needs"]),
        shape=header.get("shape", "run"),
        workers=header.get("workers", 1),
        of=header.get("of", header.get("workers", 1)),
        ahead_s=float(header.get("ahead_s", 0.0)),
    )


def _header(path: Path, lines: list[str]) -> tuple[dict[str, Any], int]:
    """The fields, and the number of lines that the block takes."""
    if not lines or lines[0].strip() != "# /// specimen":
        raise MalformedSpecimen(f"{path.name}: the first line must be '# /// specimen'. Received: {lines[:1]}")
    try:
        end = next(number for number, line in enumerate(lines) if line.strip() == "# ///")
        return tomllib.loads("\n".join(line.removeprefix("#") for line in lines[1:end])), end + 1
    except StopIteration:
        raise MalformedSpecimen(f"{path.name}: the header must end with a line '# ///'.") from None
    except tomllib.TOMLDecodeError as error:
        raise MalformedSpecimen(f"{path.name}: the header is no TOML: {error}") from None


def _wrong_fields(header: dict[str, Any]) -> list[str]:
    known = FIELDS | OPTIONAL
    wrong = [f"the field '{name}' is missing" for name in FIELDS if name not in header]
    wrong += [f"unknown field '{name}', expected one of {', '.join(known)}" for name in header if name not in known]
    wrong += [
        f"{name} must be {' or '.join(kind.__name__ for kind in known[name])}. Received: {value!r}"
        for name, value in header.items()
        if name in known and (not isinstance(value, known[name]) or isinstance(value, bool))
    ]
    if wrong:
        return wrong
    for name, allowed in (("framework", FRAMEWORKS), ("ends", ENDS), ("shape", SHAPES)):
        if header.get(name, "run") not in allowed and name in header:
            wrong.append(f"{name} must be one of {', '.join(sorted(allowed))}. Received: {header[name]!r}")
    wrong += [f"needs must be of {', '.join(sorted(NEEDS))}. Received: {need!r}" for need in header["needs"] if need not in NEEDS]
    wrong += [f"also must hold names of causes. Received: {other!r}" for other in header["also"] if not isinstance(other, str)]
    if header["seconds"] <= 0:
        wrong.append(f"seconds must be above 0. Received: {header['seconds']}")
    return wrong


def _marked_lines(path: Path, lines: list[str], end: int, marker: str) -> tuple[int, ...]:
    if not marker:
        return ()
    marked = [number for number, line in enumerate(lines, 1) if number > end and marker in line.partition("#")[2]]
    if not marked:
        raise MalformedSpecimen(f"{path.name}: no line carries the comment '# {marker}' that the header's 'where' names.")
    return tuple(marked)
