"""What shows from outside that a process works together with others: its environment and its connections."""

from __future__ import annotations

import ipaddress
import os
import platform
import socket
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psutil

from unstall.journal.events import ClusterSeen, MachineSeen, MembershipSeen
from unstall.journal.rank import read_rank

# Public by nature: how the frameworks and launchers tell a process its place in a cluster. No other variable is read.
VARIABLES = (
    "TF_CONFIG",
    "WORLD_SIZE",
    "RANK",
    "LOCAL_RANK",
    "MASTER_ADDR",
    "MASTER_PORT",
    "JAX_COORDINATOR_ADDRESS",
    "JAX_NUM_PROCESSES",
    "JAX_PROCESS_ID",
    "UNSTALL_WORKER",
    "UNSTALL_WORKERS",
    "UNSTALL_COORDINATOR",
    "SLURM_NTASKS",
    "SLURM_PROCID",
    "OMPI_COMM_WORLD_SIZE",
    "OMPI_COMM_WORLD_RANK",
)
MAX_CONNECTIONS = 50
LONGEST_VALUE = 2000


def sample(pid: int) -> ClusterSeen | None:
    """None when the process is gone."""
    if not Path(f"/proc/{pid}").exists():
        return None
    rows = _rows()
    return ClusterSeen(
        at=time.time(), pid=pid, variables=_variables(pid), connections=_connections(pid, rows), listens=_listens(pid, rows)
    )


def _variables(pid: int) -> dict[str, str]:
    try:
        pairs = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return {}
    plain = dict(pair.decode("utf-8", "replace").partition("=")[::2] for pair in pairs if b"=" in pair)
    return {name: plain[name][:LONGEST_VALUE] for name in VARIABLES if name in plain}


def _rows() -> list[Any]:
    try:
        return list(psutil.net_connections("tcp"))
    except (psutil.Error, OSError):
        return []


def _listens(pid: int, rows: list[Any]) -> list[str]:
    here = {f"{row.laddr[0]}:{row.laddr[1]}" for row in rows if row.pid == pid and row.status == psutil.CONN_LISTEN}
    return sorted(here)[:MAX_CONNECTIONS]


def _connections(pid: int, rows: list[Any]) -> list[dict[str, Any]]:
    """Connections to other processes, with the process at the other end where it is on this machine and may be seen."""
    ends = [(tuple(row.laddr), tuple(row.raddr), row.pid) for row in rows if row.status == psutil.CONN_ESTABLISHED and row.raddr]
    owners = {(here, there): owner for here, there, owner in ends}
    result = []
    for here, there, owner in ends:
        other = owners.get((there, here))
        if owner == pid and other != pid:
            result.append({"to": f"{str(there[0]).removeprefix('::ffff:')}:{there[1]}", "pid": other})
    return result[:MAX_CONNECTIONS]


# The machine that a run is on: its name, its addresses, how its clock stands to the time since it was started, and who can tell
# more of it.


BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
MAX_ADDRESSES = 40
METADATA_VARIABLE = "GCE_METADATA_HOST"
METADATA_ADDRESS = "169.254.169.254"  # of the server on every machine of Google's; its name would have to be looked up
FIRMWARE = Path("/sys/class/dmi/id/product_name")


def look() -> MachineSeen:
    return MachineSeen(
        at=time.time(),
        hostname=platform.node(),
        boot_id=_boot_id(),
        addresses=list_addresses(),
        clock_s=time.time() - time.clock_gettime(time.CLOCK_BOOTTIME),
    )


def create_rank_event(pid: int, variables: Mapping[str, str]) -> MembershipSeen | None:
    """As the program was started with it; None for one that is told of no others."""
    rank = read_rank(variables)
    return None if rank is None else rank.to_event(pid)


def list_addresses() -> list[str]:
    """Of all interfaces, without loopback and without those that hold on one link only."""
    try:
        interfaces = psutil.net_if_addrs()
    except (psutil.Error, OSError):
        return []
    rows = []
    for interface in interfaces.values():
        for each in interface:
            if each.family in {socket.AF_INET, socket.AF_INET6} and _leads_here(each.address):
                rows.append(each.address)
    return sorted(set(rows))[:MAX_ADDRESSES]


def _leads_here(text: str) -> bool:
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return False
    return not (address.is_loopback or address.is_link_local)


def find_metadata_server() -> str:
    """host:port of Google's metadata server; empty: there is none. Nothing is looked up or opened: the variable names one, or the
    firmware says that the machine is Google's."""
    named = os.environ.get(METADATA_VARIABLE, "").strip()
    if named:
        return named
    try:
        is_google = FIRMWARE.read_text(encoding="utf-8", errors="replace").strip().startswith("Google")
    except OSError:
        return ""
    return METADATA_ADDRESS if is_google else ""


def _boot_id() -> str:
    try:
        return BOOT_ID.read_text(encoding="ascii").strip()
    except OSError:
        return ""
