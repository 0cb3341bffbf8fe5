"""Which of the program's streams are read, and how: a file by reading it too, a pipe or a terminal through a relay.

Whatever cannot be set up is left as it is, and the program gets its streams as it would alone: a stream that is closed or that
only Unstall has, a device, a socket (a service may look whose it is), and all of them when descriptors, pseudo-terminals or
processes have run out.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
import socket
import stat
import subprocess
import sys
import termios
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from unstall.journal.events import Event, SampleFailed
from unstall.sensors.printed_output.reader import CopySource, FileSource, PrintedOutput, Source, StreamReader
from unstall.supervisor.output.relay import DRAIN, DRAINED, FRAME, READY, copy_window_size

RELAY = Path(__file__).with_name("relay.py")
VARIABLE = "UNSTALL_READ_OUTPUT"
NAMES = {1: "stdout", 2: "stderr"}
HIGH = 10  # descriptors are kept away from the standard numbers, some of which may be closed
STARTS_WITHIN_S = 10.0
DRAINS_WITHIN_S = 30.0  # a reader that takes nothing for so long is not waited for any more: the relay goes on with it alone
COPY_BYTES = 2**20
OPOST_OF = 1  # the place of the output flags in what tcgetattr gives


def is_wanted(environ: Mapping[str, str]) -> bool:
    return environ.get(VARIABLE, "1") != "0" and environ.get("UNSTALL_DISABLE", "") in ("", "0")


@dataclass
class Channel:
    """One stream of the program, or both where they are the same."""

    name: str  # stdout | stderr | stdout and stderr
    numbers: tuple[int, ...]
    file: int = -1  # a regular file: opened anew, for reading
    given: int = -1  # what the program prints into, instead of its stream
    copy: int = -1  # where the relay gives its copy
    control: int = -1
    relay: subprocess.Popen[bytes] | None = None


@dataclass
class Streams:
    channels: list[Channel] = field(default_factory=list)
    failures: list[Event] = field(default_factory=list)

    def given(self) -> dict[int, int]:
        """By its number, what the program gets as a stream instead of ours."""
        return {number: channel.given for channel in self.channels for number in channel.numbers if channel.given >= 0}

    def program_started(self) -> None:
        """It has its own descriptors now; ours would keep the stream open after its end."""
        for channel in self.channels:
            channel.given = _closed(channel.given)

    def reader(self) -> PrintedOutput:
        """What is read of them; the descriptors are its own from now on."""
        sources: list[tuple[str, Source]] = []
        for channel in self.channels:
            if channel.file >= 0:
                sources.append((channel.name, FileSource(channel.file)))
            elif channel.copy >= 0:
                sources.append((channel.name, CopySource(channel.copy, FRAME)))
        return PrintedOutput(StreamReader(name, source) for name, source in sources)

    def abandon(self) -> None:
        """The program could not be started."""
        self.program_started()
        for channel in self.channels:
            channel.file, channel.copy, channel.control = map(_closed, (channel.file, channel.copy, channel.control))
            if channel.relay is not None:
                channel.relay.wait()

    def drain(self) -> None:
        """After the program's end: all that it has printed is out before anything else is printed. Ctrl-C ends the wait."""
        until = time.monotonic() + DRAINS_WITHIN_S
        for channel in self.channels:
            if channel.control < 0:
                continue
            with contextlib.suppress(OSError):
                os.write(channel.control, DRAIN)
        for channel in self.channels:
            if channel.control >= 0:
                _await(channel.control, DRAINED, until)
            if channel.relay is not None:
                channel.relay.poll()


def open_streams() -> Streams:
    streams = Streams()
    for numbers in _shared_numbers():
        name = " and ".join(NAMES[number] for number in numbers)
        try:
            channel = _open(name, numbers)
        except (OSError, subprocess.SubprocessError) as error:
            missing = f"what the program prints on {name}: {error}"
            streams.failures.append(SampleFailed(at=time.time(), signal="printed output", missing=missing))
            continue
        if channel is not None:
            streams.channels.append(channel)
    return streams


def _shared_numbers() -> list[tuple[int, ...]]:
    """Standard output and error that the program will have, together where both are the same file."""
    open_ones = {number: status for number in NAMES if (status := _status(number)) is not None}
    if len(open_ones) == len(NAMES):
        out, error = open_ones[1], open_ones[2]
        if (out.st_dev, out.st_ino) == (error.st_dev, error.st_ino):
            return [(1, 2)]
    return [(number,) for number in open_ones]


