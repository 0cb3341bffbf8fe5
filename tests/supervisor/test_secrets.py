"""What a program tells, its sources and its children may hold secrets: none of them is in anything that Unstall writes or prints."""

import gzip
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.programs import UNSTALL, write

# Each is in a place of its own, and is named by it.
PROGRAM = """
import logging, os, pathlib, subprocess, sys, time, warnings
import torch
warnings.warn("cannot reach https://somebody:inWarningUrl9@hub.example/x?token=inWarningQuery9")
logging.getLogger("tensorflow").warning("Authorization: Bearer inLogLine99")
logging.getLogger("absl").warning("logged in with %s", os.environ["MY_SERVICE_TOKEN"])
os.environ["LATE_API_KEY"] = "set-by-the-program-9"
child = subprocess.Popen([sys.executable, "-c", "input()", "--password", "inChild9", "--url=https://a:inChildUrl9@h/x"], stdin=-1)
def wait():
    began = time.monotonic()
    while time.monotonic() - began < 100 and not was_looked_at():
        time.sleep(2); password = "inSourceLine9"
def was_looked_at():
    written = b"".join(path.read_bytes() for path in pathlib.Path(os.environ["UNSTALL_RUN"]).glob("events-*"))
    return b"ChildSeen" in written and b"SourceRead" in written
wait()
child.communicate(b"")
os.environ["LATEST_API_KEY"] = "set-at-the-last-moment-9"
def login(message, password, settings):
    raise RuntimeError(f"{message} {password} " + str(settings["password"]))
first, second = pathlib.Path(sys.argv[3]).read_text().split()
start = ["--api-key", "inList9"]
try:
    raise ValueError("access_key: inChain9 " + os.environ["LATEST_API_KEY"])
except ValueError:
    login("login failed: api_key='inError9', " + os.environ["LATE_API_KEY"] + " " + sys.argv[2] + " AKIAIOSFODNN7EXAMPLE", first, {"password": second})
"""
HELD = (
    "inWarningUrl9", "inWarningQuery9", "inLogLine99", "svc-t0ken-123456", "set-by-the-program-9", "set-at-the-last-moment-9", "inChild9", "inChildUrl9",
    "inSourceLine9", "inChain9", "inError9", "inOption99", "AKIAIOSFODNN7EXAMPLE", "inArgument9", "inDict99", "inList9",
)  # fmt: skip


def everything_in(folder: Path) -> str:
    contents = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    return b"\n".join(gzip.decompress(each) if each[:2] == b"\x1f\x8b" else each for each in contents).decode(errors="replace")


def modes_of(folder: Path) -> dict[str, str]:
    """Of all that others than the owner may read."""
    every = {str(path.relative_to(folder)): path.stat().st_mode for path in (folder, *folder.rglob("*"))}
    return {name: stat.filemode(mode) for name, mode in every.items() if mode & 0o077}


@pytest.mark.torch
def test_no_secret_of_a_program_is_written_or_printed(tmp_path: Path) -> None:
    """With a umask of 0, so that whatever is readable by others was meant to be."""
    home, target = tmp_path / "runs", tmp_path / "story.json"
    read = "inArgument9 inDict99"  # by the program, which alone knows that it is secret
    (tmp_path / "names").write_text(read)
    program = write(tmp_path, PROGRAM)
    environment = {**os.environ, "UNSTALL_HOME": str(home), "MY_SERVICE_TOKEN": "svc-t0ken-123456"}
    command = [*UNSTALL, "run", "--json", str(target), "--", sys.executable, str(program), "--db-password", "inOption99", "names"]
    done = subprocess.run(
        command, capture_output=True, text=True, env=environment, cwd=tmp_path, umask=0, timeout=240, check=False
    )
    assert done.returncode == 1
    for secret in HELD:
        assert secret in PROGRAM + str(environment) + str(command) + read  # the program has it
    result, printed = everything_in(home), done.stderr.rpartition("─ unstall ─")[2]
    assert "cannot reach https://somebody:•••@hub.example" in result.replace("\\u2022", "•")
    assert "login failed: api_key='•••'" in printed
    for kind in ("WarningShown", "ErrorRaised", "ChildSeen", "SourceRead"):
        assert f'"event":"{kind}"' in result  # the places were really met
    report = subprocess.run(
        [*UNSTALL, "report", "last", "--out", "page.html"], env=environment, cwd=tmp_path, umask=0, check=True
    )
    assert report.returncode == 0
    written = {
        "the run folder": result,
        "the terminal": printed,
        "--json": target.read_text(),
        "--out": (tmp_path / "page.html").read_text(),
    }
    leaks = [(place, secret) for place, text in written.items() for secret in HELD if secret in text]
    assert leaks == []
    (run,) = home.iterdir()
    assert modes_of(run) == {}
    assert stat.filemode(target.stat().st_mode) == "-rw-rw-rw-"  # the user has named it: it follows the umask


def test_a_folder_that_the_user_has_made_keeps_its_mode_and_new_runs_in_it_are_private(tmp_path: Path) -> None:
    home = tmp_path / "shared-runs"
    home.mkdir()
    home.chmod(0o775)
    program = write(tmp_path, "import unstall\nwith unstall.watch() as run:\n    for _ in run.steps(range(3)):\n        pass\n")
    environment = {**os.environ, "UNSTALL_HOME": str(home)}
    for command in ([sys.executable, str(program)], [*UNSTALL, "run", "--", sys.executable, str(program)]):
        subprocess.run(command, env=environment, cwd=tmp_path, umask=0, timeout=240, check=True, capture_output=True)
    folders = sorted(home.iterdir())
    assert len(folders) == 2
    assert [modes_of(folder) for folder in folders] == [{}, {}]
    assert stat.S_IMODE(home.stat().st_mode) == 0o775


def test_the_folder_of_all_runs_is_private_where_unstall_makes_it(tmp_path: Path) -> None:
    program = write(tmp_path, "print('trained')")
    explicit, state = tmp_path / "runs", tmp_path / "state"
    named = {**os.environ, "UNSTALL_HOME": str(explicit)}
    usual = {**{name: value for name, value in os.environ.items() if name != "UNSTALL_HOME"}, "XDG_STATE_HOME": str(state)}
    for environment in (named, usual):
        command = [*UNSTALL, "run", "--quiet", "--", sys.executable, str(program)]
        subprocess.run(command, env=environment, cwd=tmp_path, umask=0o022, timeout=240, check=True, capture_output=True)
    for folder in (explicit, state / "unstall", state / "unstall" / "runs"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700, folder
        assert any(folder.iterdir())
    assert stat.S_IMODE(state.stat().st_mode) == 0o755


def test_the_program_has_the_umask_that_it_would_have_alone(tmp_path: Path) -> None:
    program = write(tmp_path, "import os\nopen('made', 'w').close()\nprint(oct(os.stat('made').st_mode & 0o777))\n")
    environment = {**os.environ, "UNSTALL_HOME": str(tmp_path / "runs")}
    command = [*UNSTALL, "run", "--quiet", "--", sys.executable, str(program)]
    done = subprocess.run(
        command, env=environment, cwd=tmp_path, umask=0o002, capture_output=True, text=True, timeout=240, check=True
    )
    assert done.stdout == "0o664\n"
