"""The command line as a person meets it, in real processes: right calls, wrong calls, and everything as JSON."""

from __future__ import annotations

import inspect
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import click
import psutil
import pytest

from tests.programs import UNSTALL, write
from unstall.base.exit_codes import CANNOT_TELL
from unstall.cli import list_all_commands, list_group_commands, list_inner_names, load
from unstall.diagnosis.causes import CAUSES

STARTED_IN = Path.cwd()
PROGRAM = "import sys, time\nprint('of the program')\ntime.sleep(1)\nsys.exit(5)\n"


def call(*arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    """One that ends with a traceback of ours fails whatever test called it. It runs in the test's own folder, or the one that is
    current if the test has changed to it: an unstall.toml that lies where pytest was started must not matter."""
    command = [*UNSTALL, *arguments]
    environment = {**os.environ, **env}
    own = Path(os.environ.get("UNSTALL_HOME", "/nowhere/runs")).parent  # a fixture of a module has none; it may be a bucket
    folder = own if Path.cwd() == STARTED_IN and own.is_dir() else Path.cwd()
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=240, env=environment, input="", cwd=folder
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done


def as_json(*arguments: str, code: int = 0) -> dict[str, Any]:
    """What is printed with `--json -`: one object, and nothing else."""
    done = call(*arguments, "--json", "-")
    assert done.returncode == code, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


@pytest.fixture
def a_run(tmp_path: Path) -> str:
    """The name of a run that ended with 5."""
    program = write(tmp_path, PROGRAM, "train.py")
    assert call("run", "--quiet", "--", sys.executable, str(program)).returncode == 5
    name: str = as_json("runs")["runs"][-1]["run"]
    return name


# --- help ---


def test_help_lists_every_command_with_a_line_of_its_own() -> None:
    done = call("--help", COLUMNS="120")
    assert done.returncode == 0
    shown = done.stdout.partition("Commands:")[2].splitlines()
    listed = [line.split()[0] for line in shown if re.match(r"  \w", line)]
    assert listed == list(list_group_commands("").names())


@pytest.mark.parametrize("typed", list_all_commands())
def test_every_command_explains_itself(typed: str) -> None:
    done = call(*typed.split(), "--help")
    assert done.returncode == 0
    assert f"Usage: unstall {typed}" in done.stdout.replace("python -m unstall", "unstall")
    assert "--json" in done.stdout or list_inner_names(typed)


def test_a_wrong_command_names_the_nearest() -> None:
    done = call("atach", "1")
    assert done.returncode == 2
    assert "Did you mean 'attach'?" in done.stderr


# --- causes and explain ---


def test_causes_are_listed_for_a_person_and_as_json() -> None:
    listed = as_json("causes")["causes"]
    assert [row["cause"] for row in listed] == list(CAUSES.names())
    assert all(row["summary"] for row in listed)
    shown = call("causes").stdout
    assert all(name in shown for name in CAUSES.names())


def test_explain_prints_the_page_for_a_person_and_as_json() -> None:
    page = as_json("explain", "generator_blocked")
    assert page["cause"] == "generator_blocked"
    assert list(page["sections"]) == ["What it is", "How we know", "When this is wrong", "What to do"]
    shown = call("explain", "generator_blocked").stdout
    assert all(heading in shown for heading in page["sections"])


def test_explain_knows_remedies_too() -> None:
    page = as_json("explain", "lower_learning_rate")
    assert page["remedy"] == "lower_learning_rate" and page["safety"] == "auto" and "How to undo it" in page["sections"]
    assert "What it costs" in call("explain", "lower_learning_rate").stdout


@pytest.mark.parametrize(
    ("kind", "name", "heading"),
    [("check", "read_speed", "Why it matters"), ("problem", "box_duplicate", "What it does to a training")],
)
def test_explain_knows_checks_and_problems_of_data_too(kind: str, name: str, heading: str) -> None:
    page = as_json("explain", name)
    assert page[kind] == name and page["summary"] and page["limits"] and heading in page["sections"]
    assert heading in call("explain", name).stdout


@pytest.mark.parametrize(
    ("wrong", "nearest"),
    [
        ("lower_learning_rates", "'lower_learning_rate'? That is a remedy."),
        ("disk_rooms", "'disk_room'? That is a check of the preflight."),
        ("box_duplicat", "'box_duplicate'? That is a problem of data."),
    ],
)
def test_explain_of_a_wrong_name_names_the_nearest_of_all_kinds(wrong: str, nearest: str) -> None:
    done = call("explain", wrong)
    assert done.returncode == 2 and f"Did you mean {nearest}" in done.stderr


def test_explain_of_a_wrong_name_names_the_nearest() -> None:
    done = call("explain", "generator_blokked")
    assert done.returncode == 2
    assert done.stdout == ""
    assert "Did you mean 'generator_blocked'?" in done.stderr
    assert call("explain", "generator_blokked", "--json", "-").returncode == 2


# --- attach ---


def test_attach_to_a_process_that_is_not_there_says_so() -> None:
    done = call("attach", "99999999")
    assert done.returncode == 3
    assert done.stderr.startswith("unstall: There is no process 99999999.")


@pytest.mark.parametrize("wrong", ["train.py", "-5", "", "1.5"])
def test_attach_to_no_number_says_what_is_expected(wrong: str) -> None:
    done = call("attach", "--", wrong)
    assert done.returncode == 2
    assert "Expected the number of a running process" in done.stderr


def test_attach_looks_at_a_process_that_is_there() -> None:
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(100)"]) as sleeper:
        try:
            story = as_json("attach", str(sleeper.pid))
        finally:
            sleeper.kill()
    assert story["pid"] == sleeper.pid
    assert story["verdicts"] == []
    assert story["command"][0] == sys.executable


# --- runs, diagnose, confirm ---


def test_an_empty_home_has_no_runs_and_says_how_to_start_one(own_home: Path) -> None:
    assert as_json("runs") == {"runs": []}
    assert f"No runs in {own_home}. Start one: unstall run -- python train.py" in call("runs").stdout


@pytest.mark.parametrize("command", ["diagnose", "confirm"])
@pytest.mark.parametrize("name", ["last", "no-such-run", "../..", "/no/such/folder"])
def test_a_run_that_is_not_there_is_an_error_of_one_line(
    command: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "in" / "here").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "in" / "here")  # above it there is nothing, whatever lies around the checkout
    done = call(command, name)
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1 and "run" in done.stderr


