"""What a step really takes, made a few times on the device of this backend: the allocator's peak on a card, else the process's.

In a process of its own, and one for each question: a peak is never taken back.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from unstall.planning.memory.messages import Answer, Phase, split

if TYPE_CHECKING:
    import numpy as np

    from unstall.config.settings import Settings
    from unstall.detectors.detector import Detector

STEPS = 3  # the optimizer's slots are there after the first, and the compiler is done


def measure_step(detector: Detector, settings: Settings, phase: Phase) -> Answer:
    import numpy as np

    from unstall.planning.memory.estimate import compute_sizes, list_layers
    from unstall.training.step.step import list_batch_shapes

    images = settings.at_once
    layers = list_layers(detector, images, settings.max_boxes_per_image)
    sizes = compute_sizes(detector, settings, phase)
    before = forget_peak()
    shapes = list_batch_shapes(tuple(detector.settings.image_size), settings.batch_size, settings.max_boxes_per_image)
    batch = {name: np.zeros(shape, kind) for name, (shape, kind) in shapes.items()}
    if phase == "training":
        _train(detector, settings, batch)
    else:
        _detect(detector, batch["images"])
    on_card = read_gpu_peak_bytes()
    need = on_card if on_card is not None else read_peak_bytes() - before + sizes.weights
    return split(need, sizes, layers, {"on_card": on_card is not None})


def _train(detector: Detector, settings: Settings, batch: dict[str, np.ndarray]) -> None:
    from unstall.training.step.step import Step

    step = Step(detector, settings, STEPS + 1)
    for _ in range(STEPS):
        step(batch).read()
    if forget_trials():
        step(batch).read()


def _detect(detector: Detector, images: object) -> None:
    from unstall.detectors.detector import InferenceModel

    detecting = InferenceModel(detector)
    for _ in range(2):
        detecting.predict_on_batch(images)


def forget_peak() -> int:
    """From now on the peak is that of what follows. Gives what the process holds at this moment."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        pass  # the peak then has that of the start in it, too: the need is rather too large than too small
    return _held("VmRSS")


def read_peak_bytes() -> int:
    """The most that this process has held."""
    return _held("VmHWM")


def _held(name: str) -> int:
    found = re.search(rf"^{name}:\s+(\d+) kB", Path("/proc/self/status").read_text(), re.MULTILINE)
    assert found is not None
    return int(found[1]) * 1024


def forget_trials() -> bool:
    """On PyTorch the first steps try kernels, whose room is not that of a step: from now on the peak is without it."""
    import keras

    if keras.backend.backend() != "torch":
        return False
    import torch

    if not torch.cuda.is_available():
        return False
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    return True


def read_gpu_peak_bytes() -> int | None:
    """The most that the backend's allocator ever gave out on the card; None where it computes on the cores.

    Of PyTorch what it keeps, if that is more: a step that is recorded computes in memory that nobody else is given."""
    import keras

    backend = keras.backend.backend()
    if backend == "torch":
        import torch

        if not torch.cuda.is_available():
            return None
        return int(max(torch.cuda.max_memory_allocated(), torch.cuda.memory_reserved()))
    if backend == "tensorflow":
        import tensorflow as tf

        cards = tf.config.list_logical_devices("GPU")
        return int(tf.config.experimental.get_memory_info("GPU:0")["peak"]) if cards else None
    import jax

    stats = jax.local_devices()[0].memory_stats() or {}
    return int(stats["peak_bytes_in_use"]) if "peak_bytes_in_use" in stats else None
