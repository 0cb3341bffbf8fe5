"""Network namespaces as separate hosts, and a wire between them that delays, loses or cuts.

Each host has an address of its own and no other way out than a TUN device, whose packets a thread of this process hands on: so
faults of a network need nothing of the kernel but namespaces and TUN, not even netem. Needs root.
"""

from __future__ import annotations

import fcntl
import heapq
import os
import random
import selectors
import struct
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

TUN = Path("/dev/net/tun")
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
NETWORK = "10.77.0"
MTU = 32_000  # few and large packets: each passes through Python
MAX_PACKET = 65_536


class AccessDeniedError(Exception):
    """What is missing, in words."""


@dataclass
class Wire:
    """How packets fare now, between all hosts; `cut` are the numbers of hosts that reach nobody."""

    delay_s: float = 0.0
    loss: float = 0.0  # of all packets
    cut: set[int] = field(default_factory=set)

    def repair_link(self) -> None:
        self.delay_s, self.loss, self.cut = 0.0, 0.0, set()


class Hosts:
    def __init__(self, count: int) -> None:
        self.count = count
        self.wire = Wire()
        self._mark = f"unstall{os.getpid()}"
        self._descriptors: list[int] = []
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._carry, name="wire", daemon=True)

    def address(self, host: int) -> str:
        return f"{NETWORK}.{host + 1}"

    def command(self, host: int, command: Sequence[str]) -> list[str]:
        """The same command, run on that host."""
        return ["ip", "netns", "exec", self._name(host), *command]

    @contextmanager
    def up(self) -> Iterator[Hosts]:
        refuse_unless_permitted()
        try:
            for host in range(self.count):
                self._make(host)
            self._thread.start()
            yield self
        finally:
            self._ended.set()
            if self._thread.is_alive():
                self._thread.join(2)
            for host, descriptor in enumerate(self._descriptors):
                os.close(descriptor)
                _ip("netns", "del", self._name(host), check=False)

    def _name(self, host: int) -> str:
        return f"{self._mark}-{host}"

    def _make(self, host: int) -> None:
        name, device = self._name(host), f"ut{os.getpid() % 100_000}-{host}"
        _ip("netns", "add", name)
        descriptor = os.open(TUN, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        self._descriptors.append(descriptor)
        fcntl.ioctl(descriptor, TUNSETIFF, struct.pack("16sH", device.encode(), IFF_TUN | IFF_NO_PI))
        _ip("link", "set", device, "netns", name)
        inside = ("netns", "exec", name, "ip")
        _ip(*inside, "addr", "add", f"{self.address(host)}/24", "dev", device)
        _ip(*inside, "link", "set", device, "mtu", str(MTU), "up")
        _ip(*inside, "link", "set", "lo", "up")

    # --- the wire ---

    def _carry(self) -> None:
        selector = selectors.DefaultSelector()
        for host, descriptor in enumerate(self._descriptors):
            selector.register(descriptor, selectors.EVENT_READ, host)
        on_the_way: list[tuple[float, int, int, bytes]] = []
        rng, number = random.Random(0), 0
        while not self._ended.is_set():
            wait_s = min(0.1, max(0.0, on_the_way[0][0] - time.monotonic())) if on_the_way else 0.1
            for key, _ in selector.select(wait_s):
                packet = _read(key.fd)
                target = packet[19] - 1 if len(packet) >= 20 and packet[0] >> 4 == 4 else -1  # the last byte of its address
                if 0 <= target < self.count and not {key.data, target} & self.wire.cut and rng.random() >= self.wire.loss:
                    number += 1
                    heapq.heappush(on_the_way, (time.monotonic() + self.wire.delay_s, number, target, packet))
            while on_the_way and on_the_way[0][0] <= time.monotonic():
                _, _, target, packet = heapq.heappop(on_the_way)
                _write(self._descriptors[target], packet)


def refuse_unless_permitted() -> None:
    if os.geteuid() != 0:
        raise AccessDeniedError("Network namespaces need root.")
    if not TUN.exists():
        raise AccessDeniedError(f"{TUN} is not there: the kernel has no TUN, or the container is not given it.")
    try:
        _ip("netns", "list")
    except (OSError, subprocess.CalledProcessError) as error:
        raise AccessDeniedError(f"`ip netns` cannot be used ({error}). Install: apt install iproute2") from None


def _ip(*arguments: str, check: bool = True) -> None:
    subprocess.run(["ip", *arguments], check=check, capture_output=True, text=True)


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, MAX_PACKET)
    except OSError:
        return b""


def _write(descriptor: int, packet: bytes) -> None:
    try:
        os.write(descriptor, packet)
    except OSError:
        return  # its queue is full, or it is down: a packet is lost, as packets are
