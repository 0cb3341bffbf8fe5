"""One Settings is one training run: frozen, units in the names, each with its meaning and its range beside it.

The same names serve as options (`--batch-size 8`), in a settings file (`batch_size = 8`) and in plans, which change them while a
run is repaired. Standard library only: the supervisor, which loads no framework, reads and changes them.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal, get_args, get_origin, get_type_hints

from unstall.base.errors import InvalidInputError
from unstall.base.formatting import suggest_closest
from unstall.config.aliases import suggest_setting, update_names

Backend = Literal["auto", "tensorflow", "jax", "torch"]
Precision = Literal["float32", "bfloat16", "float16"]
Optimizer = Literal["sgd", "adamw"]
Schedule = Literal["cosine", "step", "constant"]
MIB = 2**20
GIB = 2**30


def define_setting(
    default: Any, meaning: str, least: float | None = None, most: float | None = None, *, heading: str = ""
) -> Any:
    """A field with what it means, and the range of its value (both ends included). A heading begins a group of settings."""
    return field(default=default, metadata={"meaning": meaning, "least": least, "most": most, "heading": heading})


@dataclass(frozen=True)
class Settings:
    data: str | None = define_setting(
        None, "Data set of images and boxes. Without it, synthetic images of shapes are used.", heading="Data"
    )
    format: str | None = define_setting(None, "Format of the data set: coco, voc, yolo or tfrecord. Without it, it is detected.")
    label_map: str | None = define_setting(None, "Label map or list of classes, if it is not part of the data set.")
    val_data: str | None = define_setting(
        None, "Data set to evaluate on. Without it, the data set's own split of that name, else `val_split` of the images."
    )
    val_split: float = define_setting(
        0.1, "Fraction of the images to hold out for evaluation, if the data has no split for it.", 0.0, 0.9
    )
    synthetic_images: int = define_setting(3000, "Number of synthetic images, if no data is given.", 16, 1_000_000)

    model: str = define_setting("ssd_tiny", "Name of the detector; `unstall train --list-models` lists them.", heading="Model")
    weights: str | None = define_setting(None, "Weights file to start from; `unstall weights import` makes one.")
    detector: Mapping[str, Any] = field(
        default_factory=dict,
        metadata={"meaning": "Setting of the detector itself, such as image_size. The classes are those of the data."},
    )
    backend: Backend = define_setting("auto", "Keras backend. 'auto' takes KERAS_BACKEND, else the one that is installed.")
    precision: Precision = define_setting("float32", "Precision of the layers. Weights and losses stay in float32.")
    remat: bool = define_setting(False, "Recompute activations in the backward pass instead of storing them.")

    epochs: int = define_setting(12, "Number of passes over the data.", 1, 1_000_000, heading="Optimization")
    num_workers: int = define_setting(
        1, "Number of training processes, which share each batch. More than 1 needs JAX.", 1, 65_536
    )
    batch_size: int = define_setting(16, "Images in one update, summed over all workers.", 1, 65_536)
    micro_batch_size: int | None = define_setting(
        None, "Images that a worker processes at once; gradients are accumulated. Without it, all of its images.", 1, 65_536
    )
    optimizer: Optimizer = define_setting("sgd", "Optimizer.")
    learning_rate: float = define_setting(0.01, "Peak learning rate, reached after the warm-up.", 0.0, 100.0)
    momentum: float = define_setting(0.9, "SGD momentum.", 0.0, 1.0)
    weight_decay: float = define_setting(1e-4, "Weight decay of kernels. Normalization layers and biases have none.", 0.0, 10.0)
    clip_norm: float = define_setting(10.0, "Maximum global norm of the gradients; 0 disables clipping.", 0.0)
    warmup_steps: int = define_setting(500, "Steps over which the learning rate rises from 0.", 0)
    lr_schedule: Schedule = define_setting(
        "cosine", "Learning rate after the warm-up: cosine decay to 0, divided by 10 at milestones, or constant."
    )
    lr_milestones: tuple[int, ...] = define_setting(
        (8, 11), "Epochs after which the schedule 'step' divides the learning rate by 10."
    )
    ema_decay: float = define_setting(
        0.0, "Decay of the exponential moving average (EMA) of the weights. EMA weights are evaluated and saved; 0 disables EMA.",
        0.0, 0.99999,
    )  # fmt: skip
    augmentations: tuple[str, ...] = define_setting(
        ("horizontal_flip",),
        "Augmentations of the training images: horizontal_flip, scale_jitter, zoom_out, iou_crop, photometric_distort, mosaic.",
    )
    seed: int = define_setting(
        0, "Random seed of weights, order and augmentations. The same seed gives the same run.", 0, 2**63 - 1
    )
    deterministic: bool = define_setting(False, "Use only deterministic kernels, where the backend has them.")

    eval_interval: int = define_setting(1, "Epochs between evaluations; 0 evaluates only at the end.", 0, heading="Evaluation")
    patience: int = define_setting(0, "Epochs without a better score after which training stops; 0 disables early stopping.", 0)

    num_input_workers: int = define_setting(
        0, "Maximum number of threads that read and decode images; 0 is one per core.", 0, 1024, heading="Input"
    )
    prefetch_bytes: int = define_setting(256 * MIB, "Size of the batches that are prepared ahead.", 1)
    cache_bytes: int = define_setting(0, "Size of the cache of decoded images, in memory or in `cache_dir`; 0 disables it.", 0)
    cache_dir: str | None = define_setting(
        None, "Directory of the cache of decoded images. Without it, they are cached in memory."
    )
    max_boxes_per_image: int = define_setting(
        100, "Maximum number of boxes per image. Further boxes are dropped and counted.", 1, 10_000
    )
    max_bad_fraction: float = define_setting(
        0.05, "Maximum fraction of unreadable examples. With more, and more than one, the run stops.", 0.0, 1.0
    )
    exclude_examples: tuple[int, ...] = define_setting((), "Numbers of examples that are never used.")

    checkpoint_interval_s: float = define_setting(
        300.0,
        "Minimum number of seconds between checkpoints. There is also one at the end of each epoch.",
        0.0,
        heading="Checkpoints",
    )
    checkpoint_interval_steps: int = define_setting(0, "Steps between checkpoints; 0 goes by `checkpoint_interval_s`.", 0)
    max_checkpoints: int = define_setting(
        2, "Number of checkpoints to keep besides the best. At least 2, as one may be damaged.", 2, 1000
    )
    tensorboard: bool = define_setting(True, "Write scalars, images and the settings for TensorBoard.")

    max_restarts: int = define_setting(
        10, "Maximum number of repairs of a run; then it ends with the verdict. 0 disables repair.", 0, 1000, heading="Repair"
    )

    def __post_init__(self) -> None:
        kinds = _kinds()
        for each in dataclasses.fields(self):
            object.__setattr__(self, each.name, _checked(each.name, getattr(self, each.name), kinds[each.name], each.metadata))
        if self.batch_size % self.num_workers:
            raise InvalidInputError(
                f"batch_size: expected a multiple of num_workers ({self.num_workers}), as each takes as many images. "
                f"Nearest: {_nearest_multiples(self.batch_size, self.num_workers)}. Received: {self.batch_size}"
            )
        if self.micro_batch_size is None:
            return
        if self.num_workers == 1 and (self.micro_batch_size > self.batch_size or self.batch_size % self.micro_batch_size):
            raise InvalidInputError(
                f"micro_batch_size: expected a divisor of batch_size ({self.batch_size}). Received: {self.micro_batch_size}"
            )
        if self.batch_share > self.micro_batch_size and self.batch_share % self.micro_batch_size:
            share = f"batch_size / num_workers ({self.batch_size} / {self.num_workers} = {self.batch_share})"
            raise InvalidInputError(f"micro_batch_size: expected a divisor of {share}. Received: {self.micro_batch_size}")

    def split_for_one_worker(self) -> Settings:
        """The same for its share of the images: the memory that a worker needs hangs on nothing else."""
        at_once = None if self.at_once == self.batch_share else self.at_once
        return dataclasses.replace(self, num_workers=1, batch_size=self.batch_share, micro_batch_size=at_once)

    def alone(self) -> Settings:
        """The same training by one worker: the whole batch, with no more of it at once."""
        at_once = None if self.at_once == self.batch_size else self.at_once
        return dataclasses.replace(self, num_workers=1, micro_batch_size=at_once)

    @property
    def batch_share(self) -> int:
        """Images of an update that are one worker's."""
        return self.batch_size // self.num_workers

    @property
    def at_once(self) -> int:
        """Images that a worker computes at once. With more workers its share may be less than `micro_batch_size` allows."""
        return min(self.micro_batch_size or self.batch_share, self.batch_share)

    @property
    def micro_batches(self) -> int:
        """Of one worker, in one update."""
        return self.batch_share // self.at_once


