"""`train_config`: batch, length, optimizer, rate and what else of a training is not of its model or data."""

from __future__ import annotations

import math
from dataclasses import dataclass

from unstall.config.sources import get_recipe
from unstall.tfod.config import Node, list_leaves
from unstall.tfod.inputs import MissingSetting
from unstall.tfod.ledger import Ledger

OPTIMIZERS = ("momentum_optimizer", "rms_prop_optimizer", "adam_optimizer")
MAX_BATCH, MAX_EPOCHS, MAX_BOXES = 65_536, 1_000_000, 10_000
LARGE_EPSILON = 0.1  # of rms_prop: far above the squares of gradients, which then hardly divide anything
MAX_AVERAGE = 0.99999


@dataclass(frozen=True)
class Length:
    """Of the training, as far as it can be known."""

    epochs: int
    total_steps: int  # of the API; 0: it goes on until it is stopped
    to_set: MissingSetting | None = None


def convert_train_config(root: Node, model: str, images: int | None, ledger: Ledger) -> list[MissingSetting]:
    """`images` are those to learn from; None: nobody knows how many, and the user has to say for how long."""
    train = root.node("train_config")
    batch = _batch(train, images, ledger)
    optimizer = train.node("optimizer")
    kind = next((name for name in OPTIMIZERS if optimizer.has(name)), "")
    rates = optimizer.node(kind, "learning_rate") if kind else Node(root.file, "train_config.optimizer")
    num_steps = train.whole("num_steps", 0)
    lr_schedule = read_lr_schedule(rates, num_steps)
    length = _length(train, model, batch, num_steps or lr_schedule.total_steps, images, ledger)
    if kind:
        _optimizer(optimizer, kind, ledger)
    if find_kind(rates):
        _rate(rates, lr_schedule, length, ledger)
    _average(optimizer, ledger)
    _decay(root, ledger)
    if train.number("gradient_clipping_by_norm", 0, 0):
        ledger.set("clip_norm", train.number("gradient_clipping_by_norm", 0), train, "gradient_clipping_by_norm")
    most = train.whole("max_number_of_boxes", 100, 0)
    kept = min(max(most, 1), MAX_BOXES)
    ledger.set(
        "max_boxes_per_image", kept, train, "max_number_of_boxes", changed="" if kept == most else "expected 1 to 10,000 here"
    )
    if train.flag("use_bfloat16"):
        ledger.set("precision", "bfloat16", train, "use_bfloat16")
    ledger.same(train, "use_bfloat16", "gradient_clipping_by_norm")
    return [length.to_set] if length.to_set else []


def _batch(train: Node, images: int | None, ledger: Ledger) -> int:
    batch = train.whole("batch_size", 32, 1, MAX_BATCH)
    fits = images is None or batch <= images
    said = "" if fits else f"there are {images:,} images to learn from: fewer than the {batch:,} of a batch"
    kept = batch if fits else max(images or 1, 1)
    ledger.set("batch_size", kept, train, "batch_size", changed=said)
    return kept


