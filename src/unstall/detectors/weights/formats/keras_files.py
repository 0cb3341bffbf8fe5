"""Files that Keras wrote: `.keras`, `.weights.h5`, and the `.h5` of before. Only arrays are read: no configuration is followed.

A link to another file, which HDF5 knows, is not followed either.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from unstall.detectors.weights.tensors import MAX_TENSORS, Array, StoredTensor, Tensors, Unreadable, format_value

WEIGHTS = "model.weights.h5"  # in a .keras file
MAX_BYTES = 4 * 2**30  # of all arrays of a file
# In the order in which Keras writes them, where it writes numbers for names.
ORDER = {1: ("kernel",), 2: ("kernel", "bias"), 4: ("gamma", "beta", "moving_mean", "moving_variance")}
Layers = dict[str, dict[str, Array]]  # arrays by the name of the layer and of the weight


def read_archive(path: Path) -> Layers:
    try:
        with zipfile.ZipFile(path) as archive:
            info = archive.getinfo(WEIGHTS)
            if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size:
                raise Unreadable(f"Its {WEIGHTS} is compressed. Keras writes it as it is.")
            raw = archive.read(info)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError, EOFError, ValueError, KeyError) as error:
        raise Unreadable(f"Its zip is damaged or cut off: {error}.") from None
    return _read(io.BytesIO(raw))


def read_h5(path: Path) -> Layers:
    return _read(path)


def _read(source: Any) -> Layers:
    import h5py  # comes with Keras

    layers: Layers = {}
    total = count = 0
    try:
        with h5py.File(source, "r") as file:
            top = file.get("model_weights", file)
            for path, data in _datasets(top, ""):
                total, count = total + int(data.nbytes), count + 1
                if data.is_virtual or data.external:
                    raise Unreadable(f"The array '{format_value(path)}' lies in another file, which is not opened.")
                if total > MAX_BYTES or count > MAX_TENSORS:
                    raise Unreadable(f"Its arrays have more than {MAX_BYTES:,} bytes, or are more than {MAX_TENSORS:,}.")
                layer, weight = _names(top, path)
                layers.setdefault(layer, {})[weight] = np.asarray(data[()])
    except (OSError, RuntimeError, ValueError, KeyError, TypeError) as error:
        raise Unreadable(f"Its HDF5 is damaged or cut off: {str(error)[:160]}.") from None
    return {layer: _named(weights) for layer, weights in layers.items()}


def _datasets(group: Any, before: str, depth: int = 0) -> Iterator[tuple[str, Any]]:
    """The arrays below, by their path. Links out of the file are left alone."""
    import h5py

    for name in group:
        if not isinstance(group.get(name, getlink=True), h5py.HardLink) or name == "optimizer_weights":
            continue
        inner = group[name]
        if isinstance(inner, h5py.Dataset):
            if inner.dtype.kind == "f":
                yield f"{before}{name}", inner
        elif isinstance(inner, h5py.Group) and depth < 8:
            yield from _datasets(inner, f"{before}{name}/", depth + 1)


def _names(top: Any, path: str) -> tuple[str, str]:
    """'layers/conv2d_1/vars/0' says the layer's name in an attribute; 'conv1_conv/conv1_conv/kernel:0' says it all."""
    parts = path.split("/")
    if len(parts) >= 2 and parts[-2] == "vars":
        said = top["/".join(parts[:-1])].attrs.get("name", parts[-3] if len(parts) > 2 else "")
        return (said.decode() if isinstance(said, bytes) else str(said)), parts[-1]
    return parts[0], parts[-1].partition(":")[0].removeprefix("depthwise_")


def _named(weights: dict[str, Array]) -> dict[str, Array]:
    if not all(name.isdecimal() for name in weights):
        return weights
    names = ORDER.get(len(weights), ())
    return {names[int(number)]: array for number, array in weights.items() if int(number) < len(names)}


# The networks of `keras.applications` in torchvision's names and layout, with what differs between them.
#
# All were trained on other inputs than torchvision's, so the first convolution is turned to ours: its channels from blue-
# green-red to red-green-blue, and its scale. A bias before a norm becomes part of the norm's mean, as our convolutions there
# have none.


PIXELS_PER_STD = 255 * np.array([0.229, 0.224, 0.225], np.float32)  # red, green, blue, of torchvision's ImageNet networks
VGG16_CONVS = {"block1": (0, 2), "block2": (5, 7), "block3": (10, 12, 14), "block4": (17, 19, 21), "block5": (24, 26, 28)}

RESNET_NOTE = (
    "keras.applications' ResNet50 halves the size in the first 1×1 convolution of a stage, this one in the 3×3: the weights "
    "are a start for a training, not the same network"
)
CAFFE_NOTE = (
    "it was trained with the mean of Caffe, up to 0.7 of 255 from this one's; the first convolution was turned from BGR to RGB"
)
MOBILENET_NOTE = (
    "it was trained on pixels from -1 to 1, as ssdlite takes them, and pads behind where this one pads on both sides: a start "
    "for a training, not the same network"
)


