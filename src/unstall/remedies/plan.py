"""What crosses from treatment to the supervisor: a Fault that was found, and the Plan that a remedy makes for it.

Only a plan changes the settings of a run. Applying one and undoing it gives the same settings again. Standard library only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from unstall.base.exit_codes import DONE
from unstall.config.settings import Settings, apply_changes, as_plain
from unstall.journal.events import CheckpointCompleted, PlanMade, StepsEnded, TrainingBegan, TrainingEnded
from unstall.journal.reader import Journal


class Kind(StrEnum):
    """What can go wrong with a training of Unstall's own, by the name of the cause where the watching half has one."""

    DEVICE_MEMORY = "device_memory_exhausted"
    HOST_MEMORY = "host_memory_exhausted"
    NOT_FINITE = "loss_not_finite"
    DIVERGED = "loss_diverged"
    STARVED = "input_starved"
    STUCK = "training_stuck"
    DIED = "worker_died"


class Verb(StrEnum):
    """All that a plan can do."""

    RESTART = "restart"  # from the beginning
    RESUME = "resume from"  # a checkpoint
    CHANGE = "change"  # settings, and resume
    SKIP = "skip examples"
    STOP = "stop"
    ASK = "ask"


@dataclass(frozen=True)
class Fault:
    """What was found, with the journal of the worker that had it. Remedies are pure functions of it."""

    kind: Kind
    step: int  # that the training was in, counted over all epochs
    happened: str  # one sentence
    evidence: tuple[str, ...]
    settings: Settings  # that it happened under
    journal: Journal
    plans: tuple[PlanMade, ...] = ()  # that this run has had, oldest first
    checkpoints: tuple[int, ...] = ()  # steps that it can go on from, oldest first
    cores: int = 1  # that the run may use
    is_secondary_host: bool = False  # the first worker, which has the checkpoints, is on another machine
    helped: frozenset[int] = frozenset()  # attempts of those plans after which the run got on

    @property
    def newest_checkpoint(self) -> int:
        return self.checkpoints[-1] if self.checkpoints else 0

    @property
    def computes_in_host_memory(self) -> bool:
        """On a CPU. Also where nobody could tell any more: then it is worth a try."""
        began = self.journal.last(TrainingBegan)
        return began is None or "cpu" in began.device.lower()

    def before(self, remedy: str = "") -> list[PlanMade]:
        """Plans made for this kind of fault, of that remedy or of any."""
        return [plan for plan in self.plans if plan.cause == self.kind and remedy in {"", plan.remedy}]

    def count_attempts_at_place(self, remedy: str = "") -> int:
        """How often it was tried to get past here, in vain: the newest plans that the run has not got any further with. A worker
        that dies before it has begun is in no step yet: then it counts whether the run got on after them."""
        count = 0
        for plan in reversed(self.before(remedy)):
            if plan.step < self.step or plan.attempt in self.helped:
                break
            count += 1
        return count


RECENT_GROUPS = 60  # of steps, by which it is judged how long they wait
LESS = 0.8  # of the wait before: what has helped can be felt


@dataclass(frozen=True)
class Sign:
    """How it is seen that a plan has helped: all of what is given must be so."""

    past_step: int  # the training has got further than this
    loss_below: float | None = None
    wait_below_s: float | None = None  # that a step waits for its input, in the mean

    @property
    def words(self) -> str:
        parts = [f"the training has got past step {self.past_step:,}"]
        parts += [f"the loss stays below {self.loss_below:.4g}"] if self.loss_below is not None else []
        parts += [f"a step waits less than {self.wait_below_s:.3g} s for its input"] if self.wait_below_s is not None else []
        return " and ".join(parts)

    def is_seen(self, journal: Journal) -> bool:
        if find_step_reached(journal) <= self.past_step and not _is_done(journal):
            return False
        groups = [group for group in journal.of(StepsEnded) if group.phase == "train"]
        if self.loss_below is not None:
            loss = next((group.loss for group in reversed(groups) if group.loss is not None), None)
            if loss is None or not loss < self.loss_below:
                return False
        waited_s = measure_wait_each_s(groups[-RECENT_GROUPS:])
        return self.wait_below_s is None or (waited_s is not None and waited_s < self.wait_below_s)


@dataclass(frozen=True)
class Plan:
    remedy: str
    verb: Verb
    change: Mapping[str, Any]  # settings by name, as JSON holds them
    why: str
    verify: Sign
    undo: Mapping[str, Any] = field(default_factory=dict)  # the same names, as they were
    from_step: int | None = None  # checkpoints after it are set aside; None: the newest is taken
    wait_s: float = 0.0  # before the next worker begins

    def applied_to(self, settings: Settings) -> Settings:
        return apply_changes(settings, self.change)

    def undo_in(self, settings: Settings) -> Settings:
        return apply_changes(settings, self.undo)


def plan_for(
    fault: Fault, remedy: str, verb: Verb, change: Mapping[str, Any], why: str, verify: Sign, from_step: int | None = None
) -> Plan | None:
    """The plan, knowing what undoes it. None where it would change what is so already: it was tried, and did not help."""
    before = as_plain(fault.settings)
    if change and all(before[name] == value for name, value in change.items()):
        return None
    return Plan(remedy.rpartition(".")[2], verb, change, why, verify, {name: before[name] for name in change}, from_step)


def _is_done(journal: Journal) -> bool:
    """A fault in the last step has nothing after it but the end."""
    ended = journal.last(TrainingEnded)
    return ended is not None and ended.exit_name == DONE.title


# --- how far a training is, from the events of its worker ---


def find_step_reached(journal: Journal) -> int:
    """How many steps are done, counted over all epochs, as far as the events of this worker tell."""
    began = journal.last(TrainingBegan)
    first = began.from_step if began is not None else 0
    done = max((group.last + 1 for group in journal.of(StepsEnded) if group.phase == "train"), default=0)
    saved = journal.last(CheckpointCompleted)
    return max(first + done, saved.step if saved is not None else 0)


def measure_wait_share(groups: list[StepsEnded]) -> float | None:
    """Of the time of these steps, the share spent waiting for input; None where nobody measured."""
    measured = [group for group in groups if group.wait_s is not None and group.seconds > 0]
    # The time of a group begins with its first step, and the wait for that one may lie before it.
    total = sum(max(group.seconds, group.wait_s or 0.0) for group in measured)
    return sum(group.wait_s or 0.0 for group in measured) / total if total else None


def measure_wait_each_s(groups: list[StepsEnded]) -> float | None:
    """How long a step waits for its input, in the mean; None where nobody measured."""
    measured = [group for group in groups if group.wait_s is not None]
    steps = sum(group.last + 1 - group.first for group in measured)
    return sum(group.wait_s or 0.0 for group in measured) / steps if steps else None