def _length(train: Node, model: str, batch: int, steps: int, images: int | None, ledger: Ledger) -> Length:
    """Epochs of the steps, where it is known how many images an epoch has."""
    usual = int(get_recipe(model)["epochs"])
    if not steps:
        said = f"the API goes on until it is stopped; here the recipe of {model} holds, {usual} epochs"
        ledger.left_out(train, "num_steps", instead=said)
        return Length(usual, 0)
    seen = steps * train.whole("batch_size", 32, 1)
    if images is None:
        said = f"how many images there are is not known; as long as in the API: epochs = {seen:,} / the number of images"
        ledger.left_out(train, "num_steps", instead=f"the recipe of {model} holds, {usual} epochs: {said}")
        ledger.why["epochs"] = said
        return Length(usual, steps, MissingSetting("epochs", str(usual), said))
    each = max(images // batch, 1)
    epochs = min(max(round(seen / batch / each), 1), MAX_EPOCHS)
    said = f"{steps:,} steps; {images:,} images to learn from are {each:,} steps of {batch} each epoch"
    ledger.set("epochs", epochs, train, "num_steps", said=said)
    return Length(epochs, steps)


# --- the optimizer ---


def _optimizer(optimizer: Node, kind: str, ledger: Ledger) -> None:
    inner = optimizer.node(kind)
    if kind == "adam_optimizer":
        ledger.set("optimizer", "adamw", inner, "epsilon", changed="AdamW is Adam with its decay apart; epsilon is 1e-8 here")
        ledger.left_out(inner, "use_weight_decay", "weight_decay", instead="weight_decay holds for all kernels")
        return
    value = inner.number("momentum_optimizer_value", 0.9, 0, 1)
    epsilon = inner.number("epsilon", 1.0, 0)
    if kind == "momentum_optimizer":
        ledger.follow("optimizer", "sgd", inner.path)
        ledger.set("momentum", value, inner, "momentum_optimizer_value")
    elif epsilon >= LARGE_EPSILON:
        other = "" if epsilon == 1 else f", at a rate divided by {epsilon**0.5:.2g}: look at the rate"
        why = f"there is no RMSProp here; with an epsilon of {epsilon:g} it is nearly SGD with momentum{other}"
        ledger.set("optimizer", "sgd", inner, "epsilon", "decay", changed=why)
        ledger.set("momentum", value, inner, "momentum_optimizer_value")
    else:
        why = "there is no RMSProp here; AdamW is the nearest that divides by the size of gradients"
        ledger.set("optimizer", "adamw", inner, "epsilon", "decay", changed=why)
        instead = "AdamW has its own; RMSProp's makes steps up to 1 / (1 - momentum) times as long: look at the rate"
        ledger.left_out(inner, "momentum_optimizer_value", instead=instead)


def _average(optimizer: Node, ledger: Ledger) -> None:
    """The API averages weights unless it is told not to."""
    if not optimizer.flag("use_moving_average", True):
        ledger.set("ema_decay", 0.0, optimizer, "use_moving_average")
        ledger.left_out(optimizer, "moving_average_decay", instead="use_moving_average is false: nothing is averaged")
        return
    decay = optimizer.number("moving_average_decay", 0.9999, 0, 1)
    kept = min(decay, MAX_AVERAGE)
    said = "" if kept == decay else f"at most {MAX_AVERAGE} here"
    ledger.set("ema_decay", kept, optimizer, "use_moving_average", "moving_average_decay", changed=said)


def _decay(root: Node, ledger: Ledger) -> None:
    """One for all kernels: the backbone's, where it has one, else the greatest."""
    found = []
    for name in ("ssd", "faster_rcnn"):
        for place, _ in list_leaves(root.node("model", name)):
            if place.endswith("l2_regularizer.weight"):
                node = root.node(*place.split(".")[:-1])
                found += [(node, node.number("weight", 1.0, 0, 10))] if node else []
    if not found:
        return
    own = [weight for node, weight in found if ".feature_extractor." in node.path]
    chosen = own[-1] if own else max(weight for _, weight in found)
    for node, weight in sorted(found, key=lambda pair: pair[1] == chosen):
        said = "" if weight == chosen else "one decay holds for all kernels; the backbone's, else the greatest, was taken"
        ledger.set("weight_decay", chosen, node, "weight", changed=said)


# --- the rate ---


def _rate(rates: Node, lr_schedule: LrSchedule, length: Length, ledger: Ledger) -> None:
    kind = find_kind(rates)
    inner = rates.node(kind)
    highest = {"cosine_decay_learning_rate": "learning_rate_base", "constant_learning_rate": "learning_rate"}
    ledger.set(
        "learning_rate", lr_schedule.rate, inner, highest.get(kind, "initial_learning_rate"), changed=_raised(inner, lr_schedule)
    )
    ledger.follow("lr_schedule", _schedule(lr_schedule, length), inner.path)
    _warm_up(inner, kind, lr_schedule, ledger)
    if kind == "cosine_decay_learning_rate":
        ends = "the cosine ends with the training"
        ledger.same_if(lr_schedule.total_steps == length.total_steps, inner, "total_steps", instead=ends)
        ledger.same_if(not inner.whole("hold_base_rate_steps", 0), inner, "hold_base_rate_steps", instead="it falls at once")
    if kind == "exponential_decay_learning_rate":
        drops = "the rate drops to a tenth where the API's has fallen half way to it"
        drops = drops if lr_schedule.drops_at_steps else "it falls by too little to be a tenth"
        why = f"there is no exponential course here: {drops}"
        to = f'lr_schedule = "{_schedule(lr_schedule, length)}"'
        ledger.changed(inner, "decay_steps", "decay_factor", "staircase", "min_learning_rate", to=to, why=why)
    if lr_schedule.drops_at_steps and length.total_steps:
        _drops(inner, lr_schedule, length, ledger)
    elif kind == "manual_step_learning_rate":
        unknown = (
            "without num_steps it is not known where in the training they lie"
            if not length.total_steps
            else "the training ends before"
        )
        ledger.left_out(inner, "schedule", instead=f"the rate stays: {unknown}")


def _schedule(lr_schedule: LrSchedule, length: Length) -> str:
    return "constant" if lr_schedule.schedule == "step" and not length.total_steps else lr_schedule.schedule


def _raised(inner: Node, lr_schedule: LrSchedule) -> str:
    first = inner.number("initial_learning_rate", lr_schedule.rate)
    return "" if first == lr_schedule.rate else f"the highest of the schedule; it begins with {first:g}"


def _warm_up(inner: Node, kind: str, lr_schedule: LrSchedule, ledger: Ledger) -> None:
    names = {"cosine_decay_learning_rate": "warmup_steps", "exponential_decay_learning_rate": "burnin_steps"}
    ledger.set("warmup_steps", lr_schedule.warmup_steps, inner, names.get(kind, "warmup"))
    if lr_schedule.begins_at:
        why = f"the rate rises from 0 here, not from {lr_schedule.begins_at:g}"
        ledger.changed(inner, "warmup_learning_rate", "burnin_learning_rate", to="warmup_steps", why=why)


def _drops(inner: Node, lr_schedule: LrSchedule, length: Length, ledger: Ledger) -> None:
    epochs = compute_drop_epochs(lr_schedule, length.total_steps, length.epochs)
    why = "" if lr_schedule.is_exact else "each drop takes a tenth of the rate here: the nearest that can be had"
    ledger.set("lr_milestones", epochs, inner, changed=why)
    to = f"lr_milestones = {epochs}"
    for each in inner.nodes("schedule"):
        step = each.whole("step", 0)
        if step in lr_schedule.beyond:
            ledger.left_out(each, instead=f"the training ends before step {step:,}, as in the API")
        elif step in lr_schedule.drops_at_steps and lr_schedule.is_exact:
            ledger.carried(each, to=to)
        elif step == lr_schedule.warmup_steps:
            ledger.carried(each, to="learning_rate, warmup_steps")
        else:
            ledger.changed(each, to=to, why=why or "the rate is that of the steps before")


# The learning rate of the API as one of the schedules here: to 0 by a cosine, in tenths, or the same all along.


KINDS = (
    "cosine_decay_learning_rate", "manual_step_learning_rate", "exponential_decay_learning_rate", "constant_learning_rate",
)  # fmt: skip
USUAL_RATE = 0.002
MAX_RATE = 100.0
TENTH = math.log(10)
MAX_DROPS = 12  # a rate of 1e-12 of the highest learns nothing
NEAR = 0.01  # of a tenth, in logarithms: .00003 after .0003 is one


@dataclass(frozen=True)
class LrSchedule:
    """Of the rate over the steps of the API."""

    schedule: str  # cosine, step or constant
    rate: float  # the highest
    warmup_steps: int = 0
    drops_at_steps: tuple[int, ...] = ()  # where a tenth of the rate is left; twice the same step: a hundredth
    total_steps: int = 0  # as the schedule has them; 0: it does not say
    is_exact: bool = True
    begins_at: float = 0.0  # the rate that the warm-up begins with
    beyond: tuple[int, ...] = ()  # steps of the schedule that the training never reaches


def find_kind(rates: Node) -> str:
    return next((kind for kind in KINDS if rates.has(kind)), "")


def read_lr_schedule(rates: Node, num_steps: int) -> LrSchedule:
    """`num_steps` of the training; 0: it does not end by itself."""
    kind = find_kind(rates)
    inner = rates.node(kind)
    if kind == "cosine_decay_learning_rate":
        return _cosine(inner)
    if kind == "manual_step_learning_rate":
        return _manual(inner, num_steps)
    if kind == "exponential_decay_learning_rate":
        return _exponential(inner, num_steps)
    return LrSchedule("constant", inner.number("learning_rate", USUAL_RATE, 0, MAX_RATE))


def _cosine(inner: Node) -> LrSchedule:
    return LrSchedule(
        "cosine",
        inner.number("learning_rate_base", USUAL_RATE, 0, MAX_RATE),
        warmup_steps=inner.whole("warmup_steps", 10_000),
        total_steps=inner.whole("total_steps", 4_000_000),
        begins_at=inner.number("warmup_learning_rate", 0.0002, 0, MAX_RATE),
    )


def _manual(inner: Node, num_steps: int) -> LrSchedule:
    first = inner.number("initial_learning_rate", USUAL_RATE, 0, MAX_RATE)
    by_step = {0: first}
    for each in inner.nodes("schedule"):
        by_step[each.whole("step", 0)] = each.number("learning_rate", USUAL_RATE, 0, MAX_RATE)
    points = sorted(by_step.items())
    reached = [point for point in points if not num_steps or point[0] < num_steps] or points[:1]
    beyond = tuple(step for step, _ in points[len(reached) :])
    highest = max(rate for _, rate in reached)
    began = next(step for step, rate in reached if rate == highest)
    drops, is_exact = approximate_drops([(step, rate) for step, rate in reached if step >= began], highest)
    begins_at = first if began else 0.0
    kind = "step" if drops else "constant"
    return LrSchedule(kind, highest, began, drops, is_exact=is_exact, begins_at=begins_at, beyond=beyond)


def _exponential(inner: Node, num_steps: int) -> LrSchedule:
    rate = inner.number("initial_learning_rate", USUAL_RATE, 0, MAX_RATE)
    every, factor = inner.whole("decay_steps", 4_000_000, 1), inner.number("decay_factor", 0.95, 1e-9, 1.0)
    warm_up = inner.whole("burnin_steps", 0)
    begins_at = inner.number("burnin_learning_rate", 0.0, 0, MAX_RATE)
    floor = inner.number("min_learning_rate", 0.0, 0, MAX_RATE)
    drops = []
    if factor < 1:
        for count in range(1, MAX_DROPS + 1):
            step = round(every * (count - 0.5) * TENTH / -math.log(factor))
            if (num_steps and step >= num_steps) or rate * 10.0 ** (0.5 - count) < floor:
                break
            drops.append(step)
    kind = "step" if drops and num_steps else "constant"
    return LrSchedule(
        kind, rate, warm_up, tuple(drops) if num_steps else (), is_exact=factor == 1.0, begins_at=begins_at
    )  # fmt: skip


def approximate_drops(points: list[tuple[int, float]], highest: float) -> tuple[tuple[int, ...], bool]:
    """Drops to a tenth that come nearest to these steps and rates; and whether they are what was asked for."""
    drops: list[int] = []
    is_exact = True
    for step, rate in points:
        tenths = math.log(highest / rate) / TENTH if rate > 0 and highest > 0 else float(MAX_DROPS)
        wanted = min(round(tenths), MAX_DROPS)
        is_exact &= abs(tenths - wanted) < NEAR and wanted >= len(drops)
        drops += [step] * (wanted - len(drops))
    return tuple(drops), is_exact


def compute_drop_epochs(lr_schedule: LrSchedule, total_steps: int, epochs: int) -> list[int]:
    """By their share of the training, at the ends of epochs: the first has the whole rate."""
    return [min(max(round(step / total_steps * epochs), 1), epochs) for step in lr_schedule.drops_at_steps]
