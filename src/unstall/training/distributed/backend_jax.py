"""JAX on several processes: they join, and have a table in common through which small things are told."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax._src import distributed
from jax._src.lib import _jax

from unstall.training.distributed.engines import ProcessEnv
from unstall.training.distributed.rendezvous import RendezvousResult, is_loopback, parse_port

JOIN_S = 60  # for all to come: they have met already, and are only a moment apart
# How long a process may be silent before the others are ended: by this one learns of a machine that went without a word, or
# of a cut line. One that is only slow must not be taken for it.
SILENT_S = 40
SHUTDOWN_S = 30


def join(who: ProcessEnv, met: RendezvousResult) -> JaxChannel:
    """In the main thread, before anything is computed."""
    jax.config.update("jax_enable_preemption_service", False)  # it would take SIGTERM for itself
    host, port = parse_port(who)
    _meet_at(met.address)
    jax.distributed.initialize(
        who.coordinator,
        who.world_size,
        who.rank,
        cluster_detection_method="deactivate",
        initialization_timeout=JOIN_S,
        heartbeat_timeout_seconds=SILENT_S,
        shutdown_timeout_seconds=SHUTDOWN_S,
        coordinator_bind_address=f"{host}:{port}" if is_loopback(host) else None,
    )
    _say_hello()
    return JaxChannel()


def leave() -> None:
    """When all are done: waits for the others, so that none of them takes the end of this one for a fault."""
    try:
        jax.distributed.shutdown()
    except (RuntimeError, ValueError):  # another is gone already: we are done all the same
        return


class JaxChannel:
    """The table that jax.distributed keeps at worker 0. JAX has no public name for it."""

    def __init__(self) -> None:
        self._client: Any = distributed.global_state.client

    def put(self, key: str, value: bytes) -> None:
        self._client.key_value_set_bytes(f"unstall/{key}", value, allow_overwrite=True)

    def get(self, key: str) -> bytes | None:
        try:
            return bytes(self._client.key_value_try_get_bytes(f"unstall/{key}"))
        except (RuntimeError, ValueError) as error:
            if "NOT_FOUND" in str(error):
                return None
            raise

    def forget(self, key: str) -> None:
        self._client.key_value_delete(f"unstall/{key}")


def _meet_at(address: str) -> None:
    """Gloo would look up the name of this machine, which may mean loopback, or a network that the others are not in: it is told
    the address by which they reach each other."""
    made = _jax.make_gloo_tcp_collectives
    _jax.make_gloo_tcp_collectives = functools.partial(made, hostname=address)


def _say_hello() -> None:
    """The first sum over all: connections are made, about which Gloo has remarks on standard output."""
    with _silent_output():
        mesh = jax.sharding.Mesh(np.array(jax.devices()), ("all",))
        spec = jax.sharding.PartitionSpec("all")
        ones = jax.make_array_from_process_local_data(
            jax.sharding.NamedSharding(mesh, spec), np.ones(len(jax.local_devices()), np.float32)
        )
        summed = jax.jit(jnp.sum, out_shardings=jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec()))
        assert float(np.asarray(summed(ones).addressable_data(0))) == len(jax.devices())


@contextmanager
def _silent_output() -> Iterator[None]:
    kept, nothing = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nothing)
