"""The image mirrored, left to right, in a share of the draws."""

from __future__ import annotations

from dataclasses import dataclass, replace

from unstall.data.augment.geometry import Scene, View
from unstall.data.augment.rng import Rng


@dataclass(frozen=True, slots=True)
class Flip:
    share: float = 0.5

    def seen(self, view: View, scene: Scene, rng: Rng) -> View:
        return replace(view, is_flipped=not view.is_flipped) if rng.happens(self.share) else view
