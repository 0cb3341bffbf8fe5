"""What a program prints goes through a relay without a change: byte for byte, on pipes and terminals, whoever ends first."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

from tests.programs import UNSTALL, run_bare, run_watched, write

LIMIT_S = 240.0
BINARY = """
import os, random, sys
out, err = random.Random(1), random.Random(2)
for turn in range(200):
    os.write(1, out.randbytes(out.randrange(1, 20000)))
    os.write(2, err.randbytes(err.randrange(1, 5000)))
os.write(1, b"no line end")
"""


def on_terminal(command: list[str], keys: tuple[tuple[bytes, bytes], ...] = (), size: bytes = b"") -> tuple[bytes, int]:
    """All that stands on the terminal, and how the command ended. `keys`: what is typed once a text has come."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvp(command[0], command)
    if size:
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, size)
    shown, waiting = b"", list(keys)
    until = time.monotonic() + LIMIT_S
    while time.monotonic() < until:
        if not select.select([terminal], [], [], 1.0)[0]:
            continue
        try:
            data = os.read(terminal, 65536)
        except OSError:
            break
        shown += data
        if waiting and waiting[0][0] in shown:
            os.write(terminal, waiting.pop(0)[1])
    os.close(terminal)
    return shown, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def watched(*command: str) -> list[str]:
    return [*UNSTALL, "run", "--quiet", "--", *command]


def python(program: Path) -> list[str]:
    return [sys.executable, str(program)]


def relays(home: Path) -> list[int]:
    """Those of runs that are kept there: other tests have theirs."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                command, variables = (entry / "cmdline").read_bytes(), (entry / "environ").read_bytes()
            except OSError:
                continue
            if b"output/relay.py" in command and f"UNSTALL_HOME={home}\0".encode() in variables:
                found.append(int(entry.name))
    return found


def test_bytes_of_two_pipes(tmp_path: Path) -> None:
    program = write(tmp_path, BINARY)
    assert run_watched(program) == run_bare(program)


def test_both_streams_in_one_pipe_keep_their_order(tmp_path: Path) -> None:
    program = write(tmp_path, "import os\nfor n in range(20000): os.write(1 + n % 2, b'%d\\n' % n)")
    done = subprocess.run(
        watched(*python(program)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, timeout=LIMIT_S
    )
    assert done.stdout == b"".join(b"%d\n" % number for number in range(20000))


def test_bytes_on_a_terminal(tmp_path: Path) -> None:
    program = write(tmp_path, BINARY)
    assert on_terminal(watched(*python(program))) == on_terminal(python(program))


def test_a_terminal_is_one_for_the_program_and_of_the_same_size(tmp_path: Path) -> None:
    program = write(
        tmp_path,
        """