def _nearest_multiples(number: int, of: int) -> str:
    below = number // of * of
    return f"{below} or {below + of}" if below else str(of)


def list_names() -> tuple[str, ...]:
    return tuple(each.name for each in dataclasses.fields(Settings))


@cache
def _kinds() -> dict[str, Any]:
    """By name; Python works them out anew each time that it is asked."""
    return get_type_hints(Settings)


def get_kind(name: str) -> Any:
    """The type of a setting, and whether it may be none."""
    return _without_none(_kinds()[name])


def check_value(name: str, value: Any) -> Any:
    """One value by itself, in the form that its field has; a wrong name or value is refused."""
    refuse_unknown(name)
    (own,) = (each for each in dataclasses.fields(Settings) if each.name == name)
    return _checked(name, value, _kinds()[name], own.metadata)


def refuse_unknown(name: str, where: str = "") -> None:
    if name not in list_names():
        if hint := suggest_setting(name, list_names()):
            raise InvalidInputError(f"{where}There is no setting '{name}'. {hint}")
        hint = suggest_closest(name.lower().replace("-", "_"), list_names())
        raise InvalidInputError(f"{where}There is no setting '{name}'.{hint} Settings: {', '.join(list_names())}.")


def from_plain(values: Mapping[str, Any], where: str = "") -> Settings:
    """Settings of these names and values, the rest as they stand here. `where` they were read from begins an error."""
    for name in values:
        refuse_unknown(name, where)
    try:
        return Settings(**values)
    except InvalidInputError as wrong:
        raise InvalidInputError(f"{where}{wrong}") from None


