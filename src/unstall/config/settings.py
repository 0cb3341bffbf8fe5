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
from unstall.config.aliases import ours

Backend = Literal["auto", "tensorflow", "jax", "torch"]
Precision = Literal["float32", "bfloat16", "float16"]
Optimizer = Literal["sgd", "adamw"]
Schedule = Literal["cosine", "step", "constant"]
MIB = 2**20
GIB = 2**30


def setting(default: Any, meaning: str, least: float | None = None, most: float | None = None) -> Any:
    """A field with what it means, and the range of its value (both ends included)."""
    return field(default=default, metadata={"meaning": meaning, "least": least, "most": most})


@dataclass(frozen=True)
class Settings:
    # what is learned
    data: str | None = setting(None, "a data set of images and boxes; none: the embedded shapes")
    format: str | None = setting(None, "of the data set: coco, voc, yolo or tfrecord; none: recognised")
    labels: str | None = setting(None, "a label map or list of classes that lies elsewhere")
    validation: str | None = setting(None, "a data set to score on; none: a split of that name, else a share of the data")
    validation_share: float = setting(0.1, "of the data, kept apart to score on where there is no split for it", 0.0, 0.9)
    shapes: int = setting(3000, "pictures of the embedded data set, where no data is given", 16, 1_000_000)
    # what learns it
    model: str = setting("ssd_tiny", "the detector; `unstall train --models` lists them")
    weights: str | None = setting(None, "a weights file to begin with, see `unstall weights import`")
    detector: Mapping[str, Any] = field(
        default_factory=dict,
        metadata={"meaning": "the detector's own settings, image_px say; classes are the data's"},
    )
    backend: Backend = setting("auto", "what Keras runs on; auto: KERAS_BACKEND, else what is installed")
    precision: Precision = setting("float32", "that layers compute in; weights and losses stay in float32")
    remat: bool = setting(False, "compute blocks again when gradients need them, rather than keep their outputs")
    # how
    epochs: int = setting(12, "passes over the data", 1, 1_000_000)
    workers: int = setting(1, "processes that share the images of each update; several need the backend jax", 1, 65_536)
    batch_size: int = setting(16, "images of one update, of all workers together", 1, 65_536)
    micro_batch: int | None = setting(None, "images that a worker computes at once, gradients summed up; none: all", 1, 65_536)
    optimizer: Optimizer = setting("sgd", "that applies gradients")
    rate: float = setting(0.01, "the learning rate at its highest", 0.0, 100.0)
    momentum: float = setting(0.9, "of sgd", 0.0, 1.0)
    weight_decay: float = setting(1e-4, "of kernels; norms and biases are spared", 0.0, 10.0)
    clip_norm: float = setting(10.0, "the global norm that gradients are cut to; 0: they are not", 0.0)
    warm_up_steps: int = setting(500, "over which the rate rises from 0", 0)
    schedule: Schedule = setting("cosine", "of the rate after that: to 0, in steps, or the same")
    rate_drops_at_epochs: tuple[int, ...] = setting((8, 11), "where the schedule 'step' takes a tenth of the rate")
    average_decay: float = setting(0.0, "of the moving average of weights, which is then scored and kept; 0: none", 0.0, 0.99999)
    augment: tuple[str, ...] = setting(("flip",), "of flip, scale_crop, zoom_out, iou_crop, photometric, mosaic")
    seed: int = setting(0, "of weights, order and augmentation: the same seed gives the same run", 0, 2**63 - 1)
    deterministic: bool = setting(False, "only kernels that give the same bits each time, where the backend has them")
    # judging
    evaluate_every_epochs: int = setting(1, "how often the validation data is scored; 0: only at the end", 0)
    stop_after_epochs: int = setting(0, "without a better score the training ends; 0: it does not", 0)
    # input
    input_threads: int = setting(0, "threads that read and decode, at most; 0: one for each core", 0, 1024)
    ahead_bytes: int = setting(256 * MIB, "of batches made ahead", 1)
    cache_bytes: int = setting(0, "of decoded images that are kept, in memory or in cache_folder", 0)
    cache_folder: str | None = setting(None, "for decoded images; none: they are kept in memory")
    most_boxes: int = setting(100, "of an image; further ones are left out and counted", 1, 10_000)
    most_bad_share: float = setting(
        0.05, "of the examples; with more of them unreadable, and more than one, the run stops", 0.0, 1.0
    )
    skip_examples: tuple[int, ...] = setting((), "numbers of examples that are never used")
    # keeping
    checkpoint_every_s: float = setting(
        300.0, "seconds from one checkpoint to the next, at least; the end of each epoch has one, too", 0.0
    )
    checkpoint_every_steps: int = setting(0, "steps between checkpoints; 0: as the seconds say", 0)
    keep_checkpoints: int = setting(
        2, "how many of the newest are kept, beside the best; two, as one may turn out damaged", 2, 1000
    )
    tensorboard: bool = setting(True, "write scalars, pictures and the settings for TensorBoard")
    # repairing
    most_repairs: int = setting(10, "that a run may have; then it ends with the verdict. 0: nothing is repaired", 0, 1000)

    def __post_init__(self) -> None:
        kinds = _kinds()
        for each in dataclasses.fields(self):
            object.__setattr__(self, each.name, _checked(each.name, getattr(self, each.name), kinds[each.name], each.metadata))
        if self.batch_size % self.workers:
            raise InvalidInputError(
                f"batch_size: expected a multiple of workers ({self.workers}), as each takes as many images. "
                f"Nearest: {_nearest_multiples(self.batch_size, self.workers)}. Received: {self.batch_size}"
            )
        if self.micro_batch is None:
            return
        if self.workers == 1 and (self.micro_batch > self.batch_size or self.batch_size % self.micro_batch):
            raise InvalidInputError(
                f"micro_batch: expected a divisor of batch_size ({self.batch_size}). Received: {self.micro_batch}"
            )
        if self.batch_share > self.micro_batch and self.batch_share % self.micro_batch:
            share = f"batch_size / workers ({self.batch_size} / {self.workers} = {self.batch_share})"
            raise InvalidInputError(f"micro_batch: expected a divisor of {share}. Received: {self.micro_batch}")

    def of_one_worker(self) -> Settings:
        """The same for its share of the images: the memory that a worker needs hangs on nothing else."""
        at_once = None if self.at_once == self.batch_share else self.at_once
        return dataclasses.replace(self, workers=1, batch_size=self.batch_share, micro_batch=at_once)

    def alone(self) -> Settings:
        """The same training by one worker: the whole batch, with no more of it at once."""
        at_once = None if self.at_once == self.batch_size else self.at_once
        return dataclasses.replace(self, workers=1, micro_batch=at_once)

    @property
    def batch_share(self) -> int:
        """Images of an update that are one worker's."""
        return self.batch_size // self.workers

    @property
    def at_once(self) -> int:
        """Images that a worker computes at once. With more workers its share may be less than `micro_batch` allows."""
        return min(self.micro_batch or self.batch_share, self.batch_share)

    @property
    def micro_batches(self) -> int:
        """Of one worker, in one update."""
        return self.batch_share // self.at_once


