"""The relay: a small process of its own that hands on what a program prints, byte for byte, and gives the watcher a copy.

It is started as `python -I -S relay.py COPY CONTROL`: standard input is what the program prints into (a pipe, or the other end of
a pseudo-terminal), standard output the real stream. It ends when nobody can print any more, and not before: it ignores the
signals that end the program, and goes on alone when Unstall is killed. The copy goes through a bounded pipe that is never
waited for; what does not fit is counted and left out.

It imports nothing of Unstall, so that it starts quickly and stays small.
"""

from __future__ import annotations

import errno
import fcntl
import os
import select
import signal
import struct
import sys
import termios
import time

READ_BYTES = 65536
FRAME = struct.Struct("<dIH")  # when it was read, bytes left out before it, its own length
MAX_FRAME = 4096  # of a pipe: what is written at once is written whole, or not at all
PAYLOAD = MAX_FRAME - FRAME.size
DRAINED_BYTES = 2**20  # no pipe holds more: once so much was copied, all that was there before is out
LOOK_AFTER_BYTES = 2**20
WOULD_WAIT = (errno.EAGAIN, errno.EINTR)
IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGPIPE, signal.SIGTSTP, signal.SIGUSR1,
           signal.SIGUSR2, signal.SIGALRM, signal.SIGXFSZ)  # fmt: skip
READY, DRAIN, DRAINED = b"R", b"D", b"d"


class Relay:
    def __init__(self, copy: int, control: int) -> None:
        self._copy = copy
        self._control = control
        self._left_out = 0
        self._to_drain = -1  # bytes still to be copied until a request is answered; -1: nobody asks
        self._unasked = 0  # bytes copied without a look at what is asked
        self._poll = select.poll()
        self._poll.register(0, select.POLLIN)
        self._poll.register(1, 0)  # that nobody reads any more is told without asking
        if control >= 0:
            self._poll.register(control, select.POLLIN)

    def run(self) -> None:
        while True:
            try:
                data = os.read(0, READ_BYTES)
            except OSError as error:
                if error.errno not in WOULD_WAIT:
                    return  # EIO: nobody has the other end of the pseudo-terminal open
                self._drained()
                if not self._wait():
                    return
                continue
            if not data or not self._pass_on(data):
                return
            if self._copy >= 0:
                self._give_copy(data)
            self._count(len(data))

    def _count(self, copied: int) -> None:
        self._unasked += copied
        if self._unasked >= LOOK_AFTER_BYTES:  # under a flood nothing is ever waited for
            self._unasked = 0
            if not self._wait(0):
                self._to_drain = -1
        if self._to_drain >= 0:
            self._to_drain -= copied
            if self._to_drain < 0:
                self._drained(is_due=True)

    def _wait(self, at_most_ms: int | None = None) -> bool:
        """Until something comes; False: nobody reads what is printed, so the program is to hear of it at its next word."""
        for descriptor, events in self._poll.poll(at_most_ms):
            if descriptor == 1 and events & (select.POLLERR | select.POLLHUP | select.POLLNVAL):
                return False
            if descriptor == self._control:
                self._hear()
        return True

    def _hear(self) -> None:
        try:
            command = os.read(self._control, 16)
        except OSError:
            command = b""
        if command:
            self._to_drain = DRAINED_BYTES
            return
        self._poll.unregister(self._control)  # Unstall is gone
        self._control = -1

    def _drained(self, is_due: bool = False) -> None:
        """All that was printed before the request is out: nothing is left to read, or more than a pipe can hold was copied."""
        if self._to_drain < 0 and not is_due:
            return
        self._to_drain = -1
        try:
            os.write(self._control, DRAINED)
        except OSError:
            return

    def _pass_on(self, data: bytes) -> bool:
        """A slow reader is waited for, as the program would wait."""
        left = memoryview(data)
        while left:
            try:
                left = left[os.write(1, left) :]
            except OSError as error:
                if error.errno not in WOULD_WAIT:
                    return False
                poll = select.poll()
                poll.register(1, select.POLLOUT)
                poll.poll()
        return True

    def _give_copy(self, data: bytes) -> None:
        now = time.time()
        for start in range(0, len(data), PAYLOAD):
            part = data[start : start + PAYLOAD]
            try:
                os.write(self._copy, FRAME.pack(now, self._left_out, len(part)) + part)
                self._left_out = 0
            except OSError as error:
                if error.errno not in WOULD_WAIT:
                    os.close(self._copy)
                    self._copy = -1
                    return
                self._left_out = min(self._left_out + len(data) - start, 2**32 - 1)
                return


def copy_window_size(source: int, target: int) -> bool:
    """Whether it was another one."""
    try:
        size = fcntl.ioctl(source, termios.TIOCGWINSZ, bytes(8))
        if size == fcntl.ioctl(target, termios.TIOCGWINSZ, bytes(8)):
            return False
        fcntl.ioctl(target, termios.TIOCSWINSZ, size)
    except OSError:
        return False
    return True


def _resized(number: int, frame: object) -> None:
    """The program was told of a new size when we were, and may have asked for it too soon: it is told again."""
    if copy_window_size(1, 0):
        try:
            os.killpg(os.tcgetpgrp(1), signal.SIGWINCH)
        except OSError:
            return


def main(copy: int, control: int) -> None:
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGWINCH, _resized if os.isatty(1) else signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    os.closerange(max(copy, control) + 1, os.sysconf("SC_OPEN_MAX"))
    for descriptor in range(3, max(copy, control)):
        if descriptor not in (copy, control):
            try:
                os.close(descriptor)
            except OSError:
                continue
    os.chdir("/")
    os.set_blocking(0, False)
    os.write(control, READY)
    Relay(copy, control).run()
    os._exit(0)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
