"""The machine that a run is on: its name, its addresses, and how its clock stands to the time since it was started."""

from __future__ import annotations

import ipaddress
import platform
import socket
import time
from collections.abc import Mapping
from pathlib import Path

import psutil

from unstall.journal.events import MachineSeen, MembershipSeen
from unstall.membership import told_by

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
MOST_ADDRESSES = 40


def look() -> MachineSeen:
    return MachineSeen(
        at=time.time(),
        hostname=platform.node(),
        boot_id=_boot_id(),
        addresses=addresses(),
        clock_s=time.time() - time.clock_gettime(time.CLOCK_BOOTTIME),
    )


def membership(pid: int, variables: Mapping[str, str]) -> MembershipSeen | None:
    """As the program was started with it; None for one that is told of no others."""
    told = told_by(variables)
    if told is None:
        return None
    return MembershipSeen(
        at=time.time(),
        pid=pid,
        told_by=told.told_by,
        worker=told.worker,
        of=told.of,
        coordinator=told.coordinator,
        addresses=list(told.addresses),
        job=told.job,
    )


def addresses() -> list[str]:
    """Of all interfaces, without loopback and without those that hold on one link only."""
    try:
        interfaces = psutil.net_if_addrs()
    except (psutil.Error, OSError):
        return []
    told = []
    for interface in interfaces.values():
        for each in interface:
            if each.family in {socket.AF_INET, socket.AF_INET6} and _leads_here(each.address):
                told.append(each.address)
    return sorted(set(told))[:MOST_ADDRESSES]


def _leads_here(text: str) -> bool:
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return False
    return not (address.is_loopback or address.is_link_local)


def _boot_id() -> str:
    try:
        return BOOT_ID.read_text(encoding="ascii").strip()
    except OSError:
        return ""