import os, signal, sys, time
print([os.isatty(n) for n in range(3)], flush=True)
deadline = time.monotonic() + 100
resized = []
signal.signal(signal.SIGWINCH, lambda *a: resized.append(os.get_terminal_size(1)))
print("ready", flush=True)
while os.get_terminal_size(1) != (123, 45) and time.monotonic() < deadline: time.sleep(0.05)
time.sleep(0.3)
print(os.get_terminal_size(1), os.get_terminal_size(2), resized[-1], open("/dev/tty").isatty())
""",
    )
    pid, terminal = pty.fork()
    if pid == 0:
        command = watched(*python(program))
        os.execvp(command[0], command)
    shown = b""
    while True:
        try:
            shown += os.read(terminal, 65536)
        except OSError:
            break
        if shown.endswith(b"ready\r\n"):
            fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 45, 123, 0, 0))
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, shown
    size = b"os.terminal_size(columns=123, lines=45)"
    assert shown.splitlines() == [b"[True, True, True]", b"ready", b" ".join([size, size, size, b"True"])]


@pytest.mark.parametrize("handler", ["", "signal.signal(signal.SIGINT, lambda *a: (print('heard', flush=True), sys.exit(5)))"])
def test_ctrl_c_at_the_terminal(handler: str, tmp_path: Path) -> None:
    says = "threading.Timer(0.5, print, ('ready',), {'flush': True}).start()"  # while the main thread sleeps
    program = write(tmp_path, f"import signal, sys, threading, time\n{handler}\n{says}\ntime.sleep(200)")
    keys = ((b"ready\r\n", b"\x03"),)  # the terminal discards at Ctrl-C what it has not shown yet
    bare, seen = (on_terminal(command, keys) for command in (python(program), watched(*python(program))))
    assert seen == bare


def test_ctrl_z_and_fg(tmp_path: Path) -> None:
    program = write(tmp_path, "import time\nprint('rea' + 'dy', flush=True)\ntime.sleep(2)\nprint('go' + 'ne on', flush=True)")
    line = " ".join(watched(*python(program)))
    keys = (
        (b"$ ", f"{line}\n".encode()), (b"ready\r\n", b"\x1a"), (b"Stopped", b"fg\n"), (b"gone on", b"exit 7\n"),
    )  # fmt: skip
    shell = ["env", "PS1=$ ", "bash", "--norc", "--noprofile", "-i"]
    shown, code = on_terminal(shell, keys)
    assert code == 7, shown
    assert shown.count(b"ready") == shown.count(b"gone on") == 1


def test_the_program_gets_sigpipe_when_nobody_reads_any_more() -> None:
    line = f"{' '.join(watched('yes'))} | head -1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, check=False, timeout=LIMIT_S)
    assert done.stdout == b"y\n141\n", done


def test_a_reader_that_leaves_is_noticed_without_a_word(tmp_path: Path) -> None:
    """A program may watch its output for that."""
    program = write(
        tmp_path, "import select\npoll = select.poll()\npoll.register(1, 0)\nprint(bool(poll.poll(200000)), file=open(0, 'w'))"
    )
    read, write_end = os.pipe()
    result, report = os.pipe()
    started = subprocess.Popen(watched(*python(program)), stdin=report, stdout=write_end)
    os.close(write_end)
    os.close(report)
    os.close(read)
    assert os.read(result, 10) == b"True\n"
    os.close(result)
    started.wait(LIMIT_S)


def test_a_slow_reader_holds_the_program_up() -> None:
    code = "import os, sys\nfor n in range(64):\n    os.write(1, bytes(65536)); os.write(2, b'.')"
    started = subprocess.Popen(watched(sys.executable, "-c", code), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert started.stdout is not None
    assert started.stderr is not None
    seen = 0
    while select.select([started.stderr], [], [], 3.0)[0]:
        seen += len(os.read(started.stderr.fileno(), 100))
    assert seen < 10  # of 64: what pipes and the relay hold
    assert len(started.stdout.read()) == 64 * 65536
    assert started.wait(LIMIT_S) == 0


@pytest.mark.parametrize("kind", ["pipe", "terminal"])
def test_the_program_prints_on_when_unstall_is_killed(kind: str, tmp_path: Path) -> None:
    program = write(
        tmp_path,
        f"""
