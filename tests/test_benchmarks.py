"""Results of benchmarks say which command made them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
RESULTS = sorted((ROOT / "benchmarks" / "results").glob("*.json"))
MADE_BY = {  # others by the program of their own name
    "attach": "benchmarks/diagnosis.py",
    "errors": "benchmarks/errors/__main__.py",
    "fuzzing": "fuzz/run.py",
    "real_trainers": "benchmarks/real_trainers/__main__.py",
}


@pytest.mark.parametrize("result", [path.stem for path in RESULTS])
def test_every_result_is_written_with_its_command(result: str) -> None:
    program = ROOT / MADE_BY.get(result, f"benchmarks/{result}.py")
    assert "written.write(" in program.read_text()


def test_the_command_can_be_typed_again_and_earlier_ones_are_kept(tmp_path: Path) -> None:
    out = tmp_path / "a result.json"
    for inputs in ("3", "4", "3"):
        wanted = ["-m", "fuzz.run", "--only", "headers", "--engine", "hypothesis", "--inputs", inputs, "--out", str(out)]
        done = subprocess.run([sys.executable, *wanted], cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    plain = json.loads(out.read_text())
    typed = "python -m fuzz.run --only headers --engine hypothesis --inputs {} --out '" + str(out) + "'"
    assert plain["command"] == "; ".join(typed.format(inputs) for inputs in ("3", "4"))
    assert [row["parser"] for row in plain["runs"]] == ["headers"]
