"""What has no gradient, found in the source of a loss."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from unstall.probe.model import gradient_cuts

SOURCE = """
def scores(weights, x):
    return frame.argmax(x @ weights)

def named(weights, x):
    return frame.mean(scores(weights, x))

in_one_line = lambda weights, x: frame.mean(frame.stop_gradient(weights) * x)
through_another = lambda weights, x: frame.mean(scores(weights, x))
well = lambda weights, x: frame.mean(weights * x)
constant = lambda weights, x: 1.0
"""


@pytest.mark.parametrize(
    ("name", "line", "cut"),
    [
        ("named", 3, "argmax"),
        ("in_one_line", 8, "stop_gradient"),
        ("through_another", 3, "argmax"),
        ("well", None, ""),
        ("constant", None, ""),
    ],
)
def test_a_function_and_a_lambda_are_searched(name: str, line: int | None, cut: str, tmp_path: Path) -> None:
    path = tmp_path / "losses.py"
    path.write_text(SOURCE, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("losses", path)
    assert spec is not None and spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    loss: Callable[..., Any] = getattr(module, name)
    assert gradient_cuts.find_cut_in_function(loss) == (None if line is None else f"{path}:{line}", cut)