import os, signal, time
print("before", flush=True)
os.kill(os.getppid(), signal.SIGKILL)
while os.getppid() == {os.getpid()}: pass
time.sleep(1)
for n in range(1000): print("after", n, flush=True)
open({str(tmp_path / "done")!r}, "w").close()
""",
    )
    if kind == "pipe":
        done = subprocess.run(watched(*python(program)), stdout=subprocess.PIPE, check=False, timeout=LIMIT_S)
        shown, code = done.stdout, done.returncode
        assert code == -signal.SIGKILL
    else:  # below a shell, or the terminal would hang up when its first process ends
        shown, _ = on_terminal(
            ["sh", "-c", f"{' '.join(watched(*python(program)))}; while ! test -e {tmp_path}/done; do sleep 0.2; done"]
        )
        shown = b"".join(line + b"\n" for line in shown.splitlines() if line.startswith((b"before", b"after")))
    assert shown == b"before\n" + b"".join(b"after %d\n" % number for number in range(1000))


def test_a_child_that_outlives_the_program_still_prints() -> None:
    command = watched("sh", "-c", "(sleep 3; echo late) & echo early")
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False, timeout=LIMIT_S)
    assert (done.stdout, done.returncode) == (b"early\nlate\n", 0)


def test_all_that_was_printed_is_out_before_the_summary(tmp_path: Path) -> None:
    program = write(tmp_path, "import os, sys\nfor n in range(100): os.write(1 + n % 2, b'x' * 5000)\nsys.exit(3)")
    command = [*UNSTALL, "run", "--", *python(program)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, timeout=LIMIT_S)
    assert done.returncode == 3
    assert done.stdout.startswith(b"x" * 500_000 + b"\n")
    assert b"exit code 3" in done.stdout


def test_a_closed_stream_stays_closed(tmp_path: Path) -> None:
    program = write(tmp_path, "import os, sys\ntry: os.fstat(1)\nexcept OSError as error: print(error, file=sys.stderr)")
    line = " ".join(watched(*python(program)))
    done = subprocess.run(["sh", "-c", f"{line} >&-"], capture_output=True, check=False, timeout=LIMIT_S)
    assert done.stderr == b"[Errno 9] Bad file descriptor\n"


@pytest.mark.parametrize("variable", ["UNSTALL_READ_OUTPUT=0", "UNSTALL_DISABLE=1"])
def test_without_reading_the_stream_is_that_of_the_caller(variable: str) -> None:
    code = "import os; print(os.fstat(1).st_ino)"
    started = subprocess.Popen(["env", variable, *watched(sys.executable, "-c", code)], stdout=subprocess.PIPE)
    assert started.stdout is not None
    inode = os.fstat(started.stdout.fileno()).st_ino
    assert int(started.communicate(timeout=LIMIT_S)[0]) == inode


def test_a_file_is_that_of_the_caller(tmp_path: Path) -> None:
    code = "import os; print(os.fstat(1).st_ino, os.fstat(2).st_ino)"
    with (tmp_path / "log").open("ab") as log:
        log.write(b"before\n")
        log.flush()
        subprocess.run(watched(sys.executable, "-c", code), stdout=log, stderr=log, check=True, timeout=LIMIT_S)
        inode = os.fstat(log.fileno()).st_ino
    assert (tmp_path / "log").read_bytes() == b"before\n%d %d\n" % (inode, inode)


def test_nothing_is_left_behind(tmp_path: Path, own_home: Path) -> None:
    look = f"from pathlib import Path\nfrom tests.supervisor.output.test_relay import relays\nprint(len(relays(Path({str(own_home)!r}))))"
    seen = run_watched(write(tmp_path, look), env={"PYTHONPATH": str(Path(__file__).parents[3])})
    assert int(seen.out) > 0, "none was there while the program ran"
    until = time.monotonic() + 60
    while relays(own_home) and time.monotonic() < until:
        time.sleep(0.1)
    assert not relays(own_home)


@pytest.mark.parametrize("left", range(9))
def test_without_free_descriptors_the_streams_are_inherited(left: int) -> None:
    """However far it gets: none is left open, and the program has a stream in any case."""
    code = f"""
import os, resource
from unstall.supervisor.output import streams
before = len(os.listdir("/proc/self/fd"))
highest = max(map(int, os.listdir("/proc/self/fd")))
resource.setrlimit(resource.RLIMIT_NOFILE, (max(highest, 10) + {left}, 4096))
opened = streams.open_streams()
assert opened.failures or opened.channels, opened
assert bool(opened.given()) == bool(opened.channels)
opened.abandon()
resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
assert len(os.listdir("/proc/self/fd")) == before, os.listdir("/proc/self/fd")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=LIMIT_S)
    assert done.returncode == 0, done.stderr


def test_under_nohup_the_program_outlives_the_terminal(tmp_path: Path) -> None:
    program = write(tmp_path, "import time\nprint('step 1 loss 0.5', flush=True)\ntime.sleep(2)\nprint('step 2', flush=True)")
    line = f"cd {tmp_path}; nohup {' '.join(watched(*python(program)))} & sleep 1"
    on_terminal(["bash", "-c", line])
    until = time.monotonic() + 120
    while b"step 2" not in (tmp_path / "nohup.out").read_bytes() and time.monotonic() < until:
        time.sleep(0.2)
    assert (tmp_path / "nohup.out").read_bytes() == b"step 1 loss 0.5\nstep 2\n"
