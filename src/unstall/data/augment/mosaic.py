"""Four images on one canvas, meeting in a point drawn near its middle (Bochkovskiy et al., 2020).

Each image is scaled and laid with a corner at the meeting point, so that it fills its quarter from there; what reaches beyond
the quarter is cut off, and a box is kept where enough of it still shows. Of the other geometric augmentations only the
flip acts on the four: they cut and scale already.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from unstall.data.augment.geometry import Area, Rect, Scene, View
from unstall.data.augment.rng import Rng


@dataclass(frozen=True, slots=True)
class Mosaic:
    probability: float = 1.0
    min_scale: float = 0.5  # 1: the whole image would just fit into the canvas
    max_scale: float = 1.5
    margin: float = 0.25  # the meeting point stays as far from the edges, as a share of the side

    def partners(self, rng: Rng, count: int) -> tuple[int, ...]:
        """Rows of the three further images; none where no mosaic is drawn."""
        happens, rows = rng.happens(self.probability), tuple(rng.index(count) for _ in range(3))
        return rows if happens else ()

    def quarters(self, rng: Rng, width: int, height: int) -> tuple[Area, ...]:
        """Top left, top right, bottom left, bottom right."""
        x = _within(rng.between(self.margin, 1 - self.margin), width)
        y = _within(rng.between(self.margin, 1 - self.margin), height)
        return Area(0, 0, x, y), Area(x, 0, width, y), Area(0, y, x, height), Area(x, y, width, height)

    def apply(self, view: View, scene: Scene, rng: Rng, quarter: int, canvas: tuple[int, int]) -> View:
        """The window that lays the image's inner corner on to the meeting point; `view` says whether it is mirrored there."""
        fit = min(canvas[0] / scene.width, canvas[1] / scene.height)
        scale = fit * rng.between(self.min_scale, self.max_scale)
        across, down = scene.area_width / scale, scene.area_height / scale
        is_left, is_top = (quarter % 2 == 0) != view.is_flipped, quarter < 2
        left = scene.width - across if is_left else 0.0
        top = scene.height - down if is_top else 0.0
        return replace(view, window=Rect(left, top, left + across, top + down))


def _within(probability: float, length: int) -> int:
    return min(length - 1, max(1, round(probability * length)))
