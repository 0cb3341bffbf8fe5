"""A process in a container, seen from the host: namespaces of its own for mounts, processes and the network."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.programs import UNSTALL
from tests.versions.programs_index import FOLDER, load

pytestmark = [
    pytest.mark.torch,
    pytest.mark.skipif(os.geteuid() != 0 or shutil.which("unshare") is None, reason="namespaces need root and unshare"),
]
# The program lies on a file system that only its own namespace has, as in a container.
ENTER = 'mount -t tmpfs none /mnt && mkdir /mnt/app && cp "$1" /mnt/app/train.py && cd /mnt/app && : > "$3" && exec "$2" train.py'


@pytest.fixture
def contained(tmp_path: Path) -> Iterator[int]:
    program, mark = FOLDER / "torch/generator_blocked_loader.py", tmp_path / "entered"
    words = ["unshare", "--mount", "--pid", "--net", "--fork", "--mount-proc", "--kill-child", "sh", "-c", ENTER, "sh"]
    parent = subprocess.Popen([*words, str(program), sys.executable, str(mark)], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        until = time.monotonic() + 240
        while not mark.exists() and parent.poll() is None and time.monotonic() < until:
            time.sleep(0.1)
        if not mark.exists():
            pytest.skip("no namespaces can be made here")
        (child,) = Path(f"/proc/{parent.pid}/task/{parent.pid}/children").read_text().split()
        _wait_until_blocked(int(child), until)
        yield int(child)
    finally:
        parent.kill()
        parent.communicate()


def _wait_until_blocked(pid: int, until: float) -> None:
    """Until its main thread has slept in recv for some seconds."""
    since = time.monotonic()
    while time.monotonic() - since < 6.0:
        assert time.monotonic() < until, "the program did not come to its wait"
        if not Path(f"/proc/{pid}/syscall").read_text().startswith(("45 ", "207 ")):  # recvfrom, of x86-64 and of arm64
            since = time.monotonic()
        time.sleep(0.2)


def test_a_program_in_a_container_is_explained_from_the_host(contained: int, tmp_path: Path) -> None:
    text = tmp_path / "story.json"
    done = subprocess.run(
        [*UNSTALL, "attach", str(contained), "--json", str(text)], capture_output=True, text=True, check=False, timeout=240
    )
    assert text.exists(), done.stderr
    story = json.loads(text.read_text())
    (verdict,) = story["verdicts"]
    (line,) = load(FOLDER / "torch/generator_blocked_loader.py").where
    assert (verdict["cause"], verdict["where"]) == ("generator_blocked", f"train.py:{line}")
    assert "waits for the network" in verdict["summary"]
    assert done.returncode == 10
