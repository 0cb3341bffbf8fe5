"""Everything that a training needs before its first step, from the settings, and put where the newest checkpoint says."""

from __future__ import annotations

import platform
import random
import sys
import time
from contextlib import nullcontext
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import unstall
from unstall import detectors
from unstall.backends import devices, find_running_backend
from unstall.base.console import show_progress
from unstall.base.errors import InvalidInputError
from unstall.base.formatting import format_count
from unstall.config.detectors import create_settings
from unstall.config.settings import Settings, as_plain
from unstall.data.augment.names import create_augmentations
from unstall.data.example import DataSet
from unstall.data.pipeline import Pipeline, PipelineSettings
from unstall.detectors.detector import Detector, InferenceModel
from unstall.detectors.weights import store
from unstall.detectors.weights.compatibility import group_reasons
from unstall.detectors.weights.description import create_description
from unstall.detectors.weights.reader import read
from unstall.journal.events import TrainingBegan
from unstall.journal.run_folder import RunFolder
from unstall.training.checkpoint import integrity
from unstall.training.checkpoint.integrity import AllDamaged, explain_refusal
from unstall.training.checkpoint.store import CheckpointInterval, Checkpoints, LoadedCheckpoint
from unstall.training.distributed.collectives import Collectives
from unstall.training.loop import instrumentation
from unstall.training.loop.datasets import TrainValData, compute_fingerprint, load_datasets
from unstall.training.loop.instrumentation import TrainingLine, Updates, emit, print_message
from unstall.training.loop.interruption import Interruption
from unstall.training.loop.loss_monitor import LossMonitor
from unstall.training.loop.position import Position
from unstall.training.loop.results import Results, ValidationScorer
from unstall.training.step.step import Step, list_batch_shapes
from unstall.training.tensorboard import SummaryWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PAGE = 4096  # bytes, as /proc counts them


@dataclass
class TrainingContext:
    run: RunFolder
    settings: Settings
    interruption: Interruption
    backend: str
    datasets: TrainValData
    pipeline: Pipeline
    step: Step
    at: Position
    loss_monitor: LossMonitor
    checkpoints: Checkpoints
    interval: CheckpointInterval
    results: Results
    scoring: ValidationScorer
    board: SummaryWriter | None
    line: TrainingLine
    needed_by_weights: dict[str, Any]  # settings of the detector
    collectives: Collectives  # the other workers, if there are any
    phase: str = "first_step"  # first_step | train | validate | save


def begin(run: RunFolder, settings: Settings, interruption: Interruption, collectives: Collectives) -> TrainingContext:
    """The line is not shown yet: `with context.line` does that. Of several workers the first reads the checkpoint, and all go on
    from it: the others need not even have it."""
    checkpoints = Checkpoints(run.checkpoints_path, settings.max_checkpoints)
    saved, position = _newest(run, checkpoints, collectives)
    needed = None if position is None else position["needed_by_weights"]
    with show_progress() if collectives.is_first else nullcontext() as progress:
        learned = load_datasets(settings, get_image_size(settings, needed), run.of_worker(collectives.who.rank).path, progress)
    refuse_other_data(collectives, learned)
    if position is not None:
        changed = integrity.refuse_other_classes(position, learned)
        if changed and collectives.is_first:
            print_message(changed)
    detector = build_detector(settings, learned.classes, print_message if collectives.is_first else _nobody, needed)
    pipeline = create_pipeline(settings, detector, learned.train, collectives.who.rank)
    at = Position(steps_per_epoch=pipeline.steps_per_epoch)
    if position is not None:
        at = Position.from_plain(position, pipeline.steps_per_epoch)
    step = Step(detector, settings, settings.epochs * pipeline.steps_per_epoch + at.more_steps)
    if saved is not None:
        step.restore(saved.arrays)
    step.take_over(collectives.broadcast(lambda: step.iteration))
    line = TrainingLine(
        settings.epochs, pipeline.steps_per_epoch, settings.batch_size, read_memory_bytes, not collectives.is_first
    )
    board = SummaryWriter(run.tensorboard_path, at.step, line.say) if settings.tensorboard and collectives.is_first else None
    updates = Updates(board.scalars if board is not None else None) if collectives.is_first else None
    own = run.of_worker(collectives.who.rank)
    loss_monitor = LossMonitor(own, learned.train, settings.warmup_steps, at, line.say, pipeline.list_all_rows, updates)
    interval = CheckpointInterval(settings.checkpoint_interval_s, settings.checkpoint_interval_steps)
    if position is not None:
        loss_monitor.restore(position["judged"])
        interval.began(at.step)
    if board is not None:
        board.table(at.step, "settings", as_plain(settings))
    results = Results(run, settings, detector, learned, line.say, is_kept=collectives.is_first)
    backend = find_running_backend() or ""
    scoring = ValidationScorer(
        settings, backend, learned, InferenceModel(detector), results, board, line, interruption, collectives
    )
    context = TrainingContext(
        run, settings, interruption, backend, learned, pipeline, step, at, loss_monitor, checkpoints, interval, results,
        scoring, board, line, list_needed_by_weights(settings) if needed is None else needed, collectives,
    )  # fmt: skip
    _say_what_begins(context, saved)
    return context


