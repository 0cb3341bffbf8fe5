"""Workers of one machine: `unstall train --num-workers N` starts them itself.

They meet at a port of 127.0.0.1 that is free when they are started; if another program takes it in between, they are started
again at another. Where the machine has cards, each worker is given one of its own.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from pathlib import Path

from unstall.backends import allocators
from unstall.base.errors import InvalidInputError
from unstall.training.distributed.engines import CARDS, ProcessEnv

HINT = "no other engine runs us"
VARIABLES = ()
HOST = "127.0.0.1"
DRIVER = Path("/proc/driver/nvidia/gpus")  # has an entry for each card


def build_process_envs(environ: Mapping[str, str], workers: int) -> list[ProcessEnv]:
    coordinator = f"{HOST}:{find_free_port()}"
    cards = assign_gpus(workers, list_visible_gpus(environ))
    return [ProcessEnv(worker, workers, coordinator, card) for worker, card in enumerate(cards)]


def assign_gpus(workers: int, cards: list[str]) -> list[str]:
    """One of its own for each, as no two can compute on the same; none where the machine has none."""
    if not cards:
        return [""] * workers
    if len(cards) < workers:
        raise InvalidInputError(
            f"num_workers: expected at most {len(cards)}, as each needs a card of its own. Received: {workers}. "
            "To compute on the cores instead, set JAX_PLATFORMS=cpu"
        )
    return cards[:workers]


def list_visible_gpus(environ: Mapping[str, str]) -> list[str]:
    """As the environment names them, else all that the driver has; none where JAX would not use them."""
    if environ.get("JAX_PLATFORMS", "").startswith("cpu") or not allocators.can_list_gpus("jax"):
        return []
    said = environ.get(CARDS)
    if said is not None:
        return [card.strip() for card in said.split(",") if card.strip() not in {"", "-1"}]
    try:
        return [str(number) for number, _ in enumerate(DRIVER.iterdir())]
    except OSError:
        return []


def find_free_port() -> int:
    """That nobody listens at now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.bind((HOST, 0))
        return int(listener.getsockname()[1])
