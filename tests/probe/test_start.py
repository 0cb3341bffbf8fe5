"""Where the probe cannot begin, the program runs as it would alone, and the journal has why. Files of the program's that bear a name
of the standard library's are the program's alone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.programs import run_bare, run_watched, write
from unstall.journal.events import ErrorRaised, FitEnded, FrameworkLoaded, ProbeFailed, SignalRaised
from unstall.journal.reader import read_folder

INSIDE = Path(__file__).parents[2] / "src" / "unstall" / "probe"
START = INSIDE / "start"
SWITCHES_ON = "import os\nos.kill(os.getpid(), 0)\n"  # a signal that is sent is a reason for the probe to begin
# Of these Python itself, before any program, has loaded none.
NAMES = [
    "json",
    "resource",
    "socket",
    "random",
    "signal",
    "typing",
    "dataclasses",
    "logging",
    "threading",
    "pathlib",
    "queue",
    "copy",
]
IMPORTS = f"""
import {", ".join(NAMES)}
for module in ({", ".join(NAMES)}):
    print(module.__name__, module.MINE, sorted(name for name in dir(module) if not name.startswith("_")))
"""


def failures(folder: Path) -> list[tuple[str, str, bool]]:
    return [(event.probe, event.error, event.disabled) for event in read_folder(folder).of(ProbeFailed)]


# --- files of the program's that bear a name of the standard library's ---


@pytest.fixture
def own_files(tmp_path: Path) -> Path:
    """A folder with a file of the program's for each of the names, which says when it is run."""
    folder = tmp_path / "program"
    folder.mkdir()
    for name in NAMES:
        write(folder, f"MINE = 'of the program'\nprint('{name} is run')\n", f"{name}.py")
    return folder


@pytest.mark.parametrize(
    "source",
    [
        f"{SWITCHES_ON}{IMPORTS}",
        f"{IMPORTS}{SWITCHES_ON}{IMPORTS}",
        f"{IMPORTS}import os, _signal\n_signal.raise_signal(0)\nprint(json.MINE)",
        f"{IMPORTS}raise ValueError('of the program')",
        "raise ValueError('of the program, which has imported nothing')",
    ],
    ids=["before its imports", "after its imports", "by another way", "at an error", "at an early error"],
)
def test_the_program_gets_its_own_modules_and_the_probe_pythons(source: str, own_files: Path, own_home: Path) -> None:
    program = write(own_files, source)
    assert run_watched(program) == run_bare(program)
    (run,) = own_home.iterdir()
    assert not failures(run)


def test_what_is_recorded_beside_such_files_is_recorded(own_files: Path, own_home: Path) -> None:
    program = write(own_files, "import os, signal\nos.kill(os.getpid(), 28)\nprint(signal.MINE)\n")
    assert run_watched(program) == run_bare(program)
    (run,) = own_home.iterdir()
    assert [event.signal for event in read_folder(run).of(SignalRaised)] == [28]


