"""The course of a training in numbers: its losses, how far its weights move, what it is fed. Read from the journal, judged here.

The causes about numbers share two questions. Is the training in trouble at all (`find_loss_problem`)? A strange number in a run
that learns is no fault. And what made a step too long (`find_long_step`): the rate, the gradients, or the inputs?
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from statistics import mean, stdev
from typing import Any

from unstall.diagnosis.probe_facts import find_current_fit, find_missing_probe, read_facts, train_groups
from unstall.diagnosis.verdict import Clear, Unknown
from unstall.journal.events import BatchSampled, FitBegan, LoopSeen, ModelDescribed, StepsEnded, WeightsSampled
from unstall.journal.reader import Journal

MIN_STEPS = 400  # before a loss is said to stand still
MIN_SECONDS = 6.0
MIN_READINGS = 6
LEFT_OUT_STEPS = 50  # in a row: a loss scale that is halved at each has by then become small enough for anything that is finite
RISEN = 3.0  # times the loss of the start, or of guessing
FAR = 10.0  # times the loss of guessing
STILL_THERE = 0.6  # of the loss of a while before: less, and it is on its way down
RUNAWAY = 1e6  # times the loss of the start: no loss that is trained on goes so far
EXPLODED = 100.0  # times the loss of the start
MIN_START = 0.01  # a loss that begins near 0, as one whose rewards are still to come, may grow by any factor
RUNAWAY_READINGS = 8  # the last ones in a row
NOT_BETTER = 0.97  # of the loss of guessing, or of the start
TREND = 0.01  # a fall by this share from the first half of the readings to the second is a fall
STANDARD_ERRORS = 3.0
EARLY = 0.02  # of the steps
EARLY_STEPS = 100
SOON = 40  # steps: what a training does at once
OWN_SIZE = 0.3  # a step by more than this share of the weights' own size is a leap
LEAP_ANYWAY = 5.0  # times the weights' own size: a leap that a usual rate would have made as well
# The largest learning rates that are usual, and those one starts with.
LARGEST_USUAL = {
    "SGD": 0.1, "Adam": 0.01, "AdamW": 0.01, "Nadam": 0.01, "RMSprop": 0.01, "Adamax": 0.02, "Adagrad": 0.1, "Adadelta": 2.0,
    "Lion": 0.003, "Ftrl": 0.1, "Lamb": 0.02, "Muon": 0.05, "Adafactor": 0.1,
}  # fmt: skip
USUAL = {name: rate / 10 for name, rate in LARGEST_USUAL.items()}


@dataclass(frozen=True)
class Leap:
    """One step that moved a layer's weights by more than is sane."""

    sample: WeightsSampled
    weight: dict[str, Any]
    ratio: float  # the step's size in sizes of the weights before it
    rate: float | None


@dataclass(frozen=True)
class LossProblem:
    """kind: not finite | risen | far (above guessing, and hardly falling) | stuck | runaway | zero."""

    kind: str
    loss: float | None  # where it stands now
    reference: float | None  # the loss of the start, or of guessing
    events: tuple[Any, ...]


