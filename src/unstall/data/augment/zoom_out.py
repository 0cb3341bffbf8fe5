"""SSD's expansion: the image somewhere on a canvas up to four times as wide and high, so that objects are small."""

from __future__ import annotations

from dataclasses import dataclass, replace

from unstall.data.augment.geometry import Rect, Scene, View
from unstall.data.augment.rng import Rng


@dataclass(frozen=True, slots=True)
class ZoomOut:
    share: float = 0.5
    most: float = 4.0

    def seen(self, view: View, scene: Scene, rng: Rng) -> View:
        happens, factor = rng.happens(self.share), rng.between(1.0, self.most)
        across, down = rng.number(), rng.number()
        if not happens:
            return view
        base = view.window
        left = base.left - (factor - 1) * base.width * across
        top = base.top - (factor - 1) * base.height * down
        return replace(view, window=Rect(left, top, left + factor * base.width, top + factor * base.height))
