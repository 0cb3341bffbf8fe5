"""Signals that the program sends: one that it sends to itself is no kill from outside.

os.kill and its kin are wrapped, and pass everything on. Not by an audit hook: Python would call that at every id() and
open() of the program.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from typing import Any

from unstall.journal.events import SignalRaised
from unstall.probe.core.patches import wrap
from unstall.probe.core.probe import Probe
from unstall.probe.core.user_code import find_user_place

MAX_EVENTS = 200


def install(probe: Probe) -> None:
    senders: dict[tuple[Any, str], Callable[..., tuple[int, int]]] = {
        (os, "kill"): lambda pid, number: (int(pid), int(number)),
        (os, "killpg"): lambda group, number: (os.getpid() if group in (0, os.getpgrp()) else -int(group), int(number)),
        # A thread's number means nothing outside, but the thread is ours.
        (signal, "pthread_kill"): lambda thread, number: (os.getpid(), int(number)),
        (signal, "raise_signal"): lambda number: (os.getpid(), int(number)),
    }
    recorder = _Recorder(probe)
    for (module, name), target in senders.items():
        wrap(module, name, recorder.around(target))


class _Recorder:
    def __init__(self, probe: Probe) -> None:
        self._probe = probe
        self._seen = 0

    def around(self, target: Callable[..., tuple[int, int]]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        def make(original: Callable[..., Any]) -> Callable[..., Any]:
            def send(*args: Any, **kwargs: Any) -> Any:
                if self._probe.active:
                    self._probe.shield.call("own signals", self._record, target, args, kwargs)
                return original(*args, **kwargs)

            return send

        return make

    def _record(self, target: Callable[..., tuple[int, int]], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        pid, number = target(*args, **kwargs)
        self._seen += 1
        if number and self._seen <= MAX_EVENTS:  # number 0 asks only whether a process is there
            event = SignalRaised(at=time.time(), pid=os.getpid(), target=pid, signal=number, where=find_user_place(4))
            self._probe.emit(event)
