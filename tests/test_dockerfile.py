"""The image, as far as it can be tested where no image can be built: its file, by a linter of such files and by what it says."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILE = ROOT / "Dockerfile"


def steps(name: str) -> list[str]:
    """What follows that instruction, lines that go on put together."""
    text = FILE.read_text(encoding="utf-8").replace("\\\n", " ")
    return [line.removeprefix(f"{name} ").strip() for line in text.splitlines() if line.startswith(f"{name} ")]


def test_a_linter_of_dockerfiles_finds_nothing() -> None:
    beside = Path(sys.executable).with_name("hadolint")
    linter = str(beside) if beside.exists() else shutil.which("hadolint")
    if linter is None:
        pytest.skip("needs hadolint: pip install 'unstall[cloud-test]'")
    done = subprocess.run([linter, str(FILE)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr


def test_it_trains_as_nobody_in_particular() -> None:
    assert steps("USER") == ["1000"] and steps("ENTRYPOINT") == ['["unstall", "train"]']
    assert json.loads(steps("ENTRYPOINT")[0])[0] in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert len(steps("FROM")) == 2 and not any("--from" not in each and "/opt/unstall" in each for each in steps("COPY"))


def test_its_extras_are_those_of_the_package() -> None:
    known = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    (extras,) = (each.partition("=")[2] for each in steps("ARG") if each.startswith("EXTRAS="))
    assert set(extras.split(",")) <= set(known) and {"jax", "gcs", "data"} <= set(extras.split(","))
    shown = re.findall(r"EXTRAS=([\w,]+)", FILE.read_text(encoding="utf-8"))
    assert all(set(each.split(",")) <= set(known) for each in shown)


def test_what_it_copies_is_there_and_is_not_ignored() -> None:
    copied = [word for each in steps("COPY") if "--from" not in each for word in each.split()[:-1]]
    assert copied and all((ROOT / name).exists() for name in copied)
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert "*" in ignored and {f"!{name}" for name in copied} == {line for line in ignored if line.startswith("!")}