def test_one_that_watches_itself_beside_such_files_is_watched(
    own_files: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its working folder is that of the files, too, where the watcher is started."""
    monkeypatch.chdir(own_files)
    loop = "import unstall\nwith unstall.watch() as run:\n    for batch in run.steps(range(3)):\n        pass\n"
    program = write(own_files, f"{loop}{IMPORTS}")
    assert run_bare(program) == run_bare(program, env={"UNSTALL_DISABLE": "1"})
    (run,) = own_home.iterdir()
    journal = read_folder(run)
    assert not failures(run) and journal.last(FitEnded) is not None
    assert list(run.glob("events-watcher-*.jsonl"))


def test_nothing_is_loaded_before_the_program(tmp_path: Path) -> None:
    program = write(
        tmp_path, "import sys\nprint(*sorted(name for name in sys.modules if not name.startswith('unstall')), sep='\\n')\n"
    )
    more = set(run_watched(program).out.split()) - set(run_bare(program).out.split())
    assert more <= {b"sitecustomize", b"__future__"}


def test_without_such_files_there_is_one_module_of_each_name(tmp_path: Path, own_home: Path) -> None:
    """The loggers that the probe listens to are those of the program."""
    program = write(
        tmp_path, f"{SWITCHES_ON}import logging\nprint([type(each).__name__ for each in logging.getLogger('keras').filters])\n"
    )
    assert run_watched(program).out == b"['_Listener']\n"


# --- the probe cannot begin ---


OUT_OF_DESCRIPTORS = """
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
held = []
try:
    while True:
        held.append(open("/dev/null"))
except OSError as error:
    print(error)
"""
FURTHER = """
import os, sys
try:
    os.kill(os.getpid(), 0)
finally:
    print("goes on", flush=True)
{end}
"""


@pytest.mark.parametrize("end", ["sys.exit(5)", "raise KeyError('of the program')", "import json; json.loads('{')"])
def test_a_program_that_has_no_descriptors_left(end: str, tmp_path: Path) -> None:
    program = write(tmp_path, OUT_OF_DESCRIPTORS + FURTHER.format(end=end))
    alone = run_bare(program)
    assert b"goes on" in alone.out and run_watched(program) == alone


@pytest.mark.parametrize("is_on", [False, True], ids=["before the probe", "after the probe"])
@pytest.mark.parametrize(
    "away", ["os.chroot({empty!r}); os.chdir('/')", "os.setgid(65534); os.setuid(65534)"], ids=["chroot", "setuid"]
)
@pytest.mark.skipif(os.geteuid() != 0, reason="only root may do that")
def test_a_program_that_leaves_our_files_behind(away: str, is_on: bool, tmp_path: Path) -> None:
    """By chroot nothing of Unstall, of Python or of the run is there any more; by setuid the run may not be written."""
    empty = tmp_path / "empty"
    empty.mkdir()
    prefix = SWITCHES_ON if is_on else ""
    program = write(tmp_path, f"import os, sys\n{prefix}{away.format(empty=str(empty))}\n{FURTHER.format(end='sys.exit(5)')}")
    alone = run_bare(program)
    assert (alone.code, alone.out) == (5, b"goes on\n") and run_watched(program) == alone


def test_a_program_that_may_start_no_thread(tmp_path: Path, own_home: Path) -> None:
    """What waits to be written by one is lost, and the program does not meet it."""
    program = write(
        tmp_path,
        """
import os, resource, sys, threading
from pathlib import Path
from unstall.journal.events import WarningShown
from unstall.journal.writer import JournalWriter
resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
if os.geteuid() == 0:
    os.setuid(65534)  # of root no limit is asked
try:
    threading.Thread(target=print).start()
except RuntimeError as error:
    print(error)
writer = JournalWriter(Path(sys.argv[1]))
writer._start_thread()
for number in range(3):
    writer.write(WarningShown())
print("goes on")
""",
    )
    seen = run_bare(program, str(tmp_path / "events-a.jsonl"))
    assert (seen.code, seen.out, seen.err) == (0, b"can't start new thread\ngoes on\n", b"")


def half_installed(folder: Path) -> dict[str, str]:
    """An Unstall of which only the first file is there."""
    start = folder / "unstall" / "probe" / "start"
    start.mkdir(parents=True)
    shutil.copy(START / "sitecustomize.py", start)
    for package in (start.parent, start.parent.parent):
        (package / "__init__.py").touch()
    return {**os.environ, "PYTHONPATH": str(start)}


def test_an_error_before_anything_is_in_place(tmp_path: Path) -> None:
    env = {**half_installed(tmp_path), "UNSTALL_RUN": str(tmp_path)}
    command = [sys.executable, "-c", "print('runs')"]
    said = subprocess.run(command, env=env, capture_output=True, text=True, check=True, timeout=240)
    assert (said.stdout, said.stderr) == ("runs\n", "")
    ((probe, error, disabled),) = failures(tmp_path)
    assert (probe, disabled) == ("start", True) and error.startswith("ImportError: cannot import name 'trigger'")


def test_without_a_folder_to_write_to_nothing_is_said(tmp_path: Path) -> None:
    env = {**half_installed(tmp_path), "UNSTALL_RUN": str(tmp_path / "not there")}
    command = [sys.executable, "-c", "print('runs')"]
    said = subprocess.run(command, env=env, capture_output=True, text=True, check=True, timeout=240)
    assert (said.stdout, said.stderr) == ("runs\n", "")


def damaged(folder: Path) -> dict[str, str]:
    """An Unstall whose probe cannot be loaded."""
    copied = shutil.copytree(INSIDE.parent, folder / "installed" / "unstall", ignore=shutil.ignore_patterns("__pycache__"))
    (copied / "probe" / "startup.py").write_text("raise ImportError('startup.py is damaged')\n")
    return {"PYTHONPATH": str(copied.parent)}


def test_the_error_that_ends_a_program_is_seen_without_the_probe_and_the_failure_is_told(tmp_path: Path, own_home: Path) -> None:
    program = write(tmp_path, "def load():\n    raise ValueError('no image')\nload()\n")
    watched = run_watched(program, env=damaged(tmp_path), options=())
    assert watched.err.startswith(run_bare(program).err) and watched.code == 1
    (run,) = own_home.iterdir()
    assert failures(run) == [("start", "ImportError: startup.py is damaged", True)]
    (raised,) = read_folder(run).of(ErrorRaised)
    assert (raised.kind, raised.message, raised.fatal) == ("ValueError", "no image", True)
    words = " ".join(watched.err.decode().split())
    assert f"{program.name}:2 ValueError: no image. " in words
    assert "the probe failed to start: ImportError: startup.py is damaged" in words


def test_a_forked_child_writes_down_no_error_of_its_own(tmp_path: Path, own_home: Path) -> None:
    program = write(
        tmp_path, "import os\nos.kill(os.getpid(), 0)\nif os.fork() == 0:\n    raise ValueError('a child')\nos.wait()\n"
    )
    assert run_watched(program, env=damaged(tmp_path)).code == run_bare(program).code == 0
    (run,) = own_home.iterdir()
    assert failures(run) and not read_folder(run).of(ErrorRaised)


def test_no_secret_is_written_without_the_probe_either(tmp_path: Path, own_home: Path) -> None:
    program = write(tmp_path, "raise ValueError('cannot log in with password=hunter2-of-mine')\n")
    run_watched(program, env=damaged(tmp_path))
    (run,) = own_home.iterdir()
    assert read_folder(run).of(ErrorRaised)
    assert not [file for file in run.rglob("*") if file.is_file() and b"hunter2-of-mine" in file.read_bytes()]


@pytest.mark.jax
def test_the_framework_whose_import_switches_the_probe_on_is_told(tmp_path: Path, own_home: Path) -> None:
    program = write(tmp_path, "import jax\nprint(jax.__spec__.loader is jax.__loader__, type(jax.__loader__).__name__)\n")
    assert run_watched(program) == run_bare(program)
    (run,) = own_home.iterdir()
    assert [event.name for event in read_folder(run).of(FrameworkLoaded)] == ["jax"]