def from_stored(values: Mapping[str, Any], where: str = "") -> Settings:
    """Of a run folder, which may have been written when settings had other names."""
    return from_plain(update_names(values), where)


def get_max(name: str) -> int:
    """The greatest value that a setting may have."""
    return next(int(each.metadata["most"]) for each in dataclasses.fields(Settings) if each.name == name)


def as_plain(settings: Settings) -> dict[str, Any]:
    """As JSON holds them; `from_plain` gives the same settings again."""
    return {each.name: _plain(getattr(settings, each.name)) for each in dataclasses.fields(settings)}


def apply_changes(settings: Settings, change: Mapping[str, Any]) -> Settings:
    return from_plain({**as_plain(settings), **change})


def as_json(settings: Settings) -> str:
    return json.dumps(as_plain(settings), indent=1)


# --- one value ---


def _checked(name: str, value: Any, kind: Any, metadata: Mapping[str, Any]) -> Any:
    """The value in the form that the field has, or an error that names what was expected."""
    kind, may_be_none = _without_none(kind)
    if value is None and may_be_none:
        return None
    if get_origin(kind) is Literal:
        _refuse_unless(value in get_args(kind), name, f"one of {', '.join(get_args(kind))}", value)
        return value
    if get_origin(kind) is tuple:
        _refuse_unless(isinstance(value, list | tuple), name, "a list", value)
        return tuple(_checked(name, item, get_args(kind)[0], metadata) for item in value)
    if kind is bool:
        _refuse_unless(isinstance(value, bool), name, "true or false", value)
        return value
    if kind is str:
        _refuse_unless(isinstance(value, str), name, "text", value)
        return value
    if kind in (int, float):
        return _number(name, value, kind, metadata)
    _refuse_unless(isinstance(value, Mapping), name, "a table of names and values", value)
    return dict(value)


def _number(name: str, value: Any, kind: type, metadata: Mapping[str, Any]) -> Any:
    least, most = metadata.get("least"), metadata.get("most")
    expected = "a whole number" if kind is int else "a number"
    if least is not None and most is not None:
        expected += f" from {_written(least)} to {_written(most)}"
    elif least is not None:
        expected += f" of {_written(least)} or more"
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    fits = is_number and (kind is float or value == int(value))
    fits = fits and (least is None or value >= least) and (most is None or value <= most)
    _refuse_unless(fits, name, expected, value)
    return kind(value)


def _written(bound: float) -> str:
    return f"{bound:,}" if isinstance(bound, int) else f"{bound:,.12g}"


def _refuse_unless(fits: bool, name: str, expected: str, value: Any) -> None:
    if not fits:
        raise InvalidInputError(f"{name}: expected {expected}. Received: {value!r}")


def _without_none(kind: Any) -> tuple[Any, bool]:
    options = get_args(kind)
    if type(None) in options and get_origin(kind) is not Literal:
        (inner,) = (each for each in options if each is not type(None))
        return inner, True
    return kind, False


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value
