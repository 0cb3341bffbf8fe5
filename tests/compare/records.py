"""Records of runs as `load_record` gives them, small and whole: a test changes what it is about."""

from __future__ import annotations

import copy
from typing import Any

MIB = 2**20
SCRIPT = """\
BATCH = 16
FILTERS = 32
RATE = 0.001
optimizer = keras.optimizers.Adam(RATE)
dataset = dataset.map(read, num_parallel_calls=4)
dataset = dataset.prefetch(2)
model.fit(dataset)
import picturekit
"""


def layer(name: str, kind: str, shape: list[int | None], parameters: int, batch: int = 16) -> dict[str, Any]:
    count = 1
    for side in shape[1:]:
        count *= side or 1
    return {"name": name, "class": kind, "output_shape": shape, "parameters": parameters, "activation_bytes": 4 * count * batch}


def layers(filters: int = 32, size: int = 128, batch: int = 16, deeper: int = 0) -> list[dict[str, Any]]:
    shape: list[int | None] = [None, size, size, filters]
    more = [layer(f"conv2d_{2 + number}", "Conv2D", shape, filters * filters, batch) for number in range(deeper)]
    return [
        layer("conv2d", "Conv2D", shape, 4 * filters, batch),
        layer("conv2d_1", "Conv2D", shape, filters * filters, batch),
        *more,
        layer("pool", "GlobalAveragePooling2D", [None, filters], 0, batch),
        layer("dense", "Dense", [None, 4], 5 * filters, batch),
    ]


def record(
    batch: int = 16, size: int = 128, filters: int = 32, deeper: int = 0, peak_mib: float = 900.0, **sections: Any
) -> dict[str, Any]:
    """A healthy run. `sections` are put over those that are here."""
    own = layers(filters, size, batch, deeper)
    shape = [batch, size, size, 3]
    plain: dict[str, Any] = {
        "run": {"name": "run", "script": "/home/u/train.py", "command": ["python", "train.py"], "outcome": "done", "cause": ""},
        "settings": {},
        "sources": {"train.py": {"sha256": "0", "lines": 7, "text": SCRIPT}},
        "environment": {"KERAS_BACKEND": "jax"},
        "versions": {"python": "3.11.4", "keras": "3.9.0", "picturekit": "1.4.0"},
        "machine": {"cores": 8, "memory_bytes": 64 * 1024 * MIB, "hostname": "a", "storage": {"kind": "ext4"}},
        "devices": [],
        "data": {"files": 500, "examples": 500, "bytes": 10_000_000, "digest": "d", "image_px": {"sizes": {"640×480": 500}}},
        "batch": {
            "size": batch, "bytes": 4 * batch * size * size * 3, "different_shapes": 1,
            "arrays": [
                {"role": "x", "name": "", "shape": shape, "dtype": "float32"},
                {"role": "y", "name": "", "shape": [batch], "dtype": "int32"},
            ],
            "shapes": [{"arrays": [{"role": "x", "name": "", "shape": shape, "dtype": "float32"}], "batches": 30}],
            "values": [{"role": "y", "name": "", "min": 0, "max": 3, "distinct": 4}],
        },
        "model": {
            "class": "Sequential", "parameters": sum(each["parameters"] for each in own), "layers": own, "precision": "float32",
            "backend": "jax",
        },
        "optimizer": {"class": "Adam", "learning_rate": 0.001, "jit_compile": True},
        "loss": {"names": ["sparsecategoricalcrossentropy"]},
        "input": {
            "kind": "tf.data", "threads": 40, "arguments": {},
            "stages": [
                {"stage": "map", "arguments": {"num_parallel_calls": 4}, "where": "train.py:5"},
                {"stage": "prefetch", "arguments": {"buffer_size": 2}, "where": "train.py:6"},
            ],
        },
        "figures": {
            "steps": 200, "step_s": 0.1, "step_spread_s": 0.004,
            "parts": {"input": 0.01, "compute": 0.09, "validation": 0.0, "checkpoint": 0.0, "compile": 0.02, "other": 0.001},
            "host_peak_bytes": peak_mib * MIB, "host_before_bytes": 500 * MIB, "loss_first": 1.4, "loss_last": 0.4,
            "curve": [[step, 1.4 - 0.005 * step] for step in range(200)],
        },
    }  # fmt: skip
    return changed(plain, **sections)


def changed(plain: dict[str, Any], **sections: Any) -> dict[str, Any]:
    """The record with these sections put over its own, one level deep; one that is None is gone."""
    new = copy.deepcopy(plain)
    for name, section in sections.items():
        old = new.get(name)
        new[name] = {**old, **section} if isinstance(section, dict) and isinstance(old, dict) else section
    return {name: section for name, section in new.items() if section is not None}


def source(text: str) -> dict[str, Any]:
    return {"train.py": {"sha256": str(hash(text)), "lines": text.count("\n"), "text": text}}
