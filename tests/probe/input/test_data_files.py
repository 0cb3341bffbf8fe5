"""Names of data files that pass by: long lists of them become patterns, anything else is left alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.probe.watched_programs import line, watch
from unstall.journal.events import PatternMatchedNothing
from unstall.probe.input.data_files import find_paths, summarize_paths


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("/data/a.jpg", ["/data/a.jpg"]),
        (Path("/data/a.jpg"), ["/data/a.jpg"]),
        (b"/data/a.jpg", ["/data/a.jpg"]),
        (["/data/a.jpg", "/data/b.jpg"], ["/data/a.jpg", "/data/b.jpg"]),
        ((["/data/a.jpg"], [0]), ["/data/a.jpg"]),
        ({"image": ["/data/a.jpg"], "label": [1]}, ["/data/a.jpg"]),
        ([1, 2, 3], []),
        ("relu", []),
        ("gs://bucket/x.tfrecord", []),
        ("train.py", []),
        ("line\nline.", []),
        (None, []),
        (object(), []),
    ],
)
def test_paths_are_found_in_what_programs_hand_over(value: Any, found: list[str]) -> None:
    assert find_paths(value) == found


def test_paths_in_an_array_are_found_too() -> None:
    numpy = pytest.importorskip("numpy")
    assert find_paths(numpy.array(["/d/a.png", "/d/b.png"])) == ["/d/a.png", "/d/b.png"]
    assert find_paths(numpy.zeros((100, 4))) == []


def test_few_files_are_told_themselves_and_many_by_patterns() -> None:
    assert summarize_paths(["/d/a.png", "/d/b.png"]) == ["/d/a.png", "/d/b.png"]
    assert summarize_paths([f"/d/[{number % 2}]/{number}.png" for number in range(100)]) == ["/d/[[]0]/*.png", "/d/[[]1]/*.png"]
    assert summarize_paths([f"/d/e/{number}/x.png" for number in range(100)]) == ["/d/e/**/*.png"]


@pytest.mark.torch
def test_a_pattern_without_a_match_is_told_with_the_calls_of_libraries_that_asked_for_it(tmp_path: Path, own_home: Path) -> None:
    journal = watch(
        """
        import glob, re
        import torch

        glob.glob("/nowhere/*.png")  # ALONE
        re.sub("x", lambda match: str(glob.glob("/nowhere/*.jpg")), "x")  # ASKS
        """,
        tmp_path,
        own_home,
    )
    alone, asked = journal.of(PatternMatchedNothing)
    assert (alone.pattern, alone.where, alone.within) == ("/nowhere/*.png", line(tmp_path, "ALONE"), [])
    assert (asked.where, asked.within) == (line(tmp_path, "ASKS"), [line(tmp_path, "ASKS")])
