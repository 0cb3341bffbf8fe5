"""The host's own memory: what the pipeline, the cache and a checkpoint in the making will hold, against what there is."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, replace
from typing import Any

from unstall.config.settings import Settings
from unstall.sensors import cgroup

MIB = 2**20
# Roughly, of a process that has loaded Keras and this backend and made a step of a small detector; only JAX was measured: 460 MB.
FRAMEWORK_BYTES = {"tensorflow": 1100 * MIB, "jax": 700 * MIB, "torch": 700 * MIB}
USUAL_PIXELS = 4000 * 3000  # of the largest image, where nobody has looked: a photograph
KEPT_SHARE = 0.1  # of the memory, that is not promised to anybody: the system, other programs, what grows


@dataclass(frozen=True)
class HostNeed:
    """All in bytes."""

    framework: int
    ahead: int  # batches that are made ahead
    cache: int  # decoded images, where they are kept in memory
    scratch: int  # of the input threads: each has one decoded image, and what it makes of it
    snapshot: int  # of a checkpoint, while it is written
    device: int  # what the training itself takes, where the cores compute
    limit: int
    used: int  # by others, now

    @property
    def total(self) -> int:
        return self.framework + self.ahead + self.cache + self.scratch + self.snapshot + self.device

    def of_all(self, workers: int) -> HostNeed:
        """With so many on this host; only one of them writes a checkpoint."""
        each = {name: workers * getattr(self, name) for name in ("framework", "ahead", "cache", "scratch", "device")}
        return replace(self, **each)

    @property
    def fits(self) -> bool:
        return self.total <= (self.limit - self.used) * (1 - KEPT_SHARE)

    def as_plain(self) -> dict[str, Any]:
        return {**asdict(self), "total": self.total, "fits": self.fits}


def estimate_host_need(
    settings: Settings,
    backend: str,
    input_bytes: int,
    state_bytes: int,
    on_the_cores_bytes: int = 0,
    largest_pixels: int | None = None,
) -> HostNeed:
    """`input_bytes` are of one batch, `state_bytes` of a checkpoint."""
    threads = settings.num_input_workers or len(os.sched_getaffinity(0))
    canvas = input_bytes // settings.batch_size
    return HostNeed(
        framework=FRAMEWORK_BYTES[backend],
        ahead=max(settings.prefetch_bytes, 2 * input_bytes),  # the one in use and the next are there whatever was asked for
        cache=0 if settings.cache_dir else settings.cache_bytes,
        # Decoded and turned upright an image exists twice, and so does the canvas that it is drawn on.
        scratch=threads * (2 * 3 * (largest_pixels or USUAL_PIXELS) + 2 * canvas),
        snapshot=state_bytes,
        device=on_the_cores_bytes,
        limit=read_limit_bytes(),
        used=read_used_bytes(),
    )


def read_limit_bytes() -> int:
    """Of the machine, or of the control group where that is less."""
    group = cgroup.find(os.getpid())
    limit = cgroup.read_limit(group) if group is not None else None
    return min(limit, _total()) if limit is not None else _total()


def read_used_bytes() -> int:
    """Of that limit: by everybody who shares it, and by whoever else leaves the machine less than it."""
    import psutil

    group = cgroup.find(os.getpid())
    left = cgroup.read_free_bytes(group) if group is not None else None
    available = int(psutil.virtual_memory().available)
    return max(0, read_limit_bytes() - (available if left is None else min(left, available)))


def _total() -> int:
    import psutil

    return int(psutil.virtual_memory().total)