class LearningCurve:
    def __init__(self, journal: Journal, fit: FitBegan) -> None:
        self.journal = journal
        self.fit = fit
        self.groups: list[StepsEnded] = train_groups(journal)
        described = [event for event in journal.since(ModelDescribed, fit.at - 60.0) if self._is_of_fit(event)]
        self.model_event = described[-1] if described else None
        self.model: dict[str, Any] = described[-1].facts if described else {}
        self.samples = journal.since(WeightsSampled, fit.at)
        self.batches = journal.since(BatchSampled, fit.at)
        broke = read_facts(journal, "not_finite", fit.at)
        self.broke: LoopSeen | None = broke[0] if broke else None
        self.level_event = compute_guessing_level(journal, fit)
        self.takes_turns = bool(read_facts(journal, "turns"))

    def _is_of_fit(self, event: ModelDescribed) -> bool:
        """One's own loop is described while its first step is traced, before it counts as begun."""
        return event.at >= self.fit.at or bool(event.facts.get("own_loop")) == (self.fit.api == "own_loop")

    # --- losses ---

    @cached_property
    def readings(self) -> list[StepsEnded]:
        return [group for group in self.groups if group.loss is not None]

    @property
    def first_loss(self) -> float | None:
        """Before the first update, or soon after."""
        first = self.readings[0] if self.readings else None
        return first.loss if first is not None and first.last < SOON else None

    @property
    def level(self) -> float | None:
        """The loss of guessing, where it is known."""
        return float(self.level_event.facts["level"]) if self.level_event is not None else None

    @property
    def steps(self) -> int:
        return self.groups[-1].last + 1 if self.groups else 0

    @property
    def seconds(self) -> float:
        return self.groups[-1].at - self.fit.at if self.groups else 0.0

    @cached_property
    def late(self) -> list[StepsEnded]:
        """The readings of the last two thirds, the first steps left out."""
        later = [group for group in self.readings if group.first > SOON]
        return later[len(later) // 3 :]

    @property
    def late_loss(self) -> float | None:
        return mean(group.loss for group in self.late if group.loss is not None) if self.late else None

    @property
    def early_loss(self) -> float | None:
        """The mean over the first steps: the first loss alone is that of one batch, and may lie anywhere."""
        until = max(EARLY_STEPS, EARLY * self.steps)
        early = [group for group in self.readings if group.first < until]
        steps = [group.last - group.first + 1 for group in early]
        return sum((group.loss or 0.0) * count for group, count in zip(early, steps, strict=True)) / sum(steps) if steps else None

    def find_fall(self) -> float | None:
        """The share of the early loss that is left; None where that says nothing."""
        early, now = self.early_loss, self.late_loss
        return now / early if early is not None and now is not None and early > 0 else None

    def falls(self) -> bool:
        """Whether the second half of the late readings lies below the first by more than chance, or a trifle."""
        losses = [group.loss for group in self.late if group.loss is not None]
        half = len(losses) // 2
        if half < 2:
            return False
        first, second = losses[:half], losses[half:]
        fall, scale = mean(first) - mean(second), max(abs(mean(losses)), 1e-12)
        error = (stdev(first) ** 2 / len(first) + stdev(second) ** 2 / len(second)) ** 0.5
        return fall > TREND * scale or (fall > STANDARD_ERRORS * error and fall > TREND * scale / 5)

    # --- the optimizer ---

    @property
    def optimizer(self) -> str:
        return str(self.model.get("optimizer") or "")

    @property
    def rates(self) -> list[float]:
        return [rate for sample in self.samples if (rate := sample.facts.get("learning_rate")) is not None]

    def gain(self) -> float:
        """How much further momentum carries a step."""
        momentum = float(self.model.get("momentum") or 0.0)
        return 1.0 / max(0.01, 1.0 - min(0.99, momentum)) if self.optimizer == "SGD" else 1.0

    # --- weights ---

    def kernels(self, sample: WeightsSampled) -> list[dict[str, Any]]:
        return [weight for weight in sample.facts["weights"] if len(weight["shape"]) >= 2 and (weight.get("start") or 0.0) > 1e-6]

    @cached_property
    def leaps(self) -> list[Leap]:
        """Steps by more than a share of the weights' own size, in the first steps or while all was finite."""
        found = []
        before: dict[str, float] = {}
        for sample in self.samples:
            for weight in self.kernels(sample):
                own = before.get(weight["name"], weight["start"])
                step = weight.get("step")
                infinite = weight.get("not_finite") and "step" in weight and before.get(weight["name"]) is not None
                if step is not None and own and step / own >= OWN_SIZE:
                    found.append(Leap(sample, weight, step / own, sample.facts.get("learning_rate")))
                if weight.get("rms") is not None:
                    before[weight["name"]] = weight["rms"]
                elif infinite:
                    before.pop(weight["name"], None)
        return found


def compute_guessing_level(journal: Journal, fit: FitBegan) -> LoopSeen | None:
    """The loss that guessing gives in this fit; None where it is not known, or hangs on weights that come with the batches."""
    plain = read_facts(journal, "guessing", _since(journal, fit))
    weights = [facts for event in journal.since(BatchSampled, fit.at) for facts in event.facts["arrays"] if _is_weight(facts)]
    return plain[-1] if plain and not weights else None


def _since(journal: Journal, fit: FitBegan) -> float:
    """A level told before that is another fit's; one's own loop may begin anew and is told of once."""
    if fit.api != "own_loop":
        return fit.at
    fits = journal.of(FitBegan)
    others = [index for index, each in enumerate(fits) if each.api != "own_loop"]
    return fits[others[-1] + 1].at if others else 0.0


def _is_weight(facts: dict[str, Any]) -> bool:
    return facts["role"] == "weight" and not facts.get("min") == facts.get("max") == 1


def read_current_curve(journal: Journal) -> LearningCurve | None:
    """Of the fit, or the loop, that is going on; None where no step was seen."""
    fit = find_current_fit(journal)
    if fit is None:
        return None
    found = LearningCurve(journal, fit)
    return found if found.groups else None


def read_watched_curve(journal: Journal) -> LearningCurve | Clear | Unknown:
    """The same for a cause that only the probe can see; where there is none, the verdict that says why."""
    return find_missing_probe(journal) or read_current_curve(journal) or Clear("no training was seen")


# --- is it in trouble? ---


def find_current_not_finite(run: LearningCurve) -> bool:
    """The loss is not finite, and has not become so again; or weights are not finite."""
    if find_ruined_weights(run):
        return True
    if run.broke is None or not run.groups:
        return False
    later = [group for group in run.groups if group.first > run.broke.facts["step"] and group.loss_is_finite is not None]
    again = bool(later) and later[-1].loss_is_finite is True
    # A loss scale leaves out a step that overflows: one bad loss spoils the mean of its epoch, and nothing else; unless every
    # step is left out, and no smaller scale helps.
    is_left_out = run.model.get("loss_scaled") and run.samples
    return not again and (not is_left_out or has_no_movement(run))


def has_no_movement(run: LearningCurve) -> bool:
    """Whether no weight has changed by one bit over many steps, up to the newest sample."""
    newest = run.samples[-1].facts
    rows = [weight for weight in newest["weights"] if weight.get("units")]
    return bool(rows) and newest["window"] >= LEFT_OUT_STEPS and all(weight["still"] == weight["units"] for weight in rows)


def find_ruined_weights(run: LearningCurve) -> list[dict[str, Any]]:
    """Weights that hold numbers which are not finite, in the newest sample."""
    return [weight for weight in run.samples[-1].facts["weights"] if weight.get("not_finite")] if run.samples else []


def find_loss_problem(run: LearningCurve) -> LossProblem | None:
    if find_current_not_finite(run):
        events = (run.broke,) if run.broke is not None else (run.samples[-1],)
        return LossProblem("not finite", None, run.first_loss, events)
    if run.takes_turns or run.model.get("own_step"):
        return None  # several losses, or one that need not fall
    now, first, level = run.late_loss, run.first_loss, run.level
    if now is None or len(run.late) < MIN_READINGS or run.steps < MIN_STEPS or run.seconds < MIN_SECONDS:
        return None
    reference = level if level is not None else first
    if reference is None or reference <= 0:
        return None
    if level is not None and _is_far(run, level):
        return LossProblem("far", run.late[-1].loss, level, (run.late[-1],))
    if run.falls():
        return None
    worst = max(reference, first) if first is not None else reference
    if now > RISEN * worst:
        return LossProblem("risen", now, worst, (run.late[-1],))
    if now >= NOT_BETTER * reference:
        return LossProblem("stuck", now, reference, (run.late[-1],))
    return None


def _is_far(run: LearningCurve, level: float) -> bool:
    """Many times above what guessing gives after long training, and not on the way down."""
    now, before = run.late[-1].loss, run.late[len(run.late) // 2].loss
    return now is not None and before is not None and now > FAR * level and now > STILL_THERE * before


def find_runaway(run: LearningCurve) -> LossProblem | None:
    """A loss that has left any range in which one trains, at whatever length of training: a million times its start; or exactly 0
    for good, after it had exploded, or at once from above its start. A loss that is learned to 0 comes from below its start."""
    losses = [(group.loss, group) for group in run.readings if group.loss is not None]
    first = run.first_loss
    if run.takes_turns or run.model.get("own_step") or first is None or first < MIN_START or len(losses) <= RUNAWAY_READINGS:
        return None
    last = losses[-max(RUNAWAY_READINGS, len(losses) // 2) :]
    if min(loss for loss, _ in last) > RUNAWAY * first:
        return LossProblem("runaway", last[-1][0], first, (losses[0][1], last[-1][1]))
    count = next((index for index, (loss, _) in enumerate(reversed(losses)) if loss != 0.0), len(losses))
    before = losses[: len(losses) - count]
    peak = max(before, key=lambda each: each[0], default=None)
    if peak is None or count < RUNAWAY_READINGS or any(loss == 0.0 for loss, _ in before):  # it comes to 0 as one that is learned
        return None
    if peak[0] < EXPLODED * first and (peak[0] < FAR * first or before[-1][0] < first):
        return None
    return LossProblem("zero", peak[0], first, (peak[1], losses[-count][1], losses[-1][1]))


# --- what made a step too long? ---


def find_long_step(run: LearningCurve) -> tuple[str, Leap] | None:
    """('rate' | 'gradients', the longest early leap), where steps were too long."""
    leaps = [leap for leap in run.leaps if leap.sample.step <= SOON] or run.leaps
    if not leaps:
        return None
    longest = max(leaps, key=lambda leap: leap.ratio)
    first = min(leaps, key=lambda leap: leap.sample.step)
    rate = first.rate
    largest, usual = LARGEST_USUAL.get(run.optimizer), USUAL.get(run.optimizer)
    if rate is None or largest is None or usual is None:
        return None
    effective = rate * run.gain()
    # With the rate that one usually starts with, would that first step still have been a leap? Then it is not the rate's fault.
    with_usual = first.ratio * min(1.0, usual / rate)
    if effective > largest and with_usual < LEAP_ANYWAY:
        return "rate", longest
    return "gradients", longest


# --- words ---


def shorten_name(weight: dict[str, Any]) -> str:
    """`dense_3/kernel`."""
    return "/".join(str(weight["name"]).split("/")[-2:])


def format_number(value: float | None) -> str:
    """A number as one would write it."""
    if value is None:
        return "unknown"
    if value != 0 and (abs(value) >= 1e6 or abs(value) < 1e-3):
        return f"{value:.1e}".replace(".0e", "e").replace("e+0", "e").replace("e-0", "e-").replace("e+", "e")
    return f"{value:,.3g}" if abs(value) < 1000 else f"{value:,.0f}"
