"""The machine of a run, and what its program was told of others."""

from __future__ import annotations

import socket
import time

from unstall.signals import machine


def test_two_looks_at_one_machine_tell_the_same() -> None:
    first, second = machine.look(), machine.look()
    assert first.hostname == socket.gethostname()
    assert first.boot_id and first.boot_id == second.boot_id
    assert abs(first.clock_s - second.clock_s) < 0.5
    assert abs(first.clock_s + time.clock_gettime(time.CLOCK_BOOTTIME) - time.time()) < 0.5


def test_addresses_are_those_that_others_reach() -> None:
    assert not [address for address in machine.addresses() if address.startswith(("127.", "::1", "fe80"))]


def test_membership_is_told_only_of_several() -> None:
    told = machine.membership(7, {"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "h", "MASTER_PORT": "1"})
    assert told is not None and (told.pid, told.worker, told.of, told.coordinator) == (7, 1, 2, "h:1")
    assert machine.membership(7, {"RANK": "0", "WORLD_SIZE": "1"}) is None
