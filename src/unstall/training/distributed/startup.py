"""How a worker joins the others of its run: they meet and agree on the settings, then the backend takes over."""

from __future__ import annotations

import os
import platform
import socket
import time
from typing import Any

from unstall.backends.packages import find_version
from unstall.base.exit_codes import OTHERS_LOST
from unstall.base.processes import end_with_parent
from unstall.config.settings import Settings, apply_changes, as_plain
from unstall.journal.events import OthersLost, OthersMissed, WorkerJoined, WorkersAwaited
from unstall.probe import startup as probe_startup
from unstall.probe.core import probe
from unstall.training.distributed import rendezvous
from unstall.training.distributed.collectives import Channel, Collectives
from unstall.training.distributed.engines import ProcessEnv
from unstall.training.distributed.heartbeat import Heartbeat, LostWorkers
from unstall.training.distributed.rendezvous import RendezvousResult, WaitStatus
from unstall.training.loop import instrumentation
from unstall.training.loop.instrumentation import print_message
from unstall.training.loop.interruption import Interrupted, Interruption

REPORT_INTERVAL_S = 5.0
SAY_AFTER_S = 20.0
# What may be another on each machine: where things lie, and how they are read and kept.
OWN_SETTINGS = (
    "data", "label_map", "val_data", "weights", "cache_dir", "num_input_workers", "prefetch_bytes", "cache_bytes", "tensorboard",
    "checkpoint_interval_s", "checkpoint_interval_steps", "max_checkpoints", "max_restarts",
)  # fmt: skip
SAME_PACKAGES = ("unstall", "keras", "jax", "jaxlib", "numpy")  # by which the same program is compiled


def join_workers(who: ProcessEnv, settings: Settings, interruption: Interruption) -> tuple[Collectives, Settings]:
    """And the settings that all have agreed on. In the main thread, before the backend starts."""
    end_with_parent()
    load_backend()
    met = rendezvous.meet(who, build_agreement(settings), agree_on_settings, WaitReporter(who))
    watched = SilenceReporter(who, met)
    heartbeat = Heartbeat(who.rank, met.connections, watched, instrumentation.count_steps_done).start()
    channel = join_backend(who, met)
    watched.is_joining = False
    interruption.reinstall_handlers()
    event = WorkerJoined(
        at=time.time(),
        worker=who.rank,
        of=who.world_size,
        host=socket.gethostname(),
        pid=os.getpid(),
        coordinator=who.coordinator,
        seconds=met.seconds,
        met_at=met.at,
        ahead_s=met.clock.ahead_s if met.clock else None,
        ahead_error_s=met.clock.error_s if met.clock else 0.0,
    )
    instrumentation.emit(event)

    def alive() -> None:
        instrumentation.report_alive()
        if interruption.is_requested:
            raise Interrupted

    return Collectives(who, channel, alive, heartbeat), apply_changes(settings, met.agreed)


class SilenceReporter:
    """Tells whoever is not heard any more."""

    def __init__(self, who: ProcessEnv, met: RendezvousResult) -> None:
        self._who, self._met = who, met
        self.is_joining = True

    def __call__(self, news: LostWorkers) -> None:
        who, hosts = self._who, [self._met.hosts[worker] for worker in news.silent]
        silent, gone = list(news.silent), list(news.gone)
        event = OthersMissed(
            at=time.time(), worker=who.rank, of=who.world_size, silent=silent, gone=gone, hosts=hosts, seconds=news.seconds,
            step=instrumentation.count_steps_done(), unreached=list(news.unreached),
        )  # fmt: skip
        instrumentation.emit(event)
        if news.gone and self.is_joining:
            self._leave(gone)

    def _leave(self, gone: list[int]) -> None:
        """One that has met us and is gone will not join: the framework would wait for it for a minute, below Python. Nothing was
        computed yet that could be lost."""
        error = f"worker {gone[0]} ended before all had joined"
        instrumentation.emit(OthersLost(at=time.time(), worker=self._who.rank, of=self._who.world_size, error=error, gone=gone))
        print_message(f"unstall: [worker {self._who.rank}] {error}")
        current = probe.get_current()
        if current is not None:
            probe_startup.end(current)
        os._exit(OTHERS_LOST)


def build_agreement(settings: Settings) -> dict[str, Any]:
    """What must be the same for all, or they would not compute the same program; and the settings that this one has."""
    versions = {f"version of {name}": version for name, version in read_same_versions().items()}
    return {"same": versions, "settings": as_plain(settings)}


def agree_on_settings(cards: list[dict[str, Any]]) -> dict[str, Any]:
    """The settings for all: those of worker 0, where plans may have changed them, but for what is each machine's own. No worker
    computes more images at once than any other can."""
    settings = {name: value for name, value in cards[0]["settings"].items() if name not in OWN_SETTINGS}
    sizes = [each["settings"]["micro_batch_size"] for each in cards if each["settings"]["micro_batch_size"]]
    return {**settings, "micro_batch_size": min(sizes, default=None)}


class WaitReporter:
    """Tells now and then who is waited for."""

    def __init__(self, who: ProcessEnv) -> None:
        self._who, self._reported_at, self._has_said = who, 0.0, False

    def __call__(self, awaited: WaitStatus) -> None:
        if awaited.seconds - self._reported_at < REPORT_INTERVAL_S:
            return
        self._reported_at = awaited.seconds
        who, missing = self._who, list(awaited.missing)
        event = WorkersAwaited(
            at=time.time(),
            worker=who.rank,
            of=who.world_size,
            missing=missing,
            coordinator=who.coordinator,
            why=awaited.why,
            seconds=awaited.seconds,
        )
        instrumentation.emit(event)
        if awaited.seconds >= SAY_AFTER_S and missing and not self._has_said:
            self._has_said = True
            waited = f"worker {who.rank} has waited {awaited.seconds:.0f} s at {who.coordinator} for"
            numbers = ", ".join(str(number) for number in missing)
            print_message(f"unstall: {waited} worker {numbers} of {who.world_size}. {awaited.why}".rstrip())


# Several processes on one backend: what must be the same for all, and how they join.


def read_same_versions() -> dict[str, str]:
    """Of all that processes must have the same of, or they would not compute the same program."""
    python = ".".join(platform.python_version_tuple()[:2])
    return {"python": python, **{package: find_version(package) for package in SAME_PACKAGES}}


def load_backend() -> None:
    """What `join` needs. It may take long on a machine that has much to do, so that it is done before they meet: who has met
    waits for nobody any more."""
    from unstall.training.distributed import backend_jax  # noqa: F401


def join_backend(who: ProcessEnv, met: RendezvousResult) -> Channel:
    """After they have met, before anything is computed."""
    from unstall.training.distributed import backend_jax

    return backend_jax.join(who, met)


def leave_backend() -> None:
    """When all are done."""
    from unstall.training.distributed import backend_jax

    backend_jax.leave()
