"""How large the updates of a run are: the rate, and the gradients of each group of layers. Told now and then, more often in its
first minutes."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping

from unstall.journal.events import UpdatesMeasured
from unstall.training.loop.instrumentation import emit

EVERY_S, SHARE, MAX_S = 2.0, 0.02, 60.0  # at first; of the time since; and at most

Write = Callable[[int, Mapping[str, float]], None]


class Updates:
    def __init__(self, write: Write | None = None, now: Callable[[], float] = time.monotonic) -> None:
        """`write`: where the norms are shown beside the journal, by step."""
        self._write, self._now = write, now
        self._began = self._reported_at = now()
        self._sums: dict[str, float] = {}
        self._norm, self._rate, self._count, self._step = 0.0, 0.0, 0, 0

    def see(self, step: int, rate: float, norm: float, norms: Mapping[str, float]) -> None:
        """One that was applied: its rate, the norm of its gradients, and that of each group."""
        for group, value in norms.items():
            self._sums[group] = self._sums.get(group, 0.0) + value
        self._norm += norm
        self._count, self._step, self._rate = self._count + 1, step, rate
        now = self._now()
        if now - self._reported_at >= min(MAX_S, max(EVERY_S, SHARE * (now - self._began))):
            self.report()

    def report(self) -> None:
        """What was not told yet."""
        if not self._count:
            return
        step, means = self._step, {group: _short(total / self._count) for group, total in self._sums.items()}
        emit(
            UpdatesMeasured(
                at=time.time(),
                step=step,
                updates=self._count,
                rate=_short(self._rate),
                norm=_short(self._norm / self._count),
                norms=means,
            )
        )
        if self._write is not None:
            self._write(step, {f"gradients/{group}": norm for group, norm in means.items()})
        self._reported_at = self._now()
        self._sums, self._norm, self._count = {}, 0.0, 0


def _short(value: float) -> float:
    return float(f"{value:.5g}")


# The layers of a detector in a few groups, from the image to the boxes, so that the gradients of each can be looked at.


BODIES = ("backbone.body.", "backbone.features.")  # where most layers are: three groups by depth
DEPTHS = ("first layers", "middle layers", "last layers")
DOTS = 2  # of a layer's name, that tell one group from the other: backbone.fpn, head.regression_head, rpn.head
LEARNS_FIRST = ("backbone", "rpn")  # all others come after these


def group_layers(names: Iterable[str]) -> dict[str, list[str]]:
    """Names of variables (`backbone.body.conv1/kernel`) by the name of their group."""
    by_layer: dict[str, list[str]] = {}
    for name in names:
        by_layer.setdefault(name.partition("/")[0], []).append(name)
    found: dict[str, list[str]] = {}
    for layer, group in _in_order(by_layer):
        found.setdefault(group, []).extend(by_layer[layer])
    return found


def _in_order(layers: Iterable[str]) -> list[tuple[str, str]]:
    """Each layer and its group."""
    ordered = sorted(layers, key=_depth)
    body = [layer for layer in ordered if layer.startswith(BODIES)]
    of_body = {layer: f"backbone, {DEPTHS[place * len(DEPTHS) // len(body)]}" for place, layer in enumerate(body)}
    rest = [layer for layer in ordered if layer not in of_body]
    return [*of_body.items(), *((layer, ".".join(layer.split(".")[:DOTS])) for layer in rest)]


def _depth(layer: str) -> tuple[int, list[tuple[int, str]]]:
    """Sorted so, layer 2 comes before layer 10."""
    part = layer.partition(".")[0]
    place = LEARNS_FIRST.index(part) if part in LEARNS_FIRST else len(LEARNS_FIRST)
    return place, [(int(each), "") if each.isdigit() else (-1, each) for each in re.split(r"(\d+)", layer) if each]
