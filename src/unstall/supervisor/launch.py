"""Starts the program as it would start alone: same terminal, same streams, same signals; only the probe is added.

A stream is inherited, or goes through a relay that is a process of its own (`output/`): if Unstall is killed, the program goes on
and prints as before. Signals sent to Unstall are passed on; those of the terminal, and those that are sent to the whole process
group, reach the program directly, since both are in the same group (`signals.py`).
"""

from __future__ import annotations

import contextlib
import math
import os
import resource
import shutil
import signal
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from unstall.base.errors import InvalidInputError
from unstall.journal.events import TERMINATION_SIGNALS, ProcessEnded, SignalSent
from unstall.journal.run_folder import RunFolder
from unstall.supervisor.signals import (
    WAITS_S,
    GroupWitness,
    hold_back,
    is_of_terminal,
    list_inherited_ignored,
    spawn,
    wait_for_signal,
)

if TYPE_CHECKING:
    from unstall.supervisor.output.streams import Streams

START = Path(__file__).parents[1] / "probe" / "start"
PASSED_ON = (
    signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGWINCH, signal.SIGALRM,
)  # fmt: skip
OF_GROUPS = {*PASSED_ON} - {signal.SIGWINCH}  # of a window that is dragged it comes often, and twice does no harm
KILL_AFTER_S = 10.0
FAMILY_ENDS_S = 2.0  # what its child processes are given to end once it has


