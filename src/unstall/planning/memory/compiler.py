"""What JAX's compiler says that a step needs: on this machine's CPU or card, or on a card that need not be there.

On the card itself it tries which algorithm of each convolution is the quickest, and so knows the scratch that they take: what it
says then is what a step takes, to the kilobyte. Elsewhere it guesses those.

A card is described to the compiler in figures; the two packages of JAX for CUDA hold that compiler, and need neither the card nor
its driver. They may lie in a folder of their own (`find_folder()`): beside JAX, where there is no card, they complain at
each start.
"""

from __future__ import annotations

import importlib.metadata
import os
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unstall.backends import is_installed
from unstall.backends.allocators import CUDA_PLUGINS
from unstall.backends.devices import trace_for_gpu
from unstall.base.errors import MissingDependencyError
from unstall.base.files import get_cache_dir
from unstall.planning.memory.messages import Answer, Phase, split

if TYPE_CHECKING:
    from unstall.config.settings import Settings
    from unstall.detectors.detector import Detector

PACKAGES = ("jax-cuda13-plugin", "jax-cuda13-pjrt")
# Of the process that compiles on the card itself: its trials take what they need, and leave the rest to whoever is there.
ON_THE_CARD = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
GIVEN = "given_bytes"  # among the figures of a card: what of its memory a program is given
# Of the memory of a card that it has only heard of, the compiler takes this to be given; on a card it knows. What it would need
# beyond that it computes twice, as far as it can.
TAKEN_TO_BE_GIVEN = 0.8
RECOMPUTED, RECOMPUTED_MARK = "recomputed", ".remat"  # how many results it computes twice; the end of their names
ACCELERATED_SINCE = 9  # the major capability from which on a card has instructions that are its own alone


# --- whether it can be asked ---


def find_folder() -> Path:
    """Where the compiler for cards may lie, by JAX's own version."""
    return get_cache_dir() / "cuda-compiler" / _jax_version()


def can_compile(for_card: bool) -> bool:
    return is_installed("jax") and (not for_card or _is_beside() or (find_folder() / CUDA_PLUGINS[0]).is_dir())


def refuse_without_compiler() -> None:
    """Says how to get it."""
    if not is_installed("jax"):
        raise MissingDependencyError("Figures of the compiler need JAX. Install: pip install 'unstall[jax]'")
    if not can_compile(for_card=True):
        raise MissingDependencyError(f"Figures of the compiler for a card need its packages. Install: {install_command()}")


def install_command() -> str:
    """The compiler for cards is one of JAX's own version: first comes JAX, whose version is not known before."""
    if not is_installed("jax"):
        return "pip install 'unstall[jax]', and then what is said here again"
    version = _jax_version()
    return f"pip install --no-deps --target {find_folder()} {' '.join(f'{name}=={version}' for name in PACKAGES)}"


def build_environment(for_card: bool) -> dict[str, str]:
    """Of the process that compiles: it computes nothing, so it needs no device, and must not take one."""
    paths = [str(find_folder())] if for_card and not _is_beside() else []
    path = os.pathsep.join([*paths, *filter(None, [os.environ.get("PYTHONPATH")])])
    return {
        "JAX_PLATFORMS": "cpu",
        "CUDA_VISIBLE_DEVICES": "",
        "JAX_SKIP_CUDA_CONSTRAINTS_CHECK": "1",
        **({"PYTHONPATH": path} if path else {}),
    }


def _is_beside() -> bool:
    return any(is_installed(name) for name in CUDA_PLUGINS)


def _jax_version() -> str:
    try:
        return importlib.metadata.version("jax")
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


# --- in the process that compiles ---


def compile_step(detector: Detector, settings: Settings, phase: Phase, card: Mapping[str, Any]) -> Answer:
    """Compiles the whole step, and runs nothing. No card: for this machine's CPU."""
    from unstall.planning.memory.estimate import compute_sizes, list_layers

    with trace_for_gpu() if card else nullcontext():
        executable = (_training if phase == "training" else _evaluation)(detector, settings, _place(card))
    said = _memory_figures(executable.memory_analysis())
    need = said["argument"] + said["output"] - said["alias"] + said["temp"]
    said[RECOMPUTED] = executable.as_text().count(RECOMPUTED_MARK) if card else 0
    layers = list_layers(detector, settings.at_once, settings.max_boxes_per_image)
    return split(need, compute_sizes(detector, settings, phase), layers, said)


