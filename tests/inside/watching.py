"""Small programs watched for real, and the journals that they leave."""

import textwrap
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


def watch(source: str, folder: Path, home: Path, code: int = 0, prelude: str = TENSORFLOW) -> Journal:
    seen = run_watched(write(folder, prelude + textwrap.dedent(source)))
    assert seen.code == code, seen
    journal = read_folder(next(home.iterdir()))
    assert not journal.of(ProbeFailed), journal.of(ProbeFailed)
    return journal


def facts(journal: Journal, kind: str) -> list[dict[str, Any]]:
    return [event.facts for event in journal.of(LoopSeen) if event.facts["kind"] == kind]


def line(folder: Path, text: str, name: str = "program.py") -> str:
    """file:line of the only line of the program that ends with this comment."""
    lines = (folder / name).read_text().splitlines()
    (number,) = [number for number, each in enumerate(lines, 1) if each.endswith(f"# {text}")]
    return f"{folder / name}:{number}"