def translate_keys(layers: Layers) -> tuple[Tensors, tuple[str, ...]]:
    """By torchvision's keys of the ImageNet network, and what is to be said of it."""
    notes: tuple[str, ...]
    if "conv2_block1_0_conv" in layers and "conv2_block1_preact_bn" not in layers:
        arrays, notes = _with_norms_folded(layers, _resnet_key), (RESNET_NOTE, CAFFE_NOTE)
        arrays["conv1.weight"] = arrays["conv1.weight"][:, ::-1] * PIXELS_PER_STD[:, None, None]
    elif "block5_conv3" in layers and "kernel" in layers["block5_conv3"] and "bias" in layers["block5_conv3"]:
        arrays, notes = _with_norms_folded(layers, _vgg_key), (CAFFE_NOTE,)
        arrays["features.0.weight"] = arrays["features.0.weight"][:, ::-1]
    elif "expanded_conv_14_project" in layers or "expanded_conv_14/project" in layers:
        named = {name.replace("/", "_"): weights for name, weights in layers.items()}
        arrays, notes = _with_norms_folded(named, _mobilenet_keys(named)), (MOBILENET_NOTE,)
    else:
        some = ", ".join(sorted(layers)[:5]) or "none"
        raise Unreadable(
            "Of keras.applications, ResNet50, VGG16 and MobileNetV3Large can be taken: the others are no backbone of these "
            f"detectors. Its layers are named: {some[:200]} …"
        )
    return {key: StoredTensor.of(np.ascontiguousarray(array, np.float32)) for key, array in arrays.items()}, notes


def _resnet_key(layer: str) -> tuple[str, str] | None:
    """The key of a layer, and of the norm behind it."""
    if layer == "conv1_conv":
        return "conv1", "bn1"
    found = re.fullmatch(r"conv([2-5])_block(\d+)_([0-3])_conv", layer)
    if found is None:
        return None
    block = f"layer{int(found[1]) - 1}.{int(found[2]) - 1}"
    return (
        (f"{block}.downsample.0", f"{block}.downsample.1")
        if found[3] == "0"
        else (f"{block}.conv{found[3]}", f"{block}.bn{found[3]}")
    )


def _vgg_key(layer: str) -> tuple[str, str] | None:
    found = re.fullmatch(r"(block[1-5])_conv([1-3])", layer)
    if found is None or int(found[2]) > len(VGG16_CONVS[found[1]]):
        return None
    return f"features.{VGG16_CONVS[found[1]][int(found[2]) - 1]}", ""


def _mobilenet_keys(layers: Layers) -> Callable[[str], tuple[str, str] | None]:
    """Each block's parts are numbered; which parts it has shows in the file."""
    keys = {"conv": ("features.0.0", "features.0.1"), "conv_1": ("features.16.0", "features.16.1")}
    for number in range(15):
        prefix = f"expanded_conv_{number}_" if f"expanded_conv_{number}_project" in layers else "expanded_conv_"
        place = 0
        for name in ("expand", "depthwise", "squeeze_excite", "project"):
            here = f"features.{number + 1}.block.{place}"
            if name == "squeeze_excite" and f"{prefix}squeeze_excite_conv" in layers:
                keys[f"{prefix}squeeze_excite_conv"] = (f"{here}.fc1", "")
                keys[f"{prefix}squeeze_excite_conv_1"] = (f"{here}.fc2", "")
            elif f"{prefix}{name}" in layers:
                keys[f"{prefix}{name}"] = (f"{here}.0", f"{here}.1")
            else:
                continue
            place += 1
    return keys.get


def _with_norms_folded(layers: Layers, key_of: Callable[[str], tuple[str, str] | None]) -> dict[str, Array]:
    result: dict[str, Array] = {}
    for layer, weights in layers.items():
        keys = key_of(layer)
        if keys is None or "kernel" not in weights or weights["kernel"].ndim != 4:
            continue
        conv, norm = keys
        is_depthwise = layer.endswith("depthwise")
        result[f"{conv}.weight"] = weights["kernel"].transpose((2, 3, 0, 1) if is_depthwise else (3, 2, 0, 1))
        behind = layers.get(_norm_of(layer))
        if norm and behind is not None:
            result |= dict(_norm(norm, behind, weights.get("bias")))
        elif "bias" in weights:
            result[f"{conv}.bias"] = weights["bias"]
    return result


def _norm_of(layer: str) -> str:
    return f"{layer.removesuffix('_conv')}_bn" if layer.endswith("_conv") else f"{layer}_bn"


def _norm(key: str, weights: dict[str, Array], bias: Array | None) -> Iterator[tuple[str, Array]]:
    """A conv's bias is added before the norm takes the mean away: taken from the mean it is the same."""
    yield f"{key}.weight", weights["gamma"]
    yield f"{key}.bias", weights["beta"]
    yield f"{key}.running_mean", weights["moving_mean"] - (0 if bias is None else bias)
    yield f"{key}.running_var", weights["moving_variance"]
