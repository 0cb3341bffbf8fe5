"""`Guard()` and `watch()` begin wherever a program may stand, or say that they cannot: the program itself goes on as without them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.programs import UNSTALL, ProgramResult, as_anybody, run_bare, write
from unstall.journal.events import RunStarted
from unstall.journal.reader import read_folder

GUARDED = """
import os, sys
import unstall
Guard, watch = unstall.Guard, unstall.watch
{before}
guard = Guard({quiet})
with watch({quiet}) as run:
    for batch in run.steps(range(3)):
        pass
guard.on_epoch_end(0)
print("goes on", file=sys.stderr)
sys.exit(5)
"""
DELETED = "import tempfile; folder = tempfile.mkdtemp(); os.chdir(folder); os.rmdir(folder)"
NOT_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root may do that")


def seen(command: list[str], **env: str) -> ProgramResult:
    without = {name: value for name, value in os.environ.items() if name not in ("UNSTALL_HOME", "HOME", "XDG_STATE_HOME")}
    done = subprocess.run(command, env={**without, **env}, capture_output=True, check=False, timeout=240, cwd="/")
    return ProgramResult(done.returncode, done.stdout, done.stderr)


def test_a_working_folder_that_was_deleted(tmp_path: Path, own_home: Path) -> None:
    program = write(tmp_path, GUARDED.format(before=DELETED, quiet=""))
    alone = run_bare(program, env={"UNSTALL_DISABLE": "1"})
    assert alone == ProgramResult(5, b"", b"goes on\n") and run_bare(program) == alone
    (run,) = own_home.iterdir()
    (started,) = read_folder(run).of(RunStarted)
    assert (started.mode, started.folder) == ("guard", "")
    assert list(run.glob("events-watcher-*.jsonl"))  # and its watcher, which Python cannot start in such a folder, was started


def test_an_error_in_a_working_folder_that_was_deleted(tmp_path: Path) -> None:
    program = write(tmp_path, GUARDED.format(before=DELETED, quiet="").replace("sys.exit(5)", "raise KeyError(5)"))
    watched, alone = run_bare(program), run_bare(program, env={"UNSTALL_DISABLE": "1"})
    assert (watched.code, watched.out) == (alone.code, alone.out)
    own, _, said = watched.err.partition("\n─".encode())
    assert own == alone.err  # then the verdict follows
    assert "program_error" in said.decode()


@NOT_ROOT
def test_a_user_without_a_home(tmp_path: Path) -> None:
    """It has none by HOME, nor by the list of users: the run lies in a temporary folder."""
    if shutil.which("setpriv") is None:
        pytest.skip("there is no setpriv, by which one is another user")
    another = ["setpriv", "--reuid", "12345", "--clear-groups"]
    if seen([*another, sys.executable, "-c", "import unstall"]).code:
        pytest.skip("another user cannot read this checkout")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as temporary:  # that of pytest is for its own user alone
        Path(temporary).chmod(0o777)
        source = GUARDED.format(before="", quiet="").replace("sys.exit(5)", "print(guard.run.path)\nsys.exit(5)")
        shown = seen([*another, sys.executable, "-c", source], TMPDIR=temporary)
        assert (shown.code, shown.err) == (5, b"goes on\n")
        assert Path(shown.out.decode().strip()).parent == Path(temporary)
    assert b"Set UNSTALL_HOME to a folder" in seen([*another, *UNSTALL, "runs"]).err


def test_a_home_that_may_only_be_read(tmp_path: Path) -> None:
    program = write(tmp_path, GUARDED.format(before="", quiet="quiet=True"))
    home = tmp_path / "home"
    home.mkdir(0o555)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    command = as_anybody(sys.executable, str(program))
    assert seen(command, HOME=str(home), TMPDIR=str(temporary)) == ProgramResult(5, b"", b"goes on\n")
    assert not list(home.iterdir()) and list(temporary.iterdir())


@NOT_ROOT
@pytest.mark.parametrize("quiet", ["", "quiet=True"])
def test_nowhere_to_write_to(quiet: str, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir(0o555)
    away = f"os.chroot({str(empty)!r}); os.chdir('/'); os.setuid(65534)"
    program = write(tmp_path, GUARDED.format(before=away, quiet=quiet))
    shown = run_bare(program)
    rows = [line for line in shown.err.splitlines() if line != b"goes on"]
    assert (shown.code, shown.out, len(rows)) == (5, b"", 0 if quiet else 2)
    assert all(line.startswith(b"unstall: this program is not watched: FileNotFoundError: ") for line in rows)
