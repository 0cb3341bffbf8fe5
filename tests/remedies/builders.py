"""Faults as a real training has them, in few words: for tests that read as specifications."""

from __future__ import annotations

from typing import Any

from unstall.config.settings import GIB, Settings
from unstall.journal.events import Event, HostSampled, InputMeasured, PlanMade, StepsEnded, TrainingBegan
from unstall.journal.reader import Journal
from unstall.remedies.plan import Fault, Kind

T0 = 1_700_000_000.0


def fault(
    kind: Kind,
    *events: Event,
    step: int = 100,
    plans: tuple[PlanMade, ...] = (),
    checkpoints: tuple[int, ...] = (50, 80),
    cores: int = 8,
    **settings: Any,
) -> Fault:
    return Fault(kind, step, "It happened.", ("seen",), Settings(**settings), Journal(events), plans, checkpoints, cores)


def began(device: str = "gpu:0", examples: int = 1000, epochs: int = 10, steps_per_epoch: int = 100) -> TrainingBegan:
    return TrainingBegan(at=T0, device=device, examples=examples, epochs=epochs, steps_per_epoch=steps_per_epoch)


def made(remedy: str, cause: Kind, step: int = 100, attempt: int = 1, **change: Any) -> PlanMade:
    return PlanMade(
        at=T0, remedy=remedy, cause=cause.value, step=step, attempt=attempt, change=change, undo=dict.fromkeys(change)
    )


def steps(wait_share: float, count: int = 60, seconds: float = 60.0) -> StepsEnded:
    """So many steps of an epoch of 100, waiting for input for a share of the time."""
    return StepsEnded(
        at=T0 + seconds, first=0, last=count - 1, seconds=seconds, wait_s=wait_share * seconds, waited_steps=count, loss=1.0
    )


def measured(read_s: float, decode_s: float, augment_s: float = 1.0, workers: int = 4) -> InputMeasured:
    return InputMeasured(at=T0 + 30, workers=workers, read_s=read_s, decode_s=decode_s, augment_s=augment_s)


def host(cpu_cores: float = 2.0, free_gib: float = 10.0, total_gib: float = 64.0, rss_gib: float = 4.0) -> HostSampled:
    return HostSampled(
        at=T0 + 30,
        interval_s=1.0,
        cpu_cores=cpu_cores,
        available_bytes=int(free_gib * GIB),
        total_bytes=int(total_gib * GIB),
        rss_bytes=int(rss_gib * GIB),
    )
