"""Threads in which a distribution strategy computes its replicas: what they do is done for the thread that runs the strategy.

MirroredStrategy calls the function of a step in a thread for each replica, one after the other: in the trace of the tf.function
around it, or each time, where there is none.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import ModuleType
from typing import Any, Optional

from unstall.probe.core.patches import wrap
from unstall.probe.core.probe import Probe

_REPLICA = "_unstall_replica"


class Replica:
    """What a replica's thread belongs to."""

    def __init__(self, number: int, thread: int, calls: list[Any]) -> None:
        self.number = number
        self.thread = thread  # the identity of the one that runs the strategy
        self.calls = calls  # the tf.functions that that thread is in


def get_replica() -> Optional[Replica]:
    """None where this thread is none of a replica. (`threading.current_thread` would make an object for a foreign thread.)"""
    thread = getattr(threading, "_active", {}).get(threading.get_ident())
    return None if thread is None else thread.__dict__.get(_REPLICA)


def install(module: ModuleType, probe: Probe) -> None:
    """tensorflow.python.distribute.mirrored_run: a replica's thread is made by the thread that runs the strategy."""
    from unstall.probe.loop.custom_training import get_loop

    loop = get_loop(probe)

    def note(thread: Any) -> None:
        outer = get_replica()
        parent = threading.get_ident() if outer is None else outer.thread
        thread.__dict__[_REPLICA] = Replica(int(thread.replica_id), parent, loop.functions())

    def make(original: Callable[..., None]) -> Callable[..., None]:
        def __init__(thread: Any, *args: Any, **kwargs: Any) -> None:
            original(thread, *args, **kwargs)
            if probe.active:
                probe.shield.call("replicas", note, thread)

        return __init__

    wrap(getattr(module, "_MirroredReplicaThread", None), "__init__", make)
