"""The notice that this machine will be taken away, as Google's machines have it: a value on their metadata server that changes.

    GET http://169.254.169.254/computeMetadata/v1/instance/preempted?wait_for_change=true      (Metadata-Flavor: Google)

The request hangs until the value changes: FALSE becomes TRUE some 30 seconds before the end. Likewise `maintenance-event`, which
becomes TERMINATE_ON_HOST_MAINTENANCE. Only machines that have such a server are asked (`sensors/cluster.py` finds it): elsewhere
nothing of this is loaded.
"""

from __future__ import annotations

import http.client
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

PREEMPTED, MAINTENANCE = "preempted", "maintenance-event"
ENDS = {PREEMPTED: "TRUE", MAINTENANCE: "TERMINATE_ON_HOST_MAINTENANCE"}
HANGS_S = 60.0  # asked of the server; a connection that died without a word is noticed so late at most
LATE_S = 10.0  # beyond that
PAUSE_S = 2.0  # after an error


@dataclass(frozen=True)
class PreemptionNotice:
    source: str  # the address of the server
    what: str  # preempted | maintenance-event

    @property
    def words(self) -> str:
        what = "This machine is preempted" if self.what == PREEMPTED else "This machine is stopped for maintenance"
        return f"{what} (metadata server {self.source})"


class PreemptionListener:
    """Listened to by threads that die with the process."""

    def __init__(self, address: str) -> None:
        """`address`: host:port of the server."""
        self._address = address
        self.received: PreemptionNotice | None = None
        self._ended = threading.Event()

    @contextmanager
    def listen_for_notice(self) -> Iterator[None]:
        # A signal must find the main thread, which waits for it, and none of ours.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        for what in ENDS:
            threading.Thread(target=self._listen, args=(what,), name=f"unstall-{what}", daemon=True).start()
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        try:
            yield
        finally:
            self._ended.set()

    def _listen(self, what: str) -> None:
        """A maintenance that was there from the beginning is no news: the engine that restarted us here knew of it. A machine
        that is preempted will be gone in seconds, whenever that was said."""
        etag, value = "", ""
        while not self._ended.is_set() and self.received is None:
            try:
                before, (etag, value) = value, ask_server(self._address, what, etag)
            except (OSError, http.client.HTTPException, ValueError):
                self._ended.wait(PAUSE_S)
                continue
            if value == ENDS[what] and (before or what == PREEMPTED):
                self.received = PreemptionNotice(self._address, what)


def ask_server(address: str, what: str, etag: str) -> tuple[str, str]:
    """The value and its mark; with the mark of the last one it waits until there is another, or its time is up."""
    waiting = f"?wait_for_change=true&last_etag={etag}&timeout_sec={HANGS_S:.0f}" if etag else ""
    connection = http.client.HTTPConnection(address, timeout=HANGS_S + LATE_S)
    began = time.monotonic()
    try:
        connection.request("GET", f"/computeMetadata/v1/instance/{what}{waiting}", headers={"Metadata-Flavor": "Google"})
        answer = connection.getresponse()
        value = answer.read(1000).decode(errors="replace").strip()
        if answer.status != 200 or answer.getheader("Metadata-Flavor") != "Google":
            raise ValueError(f"HTTP {answer.status}")
        mark = answer.getheader("ETag") or ""
    finally:
        connection.close()
    if not mark or (etag and time.monotonic() - began < 0.1 and mark == etag):
        time.sleep(PAUSE_S)  # a server that does not wait is not to be asked without a pause
    return mark, value
