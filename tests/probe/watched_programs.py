"""Small programs watched for real, and the journals that they leave."""

import textwrap
from itertools import pairwise
from pathlib import Path
from typing import Any

from tests.programs import run_watched, write
from unstall.journal.events import LoopSeen, ProbeFailed
from unstall.journal.reader import Journal, read_folder

TENSORFLOW = """
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras, numpy as np, tensorflow as tf

def data(count=640):
    x = np.random.default_rng(0).normal(size=(count, 8)).astype("float32")
    return x, x[:, :1] * 2

def model_of(*units):
    return keras.Sequential([keras.Input((8,)), *(keras.layers.Dense(unit) for unit in units)])
"""


def watch(source: str, folder: Path, home: Path, code: int = 0, preamble: str = TENSORFLOW) -> Journal:
    seen = run_watched(write(folder, preamble + textwrap.dedent(source)))
    assert seen.code == code, seen
    journal = read_folder(next(home.iterdir()))
    assert not journal.of(ProbeFailed), journal.of(ProbeFailed)
    return journal


class Parts:
    """Parts of one program, which run after each other in one process: most of its time goes into the start of the framework. A test
    looks at what was told during its own part."""

    def __init__(self, preamble: str = TENSORFLOW) -> None:
        self._sources = ["import time\n" + preamble]

    def add(self, source: str) -> int:
        """The number of this part."""
        self._sources.append(textwrap.dedent(source))
        return len(self._sources) - 2

    def watched(self, folder: Path) -> "WatchedProgram":
        program = write(folder, "print(time.time(), flush=True)\n".join(self._sources))
        home = folder / "runs"
        seen = run_watched(program, env={"UNSTALL_HOME": str(home)})
        assert seen.code == 0, seen
        journal = read_folder(next(home.iterdir()))
        assert not journal.of(ProbeFailed), journal.of(ProbeFailed)
        begins = [*map(float, seen.out.split()), float("inf")]
        parts = [Journal([event for event in journal.all() if begin <= event.at < end]) for begin, end in pairwise(begins)]
        return WatchedProgram(folder, parts)


class WatchedProgram:
    """What was told during each part, and where a line of the program is."""

    def __init__(self, folder: Path, journals: list[Journal]) -> None:
        self._folder = folder
        self._journals = journals

    def during(self, part: int) -> Journal:
        return self._journals[part]

    def line(self, text: str) -> str:
        return line(self._folder, text)


def facts(journal: Journal, kind: str) -> list[dict[str, Any]]:
    return [event.facts for event in journal.of(LoopSeen) if event.facts["kind"] == kind]


def line(folder: Path, text: str, name: str = "program.py") -> str:
    """file:line of the only line of the program that ends with this comment."""
    lines = (folder / name).read_text().splitlines()
    (number,) = [number for number, each in enumerate(lines, 1) if each.endswith(f"# {text}")]
    return f"{folder / name}:{number}"