def _training(detector: Detector, settings: Settings, place: Any) -> Any:
    """The step that `unstall train` takes."""
    from unstall.training.step.step import Step
    from unstall.training.step.train_step_jax import JaxTrainStep

    train_step = Step(detector, settings, total_steps=1).train_step
    assert isinstance(train_step, JaxTrainStep)
    batch = _batch(detector, settings.batch_size, settings.max_boxes_per_image, place)
    return train_step.lower(batch, place).compile()


def _evaluation(detector: Detector, settings: Settings, place: Any) -> Any:
    """Everything behind the outputs included, as `unstall evaluate` runs it."""
    import jax

    from unstall.detectors.detector import InferenceModel

    detecting = InferenceModel(detector)

    def detect(trained: Any, other: Any, images: Any) -> Any:
        found, _ = detecting.stateless_call(trained, other, images, training=False)
        return found

    groups = (detecting.trainable_variables, detecting.non_trainable_variables)
    state = [[_shape(variable.shape, variable.dtype, place) for variable in group] for group in groups]
    images = _batch(detector, settings.at_once, settings.max_boxes_per_image, place)["images"]
    return jax.jit(detect).lower(*state, images).compile()


def _batch(detector: Detector, images: int, max_boxes_per_image: int, place: Any) -> dict[str, Any]:
    from unstall.training.step.step import list_batch_shapes

    shapes = list_batch_shapes(tuple(detector.settings.image_size), images, max_boxes_per_image)
    return {name: _shape(shape, kind, place) for name, (shape, kind) in shapes.items()}


def _shape(shape: tuple[int, ...], kind: str, place: Any) -> Any:
    import jax

    return jax.ShapeDtypeStruct(tuple(shape), kind, sharding=place)


def _memory_figures(stats: Any) -> dict[str, int]:
    return {name: int(getattr(stats, f"{name}_size_in_bytes")) for name in ("argument", "output", "alias", "temp")}


# --- the card, in the compiler's own words ---


def _place(card: Mapping[str, Any]) -> Any:
    import jax

    if not card:
        return None
    from jax.experimental import topologies

    target = describe_target(card)
    described = topologies.get_topology_desc(
        platform="cuda", topology_name="1x1x1", topology="1x1x1", target_config=target
    )  # fmt: skip
    return jax.sharding.SingleDeviceSharding(described.devices[0])


def describe_target(card: Mapping[str, Any]) -> str:
    """A GpuTargetConfigProto as text. What a block and a grid may have at most is the same for all cards of these years."""
    major, minor = card["capability"]
    memory_bytes = int(card[GIVEN] / TAKEN_TO_BE_GIVEN) if GIVEN in card else card["memory_bytes"]
    feature = "ACCELERATED_FEATURES" if major >= ACCELERATED_SINCE else "NONE"
    figures = {
        "threads_per_block_limit": 1024, "threads_per_warp": 32, "threads_per_core_limit": card["threads_per_core"],
        "block_dim_limit_x": 2**31 - 1, "block_dim_limit_y": 65535, "block_dim_limit_z": 65535,
        "thread_dim_limit_x": 1024, "thread_dim_limit_y": 1024, "thread_dim_limit_z": 64,
        "registers_per_core_limit": 65536, "registers_per_block_limit": 65536,
        "shared_memory_per_block": 49152, "shared_memory_per_block_optin": card["shared_bytes_per_block"],
        "shared_memory_per_core": card["shared_bytes_per_core"], "core_count": card["cores"],
        "fpus_per_core": card["lanes_per_core"], "memory_bandwidth": card["bytes_per_second"], "l2_cache_size": card["l2_bytes"],
        "clock_rate_ghz": card["clock_ghz"], "device_memory_size": memory_bytes,
    }  # fmt: skip
    lines = [f"  {name}: {value}" for name, value in figures.items()]
    capability = f"  cuda_compute_capability {{ major: {major} minor: {minor} feature_extension: {feature} }}"
    versions = '  driver_version: "13.0.0"\n  runtime_version: "13.0.0"\n  dnn_version: "9.10.0"'
    name = str(card.get("description", "card")).replace('"', "")
    return "\n".join(
        ["gpu_device_info {", *lines, capability, versions, "}", 'platform_name: "CUDA"', f'device_description_str: "{name}"']
    )
