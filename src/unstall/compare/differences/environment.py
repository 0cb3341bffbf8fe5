"""What differs around a program: settings, the command line, variables, versions, the machine, who else was on the card."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from unstall.base.formatting import format_size
from unstall.compare.differences.arguments import find_argument_differences, is_temporary
from unstall.compare.differences.difference import Difference, create_difference
from unstall.compare.record import facts

# A setting of `unstall train` and the kind of thing that it is.
SETTINGS = {
    "model": "model", "weights": "weights", "backend": "backend", "precision": "precision", "remat": "remat", "epochs": "length",
    "batch_size": "batch", "micro_batch_size": "micro_batch_size", "optimizer": "optimizer", "learning_rate": "learning_rate",
    "momentum": "optimizer_setting", "weight_decay": "optimizer_setting", "clip_norm": "optimizer_setting",
    "warmup_steps": "learning_rate", "lr_schedule": "learning_rate", "lr_milestones": "learning_rate",
    "ema_decay": "optimizer_setting", "augmentations": "augmentation", "seed": "seed", "num_input_workers": "parallelism",
    "prefetch_bytes": "prefetch", "cache_bytes": "cache",
    "cache_dir": "cache", "max_boxes_per_image": "boxes", "exclude_examples": "data_size", "synthetic_images": "data_size",
    "val_data": "validation", "val_split": "validation", "eval_interval": "validation",
    "checkpoint_interval_s": "checkpoints", "checkpoint_interval_steps": "checkpoints", "max_checkpoints": "checkpoints",
    "deterministic": "execution", "data": "data_contents", "format": "data_contents", "label_map": "labels",
}  # fmt: skip
DETECTOR = {"image_size": "image_size", "filters": "filters", "stem_channels": "filters", "num_classes": "labels"}
UNIMPORTANT = frozenset({"tensorboard", "max_restarts", "max_bad_fraction", "patience"})
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS",
           "NUMEXPR_NUM_THREADS")  # fmt: skip
NOISE_VARIABLES = ("SLURM_JOB", "SLURM_STEP", "SLURM_TASK_PID", "SLURM_LAUNCH", "SLURM_SRUN", "PYTHONHASHSEED", "UNSTALL_")
OF_THE_LEARNING = frozenset({"keras", "tensorflow", "jax", "jaxlib", "torch", "tf_keras", "optax", "flax"})
ROOM = 1.25  # times what the older run needed: with less, what others hold matters
MIN_TAKEN = 0.1  # of that need
COMPUTING = frozenset({
    "numpy", "scipy", "opencv", "opencv-python", "opencv-python-headless", "pillow", "h5py", "ml-dtypes", "ml_dtypes", "optree",
    "cuda", "driver", "simplejpeg", "pandas", "pyarrow", "scikit-image", "scikit-learn", "albumentations", "grain", "torchvision",
    "tensorflow-datasets", "keras-hub", "keras-cv",
})  # fmt: skip
SAME_MEMORY = 0.05  # of the machine: the same one after an update of its kernel reports a little more or less


def find_environment_differences(before: dict[str, Any], after: dict[str, Any]) -> Iterator[Difference]:
    yield from _of_settings(facts.read_settings(before), facts.read_settings(after))
    yield from _of_command(before, after)
    yield from _of_environment(facts.get_section(before, "environment"), facts.get_section(after, "environment"))
    yield from _of_versions(
        facts.get_section(before, "versions"), facts.get_section(after, "versions"), facts.list_imported_packages(after)
    )
    yield from _of_machine(before, after)
    yield from _of_devices(before, after)


def _of_settings(before: dict[str, Any], after: dict[str, Any]) -> Iterator[Difference]:
    if not before or not after:
        return
    for name in sorted({*before, *after} - UNIMPORTANT):
        was, is_now = before.get(name), after.get(name)
        if facts.are_equal(was, is_now):
            continue
        if name == "detector" and isinstance(was, dict) and isinstance(is_now, dict):
            yield from _of_detector(was, is_now)
        else:
            kind = SETTINGS.get(name, "setting")
            yield create_difference("settings", kind, was, is_now, detail="" if kind == name else name)


def _of_detector(before: dict[str, Any], after: dict[str, Any]) -> Iterator[Difference]:
    for name in sorted({*before, *after}):
        if not facts.are_equal(before.get(name), after.get(name)):
            kind = DETECTOR.get(name, "model")
            yield create_difference("settings", kind, before.get(name), after.get(name), detail=f"detector.{name}")


def _of_command(before: dict[str, Any], after: dict[str, Any]) -> Iterator[Difference]:
    """Arguments, by their names where they have one. Of `unstall train` they are settings, and told as such."""
    if facts.get_section(before, "settings") and facts.get_section(after, "settings"):
        return
    old, new = find_argument_differences(before, after)
    for name in sorted({*old, *new}):
        if old.get(name) != new.get(name):
            found = create_difference("run", "command", old.get(name), new.get(name), detail=name)
            where, line = facts.find_reading_line(after, name)
            yield replace(found, words=f"{found.words}: {line}", where=where) if where else found


def _of_environment(before: dict[str, Any], after: dict[str, Any]) -> Iterator[Difference]:
    for name in sorted({*before, *after}):
        was, is_now = facts.read_variable(before, name), facts.read_variable(after, name)
        if was == is_now or name.startswith(NOISE_VARIABLES) or is_temporary(was) or is_temporary(is_now):
            continue
        kind = "threads" if name in THREADS else "backend" if name == "KERAS_BACKEND" else "environment"
        yield create_difference("environment", kind, was, is_now, detail=name)


def _of_versions(before: dict[str, Any], after: dict[str, Any], imported: frozenset[str]) -> Iterator[Difference]:
    """Of packages that both had loaded. One that only another package needs is told, but explains nothing: unless it computes."""
    if not before or not after:
        return
    for name in sorted({*before, *after} - {"unstall"}):
        was, is_now = before.get(name), after.get(name)
        if was == is_now or (was is None or is_now is None):
            continue
        kind = "python" if name == "python" else "version"
        found = create_difference("versions", kind, was, is_now, detail=name)
        if name.lower() in OF_THE_LEARNING:
            yield replace(found, weight=found.weight + 0.1)
        elif kind == "python" or name.lower() in COMPUTING or facts.find_module(name) in imported:
            yield found
        else:
            yield replace(found, weight=0.1, touches=frozenset())


def _of_machine(before: dict[str, Any], after: dict[str, Any]) -> Iterator[Difference]:
    old, new = facts.get_section(before, "machine"), facts.get_section(after, "machine")
    if not old or not new:
        return
    if old.get("cores") and new.get("cores") and old["cores"] != new["cores"]:
        yield create_difference(
            "machine", "cores", old["cores"], new["cores"], f"cores to use {old['cores']:g} → {new['cores']:g}"
        )
    limits = tuple(facts.read_memory_limit(section) for section in (old, new))
    if limits[0] and limits[1] and abs(limits[1] - limits[0]) > SAME_MEMORY * limits[0]:
        yield create_difference(
            "machine",
            "memory_limit",
            limits[0],
            limits[1],
            f"memory that may be used {format_size(limits[0])} → {format_size(limits[1])}",
        )
    if old.get("processor") and new.get("processor") and old["processor"] != new["processor"]:  # a container has any name
        yield create_difference("machine", "machine", old["processor"], new["processor"], detail="processor")
    disks = [facts.describe_storage(record) for record in (before, after)]
    if disks[0] and disks[1] and disks[0] != disks[1]:
        yield create_difference("machine", "storage", disks[0], disks[1], f"the data lies on {disks[0]} → {disks[1]}")


def _of_devices(before: dict[str, Any], after: dict[str, Any]) -> Iterator[Difference]:
    old, new = facts.read_devices(before), facts.read_devices(after)
    names = tuple(sorted(str(device.get("name")) for device in devices) for devices in (old, new))
    if names[0] != names[1] and (old or new):
        yield create_difference("devices", "device", names[0], names[1])
    yield from _of_foreign(before, after)


def _of_foreign(before: dict[str, Any], after: dict[str, Any]) -> Iterator[Difference]:
    """Who else held memory of the card, or of the host, before the start: told only where it left too little or much less."""
    for old, new in zip(facts.read_devices(before), facts.read_devices(after), strict=False):
        was, is_now = old.get("free_bytes_before"), new.get("free_bytes_before")
        total = new.get("total_bytes") or 0
        if not was or not is_now or abs(was - is_now) <= 0.02 * total:
            continue
        foreign = [each for each in new.get("foreign") or [] if isinstance(each, dict)]
        who = ", ".join(
            f"{each.get('name') or 'process'} {each.get('pid')}: {format_size(each.get('bytes') or 0)}" for each in foreign[:3]
        )
        words = f"free on the card before the start {format_size(was)} → {format_size(is_now)}" + (
            f" (held by {who})" if who else ""
        )
        yield create_difference("devices", "foreign", was, is_now, words)
    yield from _of_foreign_on_host(before, after)


def _of_foreign_on_host(before: dict[str, Any], after: dict[str, Any]) -> Iterator[Difference]:
    """What is free on a host changes all the time. It matters where less is left than the older run needed."""
    old, new = (facts.read_free_bytes(record) for record in (before, after))
    needed = facts.get_figure(before, "host_peak_bytes")
    if old and new and needed and new < ROOM * needed and old - new > MIN_TAKEN * needed:
        yield create_difference(
            "machine",
            "foreign",
            old,
            new,
            f"memory that was free before the start {format_size(old)} → {format_size(new)}: others hold it",
        )