def _nearest_multiples(number: int, of: int) -> str:
    below = number // of * of
    return f"{below} or {below + of}" if below else str(of)


def names() -> tuple[str, ...]:
    return tuple(each.name for each in dataclasses.fields(Settings))


@cache
def _kinds() -> dict[str, Any]:
    """By name; Python works them out anew each time that it is asked."""
    return get_type_hints(Settings)


def kind_of(name: str) -> Any:
    """The type of a setting, and whether it may be none."""
    return _without_none(_kinds()[name])


def checked(name: str, value: Any) -> Any:
    """One value by itself, in the form that its field has; a wrong name or value is refused."""
    refuse_unknown(name)
    (own,) = (each for each in dataclasses.fields(Settings) if each.name == name)
    return _checked(name, value, _kinds()[name], own.metadata)


def refuse_unknown(name: str, where: str = "") -> None:
    if name not in names():
        near = ours(name, names())
        hint = f" Did you mean '{near}'?" if near else ""
        raise InvalidInputError(f"{where}There is no setting '{name}'.{hint} Settings: {', '.join(names())}.")


def from_plain(values: Mapping[str, Any], where: str = "") -> Settings:
    """Settings of these names and values, the rest as they stand here. `where` they were read from begins an error."""
    for name in values:
        refuse_unknown(name, where)
    try:
        return Settings(**values)
    except InvalidInputError as wrong:
        raise InvalidInputError(f"{where}{wrong}") from None


def max_of(name: str) -> int:
    """The greatest value that a setting may have."""
    return next(int(each.metadata["most"]) for each in dataclasses.fields(Settings) if each.name == name)


def as_plain(settings: Settings) -> dict[str, Any]:
    """As JSON holds them; `from_plain` gives the same settings again."""
    return {each.name: _plain(getattr(settings, each.name)) for each in dataclasses.fields(settings)}


def changed(settings: Settings, change: Mapping[str, Any]) -> Settings:
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
    wanted = "a whole number" if kind is int else "a number"
    if least is not None and most is not None:
        wanted += f" from {_written(least)} to {_written(most)}"
    elif least is not None:
        wanted += f" of {_written(least)} or more"
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    fits = is_number and (kind is float or value == int(value))
    fits = fits and (least is None or value >= least) and (most is None or value <= most)
    _refuse_unless(fits, name, wanted, value)
    return kind(value)


def _written(bound: float) -> str:
    return f"{bound:,}" if isinstance(bound, int) else f"{bound:,.12g}"


def _refuse_unless(fits: bool, name: str, wanted: str, value: Any) -> None:
    if not fits:
        raise InvalidInputError(f"{name}: expected {wanted}. Received: {value!r}")


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
