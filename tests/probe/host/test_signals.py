"""own_signals: what the program sends to itself stands in the journal before it dies of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from unstall.journal.events import SignalRaised
from unstall.journal.reader import read_folder

BEGIN = """
import os, signal, sys, threading
from pathlib import Path
from unstall.probe.startup import begin
from unstall.journal.run_folder import RunFolder
begin(RunFolder(Path(sys.argv[1])))
"""


def run(code: str, folder: Path) -> tuple[int, list[SignalRaised], int]:
    program = folder / "program.py"
    program.write_text(BEGIN + code)
    process = subprocess.Popen([sys.executable, str(program), str(folder)], start_new_session=True)
    code_ = process.wait(240)
    return code_, read_folder(folder).of(SignalRaised), process.pid


@pytest.mark.parametrize(
    ("code", "number"),
    [
        ("os.kill(os.getpid(), signal.SIGTERM)", signal.SIGTERM),
        ("os.kill(os.getpid(), signal.SIGKILL)", signal.SIGKILL),
        ("os.killpg(0, signal.SIGTERM)", signal.SIGTERM),
        ("signal.raise_signal(signal.SIGALRM)", signal.SIGALRM),
        ("signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)", signal.SIGUSR1),
    ],
)
def test_a_signal_to_itself_is_written_before_it_acts(code: str, number: signal.Signals, tmp_path: Path) -> None:
    ended, raised, pid = run(code, tmp_path)
    assert ended == -number
    assert [(event.pid, event.target, event.signal) for event in raised] == [(pid, pid, number)]
    assert raised[0].where is not None and raised[0].where.startswith(str(tmp_path / "program.py"))


def test_a_signal_to_another_names_it_and_a_question_is_none(tmp_path: Path) -> None:
    other = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        ended, raised, _ = run(f"os.kill({other.pid}, 0); os.kill({other.pid}, signal.SIGTERM)", tmp_path)
    finally:
        other.wait(240)
    assert ended == 0
    assert [(event.target, event.signal) for event in raised] == [(other.pid, signal.SIGTERM)]


def test_a_handler_of_the_programs_own_still_runs(tmp_path: Path) -> None:
    code = "signal.signal(signal.SIGUSR1, lambda *_: sys.exit(7)); signal.raise_signal(signal.SIGUSR1)"
    ended, raised, _ = run(code, tmp_path)
    assert ended == 7
    assert len(raised) == 1
    assert os.getpid() != raised[0].pid
