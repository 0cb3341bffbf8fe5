"""SSD's colour distortion, on uint8: brightness, contrast, saturation and hue, each in half of the draws; boxes stay.

As in the paper's own code: brightness adds up to ±32, contrast multiplies by 0.5 to 1.5 (before or after the colours, by
chance), saturation multiplies by 0.5 to 1.5, hue turns by up to ±18 degrees. All of it is look-up tables and one way
through HSV, and that only where colour is touched.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from unstall.data.augment.rng import Rng

Pixels = npt.NDArray[np.uint8]
LEVELS = np.arange(256, dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Colours:
    """What was drawn for one image."""

    brightness: float = 0.0  # added
    contrast: float = 1.0
    contrast_is_last: bool = False
    saturation: float = 1.0
    hue_turns: float = 0.0  # 1 is all the way round

    @property
    def changes_colour(self) -> bool:
        return self.saturation != 1.0 or self.hue_turns != 0.0

    def apply(self, pixels: Pixels) -> None:
        """In place."""
        import cv2

        early = 1.0 if self.contrast_is_last else self.contrast
        if self.brightness or early != 1.0:
            cv2.LUT(pixels, table((LEVELS + self.brightness) * early), dst=pixels)
        if self.changes_colour:
            hue = (LEVELS + round(256 * self.hue_turns)) % 256
            coloured: Any = cv2.cvtColor(pixels, cv2.COLOR_RGB2HSV_FULL)
            tables = np.stack([table(hue), table(LEVELS * self.saturation), table(LEVELS)], axis=-1)
            cv2.LUT(coloured, tables.reshape(256, 1, 3), dst=coloured)
            cv2.cvtColor(coloured, cv2.COLOR_HSV2RGB_FULL, dst=pixels)
        if self.contrast_is_last and self.contrast != 1.0:
            cv2.LUT(pixels, table(LEVELS * self.contrast), dst=pixels)


@dataclass(frozen=True, slots=True)
class PhotometricDistort:
    probability: float = 0.5  # of each of the four
    brightness: float = 32.0
    contrast: tuple[float, float] = (0.5, 1.5)
    saturation: tuple[float, float] = (0.5, 1.5)
    hue_turns: float = 0.05  # 18 degrees, either way

    def drawn(self, rng: Rng) -> Colours:
        """The same count of numbers whatever happens, so that what is drawn later does not depend on it."""
        happens = [rng.happens(self.probability) for _ in range(4)]
        brightness = rng.between(-self.brightness, self.brightness)
        contrast, saturation = rng.between(*self.contrast), rng.between(*self.saturation)
        hue, last = rng.between(-self.hue_turns, self.hue_turns), rng.happens(0.5)
        return Colours(
            brightness=brightness if happens[0] else 0.0,
            contrast=contrast if happens[1] else 1.0,
            contrast_is_last=last,
            saturation=saturation if happens[2] else 1.0,
            hue_turns=hue if happens[3] else 0.0,
        )


def table(levels: npt.NDArray[np.float64]) -> Pixels:
    return np.clip(np.rint(levels), 0, 255).astype(np.uint8)
