"""Where a program is started: which file it runs, on what, with which variables."""

from __future__ import annotations

import os
import resource
from pathlib import Path

import pytest

from unstall.sensors import environment
from unstall.sensors.environment import find_script


@pytest.mark.parametrize(
    ("command", "script"),
    [
        (["python", "train.py", "--x"], "train.py"),
        (["python", "-u", "./train.py"], "train.py"),
        (["/usr/bin/env", "python3", "train.py"], "train.py"),
        (["python", "-m", "pack.main"], "pack/main.py"),
        (["python", "-m", "pack"], "pack/__main__.py"),
        (["./run.sh"], "run.sh"),
        (["python", "-c", "print(1)"], ""),
        (["python", "missing.py"], ""),
        (["python", "-m", "http.server"], ""),
        ([], ""),
    ],
)
def test_the_script_is_the_file_that_the_command_runs(command: list[str], script: str, tmp_path: Path) -> None:
    for name in ("train.py", "pack/main.py", "pack/__main__.py", "run.sh"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("#!/bin/sh\n")
    assert find_script(command, str(tmp_path)) == (str((tmp_path / script).resolve()) if script else "")


def test_what_unstall_itself_has_put_into_the_environment_is_not_told() -> None:
    given = {"PYTHONPATH": f"{environment.START}{os.pathsep}src", "UNSTALL_RUN": "/x", "TF_A": "1"}
    assert environment.look(os.getpid(), "", "", given, {}).variables == {"PYTHONPATH": "src", "TF_A": "1"}
    assert "PYTHONPATH" not in environment.look(os.getpid(), "", "", {"PYTHONPATH": str(environment.START)}, {}).variables


def test_the_machine_is_told_as_the_process_may_use_it(tmp_path: Path) -> None:
    result = environment.describe_machine(os.getpid(), str(tmp_path))
    assert 0 < result["cores"] <= len(os.sched_getaffinity(0))
    assert result["memory_bytes"] > 2**28 and result["kernel"] and result["hostname"]
    assert result["limits"].get("open_files") == resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    assert result["storage"].get("kind")
