"""Scale and crop: the image is made larger or smaller than the canvas; a part of it is cut out, or the rest is filled.

A scale of 1 fits the image into the canvas. 0.1 to 2 is the large-scale jitter of "Simple Copy-Paste" (Ghiasi et al., 2021),
0.8 to 1.25 the standard one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from unstall.data.augment.geometry import Rect, Scene, View
from unstall.data.augment.rng import Rng


@dataclass(frozen=True, slots=True)
class ScaleJitter:
    least: float = 0.1
    most: float = 2.0

    def seen(self, view: View, scene: Scene, rng: Rng) -> View:
        base = view.window
        fit = min(scene.area_width / base.width, scene.area_height / base.height)
        scale = fit * rng.between(self.least, self.most)
        width, height = scene.area_width / scale, scene.area_height / scale
        # Where the window is larger than the image it begins with it, and the filling lies right and below, as in a letterbox.
        left = base.left + max(0.0, base.width - width) * rng.number()
        top = base.top + max(0.0, base.height - height) * rng.number()
        return replace(view, window=Rect(left, top, left + width, top + height))
