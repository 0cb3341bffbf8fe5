"""Weights of Flax, whose convolutions are numbered as they are made: a VGG-16 in torchvision's names and layout."""

from __future__ import annotations

import re
from functools import partial

import numpy as np

from unstall.detectors.weights.stored import Array, Stored, Tensors

VGG16_LAYERS = (0, 2, 5, 7, 10, 12, 14, 17, 19, 21, 24, 26, 28)  # in torchvision's `features`
VGG16_CHANNELS = (64, 64, 128, 128, 256, 256, 256, 512, 512, 512, 512, 512, 512)


def translated(tensors: Tensors) -> Tensors:
    """As they are, where no thirteen convolutions in a row are those of a VGG-16."""
    convolutions: dict[str, dict[int, dict[str, str]]] = {}  # by what their names begin with, by number and part
    for name in tensors:
        found = re.fullmatch(r"(.*?)Conv_(\d{1,3})\.(kernel|bias)", name)
        if found:
            convolutions.setdefault(found[1], {}).setdefault(int(found[2]), {})[found[3]] = name
    chosen = next((numbered for numbered in convolutions.values() if _are_vgg16(numbered, tensors)), None)
    if chosen is None:
        return tensors
    used = {name for parts in chosen.values() for name in parts.values()}
    result = {name: stored for name, stored in tensors.items() if name not in used}
    for number, layer in enumerate(VGG16_LAYERS):
        kernel, bias = tensors[chosen[number]["kernel"]], tensors[chosen[number]["bias"]]
        height, width, inputs, outputs = kernel.shape
        shape = (outputs, inputs, height, width)
        result[f"features.{layer}.weight"] = Stored(shape, kernel.kind, partial(_turned, kernel))
        result[f"features.{layer}.bias"] = bias
    return result


def _are_vgg16(numbered: dict[int, dict[str, str]], tensors: Tensors) -> bool:
    if set(numbered) != set(range(13)) or any(len(parts) != 2 for parts in numbered.values()):
        return False
    inputs = (3, *VGG16_CHANNELS)
    return all(tensors[parts["kernel"]].shape == (3, 3, inputs[number], inputs[number + 1]) for number, parts in numbered.items())


def _turned(kernel: Stored) -> Array:
    """Height, width, inputs, outputs become outputs, inputs, height, width."""
    return np.ascontiguousarray(kernel.read().transpose(3, 2, 0, 1))