def _newest(
    run: RunFolder, checkpoints: Checkpoints, collectives: Collectives
) -> tuple[LoadedCheckpoint | None, dict[str, Any] | None]:
    """The checkpoint, which only the first worker has, and its position. Where all are damaged, every worker is told so."""
    saved, refused = None, ""
    if collectives.is_first:
        try:
            saved = checkpoints.newest()
        except AllDamaged as damaged:
            refused = explain_refusal(run, damaged.refused)
    result = collectives.broadcast(lambda: {"refused": refused, "position": None if saved is None else saved.position})
    if result["refused"]:
        raise InvalidInputError(result["refused"])
    return saved, result["position"]


def refuse_other_data(collectives: Collectives, learned: TrainValData) -> None:
    """Each worker reads the data by itself: what is not the same would be learned without a word, and mean nothing."""
    held_out = 0 if learned.validation is None else len(learned.validation.examples)
    own = {"examples": len(learned.train.examples), "to score on": held_out, "classes": list(learned.classes)}
    data_of_all = collectives.all_gather(own)
    for worker, other in enumerate(data_of_all):
        for name in own:
            if other[name] != data_of_all[0][name]:
                raise InvalidInputError(
                    f"data: worker {worker} has {other[name]} {name}, worker 0 has {data_of_all[0][name]}. Expected the same."
                )


def _nobody(text: str) -> None:
    """Hears it: the first worker says the same."""


def _say_what_begins(context: TrainingContext, saved: LoadedCheckpoint | None) -> None:
    settings, learned, at = context.settings, context.datasets, context.at
    where = devices.choose_device()
    emit(
        TrainingBegan(
            at=time.time(),
            model=settings.model,
            backend=context.backend,
            device=where,
            precision=settings.precision,
            batch_size=settings.batch_size,
            micro_batch_size=settings.at_once,
            steps_per_epoch=at.steps_per_epoch,
            epochs=settings.epochs,
            examples=len(learned.train.examples),
            from_step=at.step,
        )
    )
    detector = context.step.detector
    shapes = list_batch_shapes(tuple(detector.settings.image_size), settings.batch_share, settings.max_boxes_per_image)
    instrumentation.record(compute_fingerprint(learned.train), detector, shapes)
    if not context.collectives.is_first:
        return
    images = f"{format_count(len(learned.train.examples), 'image')} of {format_count(len(learned.classes), 'class', 'classes')}"
    workers = f", {settings.num_workers} workers" if settings.num_workers > 1 else ""
    print_message(f"{settings.model} on {context.backend}, {where}{workers}: {images}; {learned.remark}.")
    if learned.validation is not None and not any(example.count for example in learned.validation.examples):
        print_message(
            "The images to score on have no objects: no epoch can be told to be better than another, and the last one is kept."
        )
    if saved is not None:
        _say_where_it_goes_on(settings, at, saved)


def _say_where_it_goes_on(settings: Settings, at: Position, saved: LoadedCheckpoint) -> None:
    is_epoch_done = at.step_in_epoch == at.steps_per_epoch
    done = at.epoch + is_epoch_done
    place = f"after epoch {done}" if is_epoch_done else f"at step {at.step_in_epoch} of epoch {done + 1}"
    if done < settings.epochs:
        print_message(f"Goes on {place}, from {saved.path.name}.")
    epochs = saved.position["settings"]["epochs"]
    if done >= settings.epochs:
        print_message(
            f"Of {format_count(settings.epochs, 'epoch')} {done} are done: there is nothing left to learn. "
            f"More: --epochs {done + 1}"
        )
    elif epochs != settings.epochs:
        now = f"{settings.epochs} now: from here on the rate follows the schedule of these"
        print_message(f"It was begun for {format_count(epochs, 'epoch')} and has {now}.")


def list_versions(backend: str) -> dict[str, str]:
    """Of what computes: a checkpoint says by which versions it came about."""
    found = {"python": platform.python_version(), "unstall": unstall.__version__}
    for package in ("numpy", "keras", backend):
        try:
            found[package] = version(package)
        except PackageNotFoundError:  # it came by another name, as tensorflow-cpu does
            found[package] = str(getattr(sys.modules.get(package), "__version__", ""))
    return found


