"""Workers of one machine: `unstall train --workers N` starts them itself.

They meet at a port of 127.0.0.1 that is free when they are started; if another program takes it in between, they are started
again at another. Where the machine has cards, each worker is given one of its own.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping

from unstall.scale.membership import Membership

HINT = "no other engine runs us"
HOST = "127.0.0.1"


def recognise(environ: Mapping[str, str]) -> str:
    return ""


def memberships(environ: Mapping[str, str], workers: int) -> list[Membership]:
    if workers == 1:
        return [Membership()]
    coordinator = f"{HOST}:{free_port()}"
    return [Membership(worker, workers, coordinator) for worker in range(workers)]


def free_port() -> int:
    """That nobody listens at now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.bind((HOST, 0))
        return int(listener.getsockname()[1])