def test_a_run_is_listed_and_diagnosed_again(a_run: str) -> None:
    (row,) = as_json("runs")["runs"]
    assert (row["state"], row["verdict"]) == ("failed", None)
    assert a_run in call("runs").stdout
    for name in (a_run, a_run[:15], "last"):
        story = as_json("diagnose", name, code=CANNOT_TELL)
        assert (story["run"], story["state"], story["ended"]["exit_code"]) == (a_run, "failed", 5)
    assert "exit code 5" in call("diagnose").stdout


def test_a_wrong_name_shows_the_runs_that_there_are(a_run: str) -> None:
    done = call("diagnose", "no-such-run")
    assert done.returncode == 2
    assert a_run in done.stderr


# --- run ---


def test_run_without_a_program_shows_how_it_is_called() -> None:
    for arguments in (["run"], ["run", "--"], ["run", "--quiet", "--"]):
        done = call(*arguments)
        assert done.returncode == 2
        assert "run [OPTIONS] -- COMMAND..." in done.stderr


def test_a_script_is_run_by_python_and_an_error_that_no_narrower_cause_explains_is_named(tmp_path: Path, own_home: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text("def load(name):\n    return {'a': 1}[name]\n\nprint(load('a'))\nload('b')\n")
    done = subprocess.run([*UNSTALL, "run", "train.py"], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 1 and done.stdout == "1\n"
    assert "KeyError: 'b'. It was raised at train.py:2 in load." in " ".join(done.stderr.split())
    listed = call("runs").stdout
    assert "KeyError: 'b'" in " ".join(listed.split())


def test_ctrl_c_is_told_from_something_that_was_refused(tmp_path: Path) -> None:
    """Before anything was begun: while the checks are asked, in a process of their own."""
    command = [*UNSTALL, "preflight", "--out", str(tmp_path / "run")]
    started = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 jobs in the background ignore it
    )
    while not psutil.Process(started.pid).children():
        time.sleep(0.02)
    started.send_signal(signal.SIGINT)
    _, said = started.communicate(timeout=240)
    assert started.returncode == 130 and said.strip().endswith("unstall: interrupted.")


@pytest.mark.parametrize("program", ["no-such-program", "/no/such/program", "/tmp"])
def test_run_of_a_program_that_is_not_there_says_so_and_leaves_nothing(program: str, own_home: Path) -> None:
    done = call("run", "--", program)
    assert done.returncode == 2
    assert f"Cannot start '{program}'" in done.stderr
    assert not any(own_home.iterdir())


@pytest.mark.parametrize("target", ["/no/such/folder/story.json", "/tmp", "/proc/version"])
def test_a_json_target_that_cannot_be_written_is_refused_before_the_program_starts(target: str, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    program = write(tmp_path, f"open({str(trace)!r}, 'w').close()")
    done = call("run", "--json", target, "--", sys.executable, str(program))
    assert done.returncode == 2
    assert done.stderr.startswith(f"unstall: Cannot write the JSON to '{target}':")
    assert not trace.exists()


def test_a_json_target_that_vanishes_meanwhile_does_not_cost_the_exit_code(tmp_path: Path) -> None:
    folder = tmp_path / "results"
    folder.mkdir()
    program = write(tmp_path, f"import os, sys\nos.rmdir({str(folder)!r})\nsys.exit(5)")
    done = call("run", "--quiet", "--json", str(folder / "story.json"), "--", sys.executable, str(program))
    assert done.returncode == 5
    assert "Cannot write the JSON" in done.stderr


def test_the_json_of_a_run_comes_after_the_programs_own_output(tmp_path: Path) -> None:
    program = write(tmp_path, PROGRAM)
    done = call("run", "--quiet", "--json", "-", "--", sys.executable, str(program))
    assert done.returncode == 5
    first, _, rest = done.stdout.partition("\n")
    assert first == "of the program"
    story = json.loads(rest)
    assert {"state", "verdicts", "unknown"} <= story.keys()
    assert (story["state"], story["verdicts"]) == ("failed", [])


def test_json_to_a_file_is_the_story_and_the_summary_is_still_shown(tmp_path: Path) -> None:
    program, target = write(tmp_path, PROGRAM), tmp_path / "story.json"
    done = call("run", "--json", str(target), "--", sys.executable, str(program))
    assert json.loads(target.read_text())["ended"]["exit_code"] == 5
    assert done.stdout == "of the program\n"
    assert "exit code 5" in done.stderr


@pytest.mark.parametrize("closed", ["1>&-", "2>&-", "1>&- 2>&-"])
def test_closed_streams_of_ours_do_not_cost_the_exit_code(closed: str, tmp_path: Path) -> None:
    program = write(tmp_path, "import sys; sys.exit(5)")
    command = f"{' '.join(UNSTALL)} run -- {sys.executable} {program} {closed}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 5
    assert done.stdout == ""
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("name", list_all_commands())
def test_a_command_takes_what_its_options_are_called(name: str) -> None:
    command = load(name)
    if isinstance(command, click.Group):
        return
    taken = inspect.signature(command.callback).parameters if command.callback is not None else {}
    is_open = any(each.kind is each.VAR_KEYWORD for each in taken.values())
    named = {each for each, parameter in taken.items() if parameter.kind is not parameter.VAR_KEYWORD}
    given = {parameter.name for parameter in command.params if parameter.expose_value}
    assert named <= given, f"no option of `unstall {name}` gives {named - given}"
    assert is_open or given <= named, f"`unstall {name}` does not take {given - named}"