def read_memory_bytes() -> int | None:
    """Of the device in use; of this process, where it computes on the host."""
    used = devices.read_memory_in_use_bytes()
    if used is not None:
        return used
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE
    except (OSError, ValueError):
        return None


# What the first step needs, made from the settings: data, detector, weights, pipeline.


OF_THE_RUN = ("num_classes", "precision", "remat")  # settings of a detector that are not its own while it is trained


Needed = dict[str, Any] | None  # settings that weights of a file need; None: the file is looked at


def resolve_detector_settings(settings: Settings, classes: int | None = None, needed: Needed = None) -> dict[str, Any]:
    """What `detectors.create_model` takes beside the name of the model. `classes`: of the data; None: as the variant has."""
    for name in OF_THE_RUN:
        if name in settings.detector:
            reason = (
                "the data says how many there are" if name == "num_classes" else f"expected as the setting '{name}' of the run"
            )
            raise InvalidInputError(f"detector.{name}: {reason}.")
    changes = {**(list_needed_by_weights(settings) if needed is None else needed), **settings.detector}
    changes |= {"precision": detectors.POLICIES[settings.precision], "remat": settings.remat}
    return changes if classes is None else {**changes, "num_classes": classes}


def get_image_size(settings: Settings, needed: Needed = None) -> tuple[int, int]:
    """Height and width that the detector takes."""
    height, width = create_settings(settings.model, **resolve_detector_settings(settings, needed=needed)).image_size
    return height, width


def build_detector(settings: Settings, classes: Sequence[str], say: Callable[[str], None], needed: Needed = None) -> Detector:
    """With its first weights: those of a file, and for the rest those that the seed gives. A run that goes on says what they
    needed, and has its own: the file may be gone by then."""
    # Weights are drawn by Python's own generator (`detectors/layers/initializers.py`); Keras's way to seed it would load
    # TensorFlow on any backend.
    random.seed(settings.seed)
    detector = detectors.create_model(settings.model, **resolve_detector_settings(settings, len(classes), needed))
    if settings.weights is not None and needed is None:
        for line in _loaded(detector, settings.weights, classes):
            say(line)
    return detector


def _loaded(detector: Detector, path: str, classes: Sequence[str]) -> list[str]:
    """The report: what was taken, what was left out and why, what begins fresh."""
    fit = store.load(detector, path, classes)
    lines = [f"weights: {len(fit.taken)} of {fit.wanted} tensors taken from {Path(path).name}, as {fit.what}"]
    lines += [f"weights: {fit.note}"] if fit.note else []
    new = {key: why for key, why in fit.new.items() if why not in fit.left_out.values()}  # else it is said already
    for kind, reasons in (("left out", fit.left_out), ("new", new)):
        for group in group_reasons(reasons):
            names = group["names"][0] + (" …" if group["count"] > 1 else "")
            lines.append(f"weights: {group['count']} {kind}, {group['why']}: {names}")
    return lines


def list_needed_by_weights(settings: Settings) -> dict[str, Any]:
    """A published file may have been trained with norms of another epsilon: it says so itself, and would be worse without."""
    if settings.weights is None:
        return {}
    checkpoint = read(settings.weights)
    if checkpoint.written_by != "Unstall":
        return {}
    description = create_description(checkpoint)
    if description.variant != settings.model or "norm_epsilon" not in description.settings:
        return {}
    return {"norm_epsilon": description.settings["norm_epsilon"]}


def create_pipeline(settings: Settings, detector: Detector, data: DataSet, worker: int = 0) -> Pipeline:
    """Of that worker's part of each batch."""
    height, width = detector.settings.image_size
    beyond = [row for row in settings.exclude_examples if not 0 <= row < len(data.examples)]
    if beyond:
        raise InvalidInputError(f"exclude_examples: expected numbers from 0 to {len(data.examples) - 1}. Received: {beyond[0]}")
    if len(data.examples) < settings.batch_size:
        raise InvalidInputError(
            f"batch_size: expected at most as many images as there are to learn from, {len(data.examples)}. "
            f"Received: {settings.batch_size}"
        )
    return Pipeline(
        data,
        PipelineSettings(
            batch_size=settings.batch_share,
            rank=worker,
            world_size=settings.num_workers,
            height_px=height,
            width_px=width,
            resize=detector.resize,
            max_boxes_per_image=settings.max_boxes_per_image,
            augmentations=create_augmentations(settings.augmentations),
            seed=settings.seed,
            num_input_workers=settings.num_input_workers,
            prefetch_bytes=settings.prefetch_bytes,
            cache_bytes=settings.cache_bytes,
            cache_dir=Path(settings.cache_dir) if settings.cache_dir else None,
            max_bad_fraction=settings.max_bad_fraction,
        ),
        never=settings.exclude_examples,
    )
