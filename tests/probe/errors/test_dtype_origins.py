"""dtype_origins: the line of the program's that makes an array float64."""

from __future__ import annotations

import linecache
import time
from pathlib import Path
from typing import Any

import pytest

numpy = pytest.importorskip("numpy")

from unstall.probe.errors.dtype_origins import find_origins  # noqa: E402

FAIL = "\ndef step(batch):\n    raise TypeError('type float32 that does not match type float64')\nstep(x[:2])\n"


def origins(folder: Path, program: str, fail: str = FAIL) -> list[dict[str, Any]]:
    path = folder / "train.py"
    path.write_text(program + fail)
    linecache.checkcache()
    try:
        exec(compile(program + fail, str(path), "exec"), {"__name__": "train", "np": numpy})
    except TypeError as error:
        return find_origins(error, error.__traceback__, time.monotonic() + 30)
    raise AssertionError("The program should have failed.")


def test_it_is_followed_into_a_function_that_has_returned(tmp_path: Path) -> None:
    program = (
        "def load(rows):\n    table = np.zeros((rows, 3))\n    table = table - 1\n    x = np.stack([table, table])\n    return x, rows\n"
        "x, y = load(4)"
    )
    (row,) = origins(tmp_path, program)
    assert (row["name"], row["maker"], row["where"]) == ("x", "np.zeros", f"{tmp_path / 'train.py'}:2")


def test_what_makes_it_float64_by_being_float64_is_named(tmp_path: Path) -> None:
    program = "x = np.ones((4, 3), 'float32')\nmean = np.arange(3) / 2\nx = x - mean"
    (row,) = origins(tmp_path, program)
    assert (row["operands"], row["source"]) == (["mean"], ["x = x - mean"])


@pytest.mark.parametrize("program", ["x = np.zeros((4, 3), dtype='float32')", "x = np.zeros((4, 3)).astype('float32')"])
def test_an_array_of_another_dtype_is_not_named(tmp_path: Path, program: str) -> None:
    assert origins(tmp_path, program) == []


def test_another_error_is_not_looked_into(tmp_path: Path) -> None:
    assert origins(tmp_path, "x = np.zeros((4, 3))", FAIL.replace("float64", "int64")) == []
