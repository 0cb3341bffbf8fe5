"""Files that Keras wrote: `.keras`, `.weights.h5`, and the `.h5` of before. Only arrays are read: no configuration is followed.

A link to another file, which HDF5 knows, is not followed either.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from unstall.detectors.weights.stored import MOST_TENSORS, Array, Unreadable, shown

WEIGHTS = "model.weights.h5"  # in a .keras file
MOST_BYTES = 4 * 2**30  # of all arrays of a file
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
                    raise Unreadable(f"The array '{shown(path)}' lies in another file, which is not opened.")
                if total > MOST_BYTES or count > MOST_TENSORS:
                    raise Unreadable(f"Its arrays have more than {MOST_BYTES:,} bytes, or are more than {MOST_TENSORS:,}.")
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
