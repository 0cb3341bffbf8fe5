"""Signals that the program sends: one that it sends to itself is no kill from outside.

An audit hook sees os.kill, os.killpg and pthread_kill before they act, and changes nothing. signal.raise_signal is not audited
by Python: it is wrapped.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

from unstall.inside.patching import wrap
from unstall.inside.places import user_place
from unstall.inside.probe import Probe
from unstall.journal.events import SignalRaised

MOST_EVENTS = 200
_AUDITED = frozenset({"os.kill", "os.killpg", "signal.pthread_kill"})


def install(probe: Probe) -> None:
    seen = 0

    def record(target: int, number: int) -> None:
        nonlocal seen
        seen += 1
        if number and seen <= MOST_EVENTS:
            event = SignalRaised(at=time.time(), pid=os.getpid(), target=target, signal=number, where=user_place(4))
            probe.emit(event)

    def audit(event: str, args: tuple[Any, ...]) -> None:
        if event in _AUDITED and probe.active:
            probe.shield.call("own signals", _record_audited, record, event, args)

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def raise_signal(signalnum: int) -> Any:
            if probe.active:
                probe.shield.call("own signals", record, os.getpid(), int(signalnum))
            return original(signalnum)

        return raise_signal

    sys.addaudithook(audit)
    wrap(signal, "raise_signal", make)


def _record_audited(record: Callable[[int, int], None], event: str, args: tuple[Any, ...]) -> None:
    first, number = int(args[0]), int(args[1])
    if event == "os.killpg":
        record(os.getpid() if first in (0, os.getpgrp()) else -first, number)
    else:  # a thread's number means nothing outside, but the thread is ours
        record(os.getpid() if event == "signal.pthread_kill" else first, number)
