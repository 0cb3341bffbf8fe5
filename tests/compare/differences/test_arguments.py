"""Arguments of two command lines: a word behind a switch is no value of it, and one by its place is compared, too."""

from __future__ import annotations

from typing import Any

import pytest

from unstall.compare.differences.arguments import find_argument_differences

ARGPARSE = """
parser.add_argument("--multiprocessing", help="use processes", action="store_true")
parser.add_argument("-v", "--verbose", action='count')
parser.add_argument("--keep", action=argparse.BooleanOptionalAction)
parser.add_argument("--epochs", type=int)
"""
OTHERS = """
@click.option("--fast/--slow", is_flag=True)
def command(): ...
flags.DEFINE_bool("use_tpu", False, "on a TPU")
"""


def record(command: str, text: str = "") -> dict[str, Any]:
    files = {"train.py": {"text": text}, "broken.py": {"text": "store_true ("}, "odd.py": None}
    return {"run": {"command": ["python", "train.py", *command.split()]}, "sources": files}


def differing(before: str, after: str, text: str = "") -> dict[str, tuple[str | None, str | None]]:
    was, is_now = find_argument_differences(record(before, text), record(after, text))
    return {name: (was.get(name), is_now.get(name)) for name in {*was, *is_now} if was.get(name) != is_now.get(name)}


@pytest.mark.parametrize("text", [ARGPARSE, ""], ids=["declared", "by the other command line"])
def test_a_word_behind_a_switch_is_an_argument_of_its_own(text: str) -> None:
    assert differing("--multiprocessing csv a.csv", "csv a.csv", text) == {"--multiprocessing": ("given", None)}
    assert differing("--multiprocessing csv a.csv", "csv b.csv", text) == {
        "--multiprocessing": ("given", None),
        "argument 2": ("a.csv", "b.csv"),
    }
    assert differing("--multiprocessing --epochs 3 csv a.csv", "--epochs 3 --multiprocessing csv a.csv", text) == {}


def test_where_the_source_declares_a_switch_its_next_word_is_compared_by_its_place() -> None:
    assert differing("--multiprocessing csv", "--multiprocessing coco", ARGPARSE) == {"argument 1": ("csv", "coco")}
    assert differing("-v csv --keep a", "-v coco --keep b", ARGPARSE) == {"argument 1": ("csv", "coco"), "argument 2": ("a", "b")}
    assert differing("--slow a --use_tpu b", "--slow c --use_tpu b", OTHERS) == {"argument 1": ("a", "c")}


def test_an_option_keeps_its_value() -> None:
    assert differing("--epochs 3 csv", "--epochs 4 csv", ARGPARSE) == {"--epochs": ("3", "4")}
    assert differing("--rate -0.5", "--rate=0.5") == {"--rate": ("-0.5", "0.5")}
    assert differing("--name csv csv", "--name coco csv") == {"--name": ("csv", "coco")}
    assert differing("model.depth=50 csv", "csv model.depth=101") == {"model.depth": ("50", "101")}
    assert differing("-D a=1 -D b=2", "-D a=1 -D b=3") == {"-D": ("a=1 b=2", "a=1 b=3")}


def test_only_a_file_of_the_same_name_in_a_temporary_folder_is_the_same() -> None:
    assert differing("--out /tmp/x1/model.h5 /tmp/a.csv", "--out /tmp/x2/model.h5 /tmp/b.csv") == {
        "argument 1": ("/tmp/a.csv", "/tmp/b.csv")
    }
