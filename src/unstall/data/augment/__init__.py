"""Augmentations: each a frozen dataclass with its own numbers, drawn from a chance that knows (seed, epoch, row) only.

The geometric ones move a window over the image; nothing is resized until all of them have spoken, so an example is resampled
once however many there are, and its boxes follow the very same numbers as its pixels.
"""
