"""`unstall run` is not to be felt: output, input, signals and the exit code are the program's own."""

import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.programs import UNSTALL, run_bare, run_watched, write

PROGRAMS = {
    "prints and exits with a code": "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)",
    "raises": "def f():\n    raise ValueError('wrong')\nf()",
    "exits by os._exit": "import os; print('x', flush=True); os._exit(7)",
    "closes standard output": "import os, sys; print('before', flush=True); os.close(1); os._exit(0)",
    "reads standard input": "import sys; print(sys.stdin.read().upper())",
    "kills itself": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    "dies of a fault": "import ctypes; ctypes.string_at(0)",
    "prints its arguments and path": "import sys; print(sys.argv[1:], sys.path, sys.flags, __file__)",
    "lists its folder and signals": "import os, signal; print(sorted(os.listdir('.')), [signal.getsignal(s) for s in (2, 10, 15, 17)])",
    "shows a warning": "import warnings; warnings.warn('careful'); warnings.warn('old', DeprecationWarning, stacklevel=1)",
    "has threads that fail": "import threading; t = threading.Thread(target=lambda: 1 / 0, name='worker'); t.start(); t.join()",
    "forks": "import os\npid = os.fork()\nif pid == 0:\n    print('child', flush=True); os._exit(0)\nos.waitpid(pid, 0)\nprint('parent')",
    "waits for any child": "import os\npid = os.fork()\nif pid == 0: os._exit(5)\nprint(os.wait()[1])\ntry: os.wait()\nexcept ChildProcessError: print('none left')",
    "logs": "import logging; logging.warning('root'); logging.getLogger('tensorflow').warning('tf'); print(logging.getLogger().handlers)",
    "replaces excepthook": "import sys; sys.excepthook = lambda *a: print('mine', a[0].__name__); raise KeyError(1)",
    "uses its own handler": "import os, signal\nsignal.signal(signal.SIGUSR1, lambda *a: print('got it', flush=True))\nos.kill(os.getpid(), signal.SIGUSR1)",
    "uses atexit": "import atexit; atexit.register(lambda: print('bye')); print('hello')",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_watched_program_is_seen_as_it_is_alone(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    program = write(folder, PROGRAMS[name])
    assert run_watched(program, "a", "--quiet", "-b", stdin=b"hello") == run_bare(program, "a", "--quiet", "-b", stdin=b"hello")


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing_works_as_alone(method: str, tmp_path: Path) -> None:
    program = write(
        tmp_path,
        f"""
import multiprocessing as mp

def square(x):
    return x * x

if __name__ == "__main__":
    with mp.get_context({method!r}).Pool(2) as pool:
        print(pool.map(square, range(10)))
""",
    )
    assert run_watched(program) == run_bare(program)


def test_a_signal_sent_to_unstall_reaches_the_program(tmp_path: Path) -> None:
    program = write(
        tmp_path,
        """
import signal, sys, time
def stop(number, frame):
    print("asked to stop", flush=True)
    sys.exit(42)
signal.signal(signal.SIGTERM, stop)
print("ready", flush=True)
time.sleep(60)
""",
    )
    watched = subprocess.Popen([*UNSTALL, "run", "--quiet", "--", sys.executable, str(program)], stdout=subprocess.PIPE)
    assert watched.stdout is not None
    assert watched.stdout.readline() == b"ready\n"
    watched.send_signal(signal.SIGTERM)
    assert watched.communicate(timeout=240)[0] == b"asked to stop\n"
    assert watched.returncode == 42


def test_ctrl_c_on_a_terminal_reaches_the_program_once_and_colours_stay(tmp_path: Path) -> None:
    program = write(
        tmp_path,
        """
import os, signal, sys, time
count = 0
def interrupted(number, frame):
    global count
    count += 1
signal.signal(signal.SIGINT, interrupted)
print("terminal", sys.stdin.isatty(), sys.stdout.isatty(), sys.stderr.isatty(), os.get_terminal_size(), flush=True)
time.sleep(3)  # goes on after the signal
print("interrupts", count, flush=True)
sys.exit(9)
""",
    )
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(sys.executable, [*UNSTALL, "run", "--quiet", "--", sys.executable, str(program)])
    seen = b""
    while b"columns" not in seen:
        seen += os.read(terminal, 1000)
    time.sleep(0.5)
    os.write(terminal, b"\x03")
    while not re.search(rb"interrupts \d+\s", seen):  # a read may end anywhere
        seen += os.read(terminal, 1000)
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    assert b"terminal True True True" in seen
    assert b"interrupts 1" in seen
    assert os.waitstatus_to_exitcode(status) == 9


def test_switched_off_nothing_is_added(tmp_path: Path) -> None:
    program = write(
        tmp_path, "import os, sys; print('unstall' in sys.modules, os.environ.get('UNSTALL_RUN'), os.environ.get('PYTHONPATH'))"
    )
    seen = run_watched(program, env={"UNSTALL_DISABLE": "1"})
    assert seen.out.split()[:2] == [b"False", b"None"]


def test_another_sitecustomize_still_runs(tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text("import builtins; builtins.from_the_other = 'yes'")
    program = write(tmp_path, "print(from_the_other)")
    assert run_watched(program, env={"PYTHONPATH": str(tmp_path / "site")}).out == b"yes\n"


def test_a_program_whose_parent_is_killed_goes_on(tmp_path: Path) -> None:
    program = write(tmp_path, "import time; print('begun', flush=True); time.sleep(1); print('end', flush=True)")
    watched = subprocess.Popen([*UNSTALL, "run", "--quiet", "--", sys.executable, str(program)], stdout=subprocess.PIPE)
    assert watched.stdout is not None
    assert watched.stdout.readline() == b"begun\n"
    watched.kill()
    watched.wait()
    assert watched.stdout.read() == b"end\n"  # the pipe stays open until the program ends


def test_the_story_follows_the_programs_own_output(tmp_path: Path) -> None:
    import json

    program = write(tmp_path, "print('own output')")
    seen = run_watched(program, options=("--quiet", "--json", "-"))
    own, _, story = seen.out.partition(b"\n")
    assert own == b"own output"
    assert json.loads(story)["state"] == "done"
    assert json.loads(story)["verdicts"] == []