def _status(number: int) -> os.stat_result | None:
    """None: it was closed; then the number may be that of a file of our own, which the program does not get."""
    try:
        return os.fstat(number) if os.get_inheritable(number) else None
    except OSError:
        return None


def _open(name: str, numbers: tuple[int, ...]) -> Channel | None:
    real = numbers[0]
    mode = os.fstat(real).st_mode
    if stat.S_ISREG(mode):
        file = os.open(f"/proc/self/fd/{real}", os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        os.lseek(file, 0, os.SEEK_END)
        return Channel(name, numbers, file=file)
    if stat.S_ISFIFO(mode):
        inner, given = _pipe_like(real)
    elif os.isatty(real):
        inner, given = _terminal_like(real)
    else:
        return None
    with contextlib.ExitStack() as taken:
        taken.callback(os.close, given)
        try:
            channel = _start_relay(name, numbers, inner, given)
        finally:
            os.close(inner)
        taken.pop_all()
    return channel


def _pipe_like(real: int) -> tuple[int, int]:
    """(read end, write end) of a pipe as large as the real one."""
    inner, given = _high_pair(*os.pipe())
    with contextlib.suppress(OSError):
        fcntl.fcntl(given, fcntl.F_SETPIPE_SZ, fcntl.fcntl(real, fcntl.F_GETPIPE_SZ))
    if not os.get_blocking(real):
        os.set_blocking(given, False)
    return inner, given


def _terminal_like(real: int) -> tuple[int, int]:
    """(other end, terminal) that changes no byte: what the real terminal makes of a line end, it will make of it. Everything else
    is as the real one has it."""
    inner, given = _high_pair(*os.openpty())
    try:
        attributes = termios.tcgetattr(real)
        attributes[OPOST_OF] &= ~termios.OPOST
        termios.tcsetattr(given, termios.TCSANOW, attributes)
    except termios.error as error:
        os.close(inner)
        os.close(given)
        raise OSError(*error.args) from None
    copy_window_size(real, inner)
    return inner, given


def _start_relay(name: str, numbers: tuple[int, ...], inner: int, given: int) -> Channel:
    with contextlib.ExitStack() as ours, contextlib.ExitStack() as of_relay:
        copy, copy_in = _high_pair(*os.pipe())
        ours.callback(os.close, copy)
        of_relay.callback(os.close, copy_in)
        control, control_in = _high_pair(*_socketpair())
        ours.callback(os.close, control)
        of_relay.callback(os.close, control_in)
        with contextlib.suppress(OSError):
            fcntl.fcntl(copy, fcntl.F_SETPIPE_SZ, COPY_BYTES)
        os.set_blocking(copy, False)
        os.set_blocking(copy_in, False)
        relay = subprocess.Popen(
            [sys.executable, "-I", "-S", str(RELAY), str(copy_in), str(control_in)],
            stdin=inner, stdout=numbers[0], stderr=subprocess.DEVNULL, pass_fds=(copy_in, control_in),
        )  # fmt: skip
        if not _await(control, READY, time.monotonic() + STARTS_WITHIN_S):
            relay.kill()
            relay.wait()
            raise OSError("its relay did not start")
        ours.pop_all()
    return Channel(name, numbers, given=given, copy=copy, control=control, relay=relay)


def _socketpair() -> tuple[int, int]:
    one, other = socket.socketpair()
    return one.detach(), other.detach()


def _await(control: int, answer: bytes, until: float) -> bool:
    """Whether the relay answered, rather than ended or took too long. A request to end the run ends the wait."""
    poll = select.poll()
    poll.register(control, select.POLLIN)
    while (left := until - time.monotonic()) > 0:
        if poll.poll(min(left, 0.2) * 1000):
            try:
                return os.read(control, 16) == answer
            except OSError:
                return False
        if answer == DRAINED and {signal.SIGINT, signal.SIGTERM} & signal.sigpending():
            return False
    return False


def _high_pair(one: int, other: int) -> tuple[int, int]:
    """The same under numbers that are none of the standard ones."""
    try:
        one = _high(one)
    except OSError:
        os.close(other)
        raise
    try:
        return one, _high(other)
    except OSError:
        os.close(one)
        raise


def _high(descriptor: int) -> int:
    if descriptor >= HIGH:
        return descriptor
    try:
        return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, HIGH)
    finally:
        os.close(descriptor)


def _closed(descriptor: int) -> int:
    if descriptor >= 0:
        os.close(descriptor)
    return -1
