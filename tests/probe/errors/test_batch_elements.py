"""batch_elements: which element differs, what it was made from, and what a worker of a DataLoader sends of its error."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from unstall.probe.errors.batch_elements import find_odd, find_source

SHAPES = {
    "name": "images",
    "length": 3,
    "shapes": [{"shape": [4], "first": 0, "count": 2}, {"shape": [5], "first": 1, "count": 1}],
}


def source_of(program: str, name: str = "images", **names: Any) -> dict[str, Any] | None:
    tree = ast.parse(program)
    made = next(node for node in tree.body if isinstance(node, ast.Assign))
    return find_source(
        {**SHAPES, "name": name}, made, tree, lambda node: names.get(getattr(node, "id", "")), time.monotonic() + 30
    )


PATHS = ["a.png", "b.png", "c.png"]


@pytest.mark.parametrize(
    "program",
    [
        "images = [read(path) for path in paths]",
        "images = [read(path) for at, path in enumerate(paths)]",
        "images = [read(path) for path, label in zip(paths, labels)]",
        "images = []\nfor path in paths:\n    images.append(read(path))",
    ],
)
def test_the_odd_element_was_made_from_the_same_one_of_the_other_list(program: str) -> None:
    found = source_of(program, paths=PATHS)
    assert found is not None
    assert (found["name"], found["text"]) == ("paths[1]", "'b.png'")


@pytest.mark.parametrize(
    "program",
    [
        "images = [read(path) for path in paths if good(path)]",
        "images = [read(path) for folder in paths for path in folder]",
        "images = []\nfor path in paths:\n    if bad(path):\n        continue\n    images.append(read(path))",
        "images = []\nfor path in paths:\n    images.append(read(path))\n    images.append(flip(path))",
        "images = load(paths)",
    ],
)
def test_nothing_is_said_where_the_lists_need_not_go_together(program: str) -> None:
    assert source_of(program, paths=PATHS) is None


def test_nothing_is_said_of_a_list_of_another_length() -> None:
    assert source_of("images = [read(path) for path in paths]", paths=PATHS[:2]) is None


def test_the_odd_shape_is_that_of_the_fewest() -> None:
    rows = [{"shape": [1], "first": 0, "count": 1}, {"shape": [2], "first": 1, "count": 7}]
    assert find_odd(rows) is rows[0]


WORKER = """
import pickle, sys, time
import torch
from torch.utils.data import DataLoader, Dataset, Subset
from unstall.probe.core.probe import Probe
from unstall.probe.errors import makers

class Shield:
    def call(self, name, function, *arguments):
        return function(*arguments)

class Rows(Dataset):
    def __init__(self):
        self.items = [(f"{at}.png", at) for at in range(12)]
    def __len__(self):
        return len(self.items)
    def __getitem__(self, i):
        path, label = self.items[i]
        return torch.ones(4 if path == "9.png" else 3, 2, 2), label

if "--watched" in sys.argv:
    makers.install_workers(torch._utils, type("P", (), {"shield": Shield()})())
try:
    list(DataLoader(Subset(Rows(), range(2, 12)), batch_size=5, num_workers=1))
except RuntimeError as error:
    sent = makers.find_sent(error.__traceback__)
    print(repr((str(error), sent)))
"""


def test_a_worker_sends_what_it_sees_and_the_error_stays_as_it_was(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    path = tmp_path / "train.py"
    path.write_text(WORKER)
    said = []
    for options in (["--watched"], []):
        command = [sys.executable, str(path), *options]
        done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False, env={**os.environ})
        assert done.stdout.strip(), done.stderr
        said.append(eval(done.stdout))
    (watched, sent), (alone, nothing) = said
    assert watched.splitlines()[0] == alone.splitlines()[0] and watched.splitlines()[-1] == alone.splitlines()[-1]
    assert nothing == {}
    (batch,) = sent["makers"]
    assert (batch["what"], batch["odd"], batch["index"]) == ("batch", 2, 9)
    assert batch["from"]["name"] == "self.items[9]" and batch["from"]["text"] == "'9.png'"
    assert [row["shape"] for row in batch["parts"][0]["shapes"]] == [[3, 2, 2], [4, 2, 2]]