def build_environment(run: RunFolder, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """The program's environment: the caller's with what this program alone is told, and what switches the probe on."""
    result = {**os.environ, **(more or {})}
    if result.get("UNSTALL_DISABLE", "") not in ("", "0"):
        return result
    before = result.get("PYTHONPATH")
    result["PYTHONPATH"] = f"{START}{os.pathsep}{before}" if before else str(START)
    result["UNSTALL_RUN"] = str(run.path)
    return result


def resolve_command(command: Sequence[str]) -> list[str]:
    """`unstall run train.py` means `python train.py`, where the file is there and is no program by itself."""
    name = command[0]
    is_script = name.endswith(".py") and Path(name).is_file() and shutil.which(name) is None
    return [shutil.which("python") or sys.executable, *command] if is_script else list(command)


class LaunchedProgram:
    """The program, as its parent sees it."""

    def __init__(
        self,
        command: Sequence[str],
        run: RunFolder,
        mask: Iterable[int] | None = None,
        prints_on_stderr: bool = False,
        variables: Mapping[str, str] | None = None,
        reads_output: bool = False,
    ) -> None:
        """`mask`: the signals that the first program of several began with; the later ones are to begin with the same.
        `reads_output`: what it prints is read, too, unless the user has switched that off."""
        self.command = list(command)
        list_inherited_ignored()  # before SIGCHLD is waited for
        before = hold_back({*PASSED_ON, signal.SIGCHLD})
        self.mask = set(before if mask is None else mask)
        self.output = _open_streams() if reads_output else None
        redirected = {1: 2} if prints_on_stderr else {} if self.output is None else self.output.given()
        try:
            self.pid = spawn(command, build_environment(run, variables), self.mask, redirected)
        except OSError as error:
            if self.output is not None:
                self.output.abandon()
            signal.pthread_sigmask(signal.SIG_SETMASK, self.mask)
            raise InvalidInputError(f"Cannot start '{command[0]}': {error.strerror}. Expected a program after `--`.") from None
        self._witness = GroupWitness(OF_GROUPS)
        if self.output is not None:
            self.output.program_started()
        self.ended: ProcessEnded | None = None
        self._stopped_by_us = False
        self._kill_at = math.inf
        self._family: list[psutil.Process] = []
        self.signals: list[SignalSent] = []
        self._reported_signals = 0

    def wait(self, seconds: float) -> ProcessEnded | None:
        """Waits so long at most, passing signals on; the end when it has come."""
        wait_for_any([self], seconds)
        return self.ended

    def look(self) -> None:
        """Whether it has ended by now; one that was given its time, and took more, is ended."""
        if self.ended is None:
            self._reap()
        if self.ended is not None:
            self._witness.end()
            return
        self._witness.look()
        if time.monotonic() > self._kill_at:
            os.kill(self.pid, signal.SIGKILL)

    def pass_on(self, info: signal.struct_siginfo, until: float) -> None:
        """Unless the program has it already. `until`: it is found out by then (monotonic)."""
        from_terminal = is_of_terminal(info)
        self.signals.append(
            SignalSent(
                at=time.time(),
                signal=info.si_signo,
                sender_pid=0 if from_terminal else info.si_pid,
                from_terminal=from_terminal,
            )
        )
        if self.ended is not None:
            return
        is_of_group = self._witness.has(info.si_signo, time.monotonic() if from_terminal else until)
        if not from_terminal:
            with contextlib.suppress(ProcessLookupError):
                if not is_of_group or os.getpgid(self.pid) != os.getpgrp():
                    os.kill(self.pid, info.si_signo)

    def _reap(self) -> None:
        try:
            pid, status, usage = os.wait4(self.pid, os.WNOHANG)
        except ChildProcessError:
            self.ended = ProcessEnded(at=time.time(), pid=self.pid)
            return
        if pid:
            by_signal = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
            code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else None
            self.ended = ProcessEnded(
                at=time.time(),
                pid=self.pid,
                exit_code=code,
                signal=by_signal,
                stopped_by_us=self._stopped_by_us,
                peak_rss_bytes=usage.ru_maxrss * 1024,
            )
            self._end_family()

    def take_new_signals(self) -> list[SignalSent]:
        """Those that came since this was asked last."""
        new = self.signals[self._reported_signals :]
        self._reported_signals = len(self.signals)
        return new

    @property
    def is_asked_to_end(self) -> bool:
        """By somebody: through us, or by the terminal."""
        return any(sent.asks_for_the_end for sent in self.signals)

    def stop(self, kill_after_s: float = KILL_AFTER_S) -> None:
        """Asks the program to end; if it does not within that time, ends it. Child processes that outlive it are ended too."""
        if not self._stopped_by_us and self.ended is None:
            self._stopped_by_us = True
            self.kill_after(kill_after_s)
            os.kill(self.pid, signal.SIGTERM)
            os.kill(self.pid, signal.SIGCONT)  # one that was stopped (SIGSTOP) hears of nothing else

    def kill_after(self, seconds: float) -> None:
        """It was asked to end already: so long it is waited for."""
        if self._kill_at == math.inf and self.ended is None:
            self._kill_at = time.monotonic() + seconds
            try:
                self._family = psutil.Process(self.pid).children(recursive=True)
            except psutil.Error:
                self._family = []

    def _end_family(self) -> None:
        for child in self._family:
            with contextlib.suppress(psutil.Error):
                child.terminate()  # psutil makes sure that the number still means the same process
        _, alive = psutil.wait_procs(self._family, FAMILY_ENDS_S)
        for child in alive:
            with contextlib.suppress(psutil.Error):
                child.kill()

    @staticmethod
    def end_is_wanted() -> bool:
        """Whether somebody has asked for the end while no program was running that could be told."""
        return bool(TERMINATION_SIGNALS & signal.sigpending())

    def end_as_it_ended(self) -> int:
        """The exit code to end with; does not return if the program died of a signal: then so do we."""
        ended = self.ended
        if ended is None or (ended.signal is None and ended.exit_code is None):
            return 1  # nobody knows how: that is not well
        if ended.signal is None:
            return ended.exit_code or 0
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError, AttributeError):  # nobody reads it, or there is none
                stream.flush()
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.signal(ended.signal, signal.SIG_DFL) if ended.signal not in (signal.SIGKILL, signal.SIGSTOP) else None
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        os.kill(os.getpid(), ended.signal)
        return 128 + ended.signal


def _open_streams() -> Streams | None:
    """None: the user has switched it off."""
    from unstall.supervisor.output.streams import is_wanted, open_streams

    return open_streams() if is_wanted(os.environ) else None


def wait_for_any(programs: Sequence[LaunchedProgram], seconds: float) -> None:
    """Until one of those that run has ended, or so long at most. A signal that comes meanwhile is passed on to all."""
    running = [program for program in programs if program.ended is None]
    deadline = time.monotonic() + seconds
    while running:
        for program in running:
            program.look()
        left = deadline - time.monotonic()
        if left <= 0 or any(program.ended is not None for program in running):
            return
        info = wait_for_signal((*PASSED_ON, signal.SIGCHLD), left)
        if info is not None and info.si_signo != signal.SIGCHLD:
            until = time.monotonic() + WAITS_S
            for program in programs:
                program.pass_on(info, until)
