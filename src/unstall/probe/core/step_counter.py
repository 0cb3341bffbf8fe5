"""Counts steps and puts short ones together, so that a journal stays small however fast the steps are.

The loss that Keras tells is a running mean over the epoch. The mean over some steps is recovered from two readings:
(b · mean_b − a · mean_a) / (b − a).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any, Optional

from unstall.journal.events import Event, StepsEnded

EACH_STEP_UP_TO = 8  # the first steps are told one by one
EVERY_S = 1.0
EVERY_LATER_S = 5.0
LATER_AFTER_S = 300.0
LONGER = 1.5  # times as long as steps have been: such are told as often as early ones, since somebody may want to know
NEWEST_SHARE = 0.1  # that the newest group has in what steps have been
PRECISION = 3e-7  # of a running mean of 32 bits


class StepCounter:
    """One phase of one fit. All times are monotonic."""

    def __init__(self, phase: str, emit: Callable[[Event], None], running_mean: bool = True) -> None:
        self.phase = phase
        self.done = 0
        self._emit = emit
        self._running_mean = running_mean
        self._least = math.inf  # of the losses so far
        self._opened = time.monotonic()
        self._usual = 0.0  # seconds of a step; 0: not known yet
        self._epoch = 0
        self._reset_mean()
        self._start_group(None)

    def epoch(self, epoch: int) -> None:
        self.flush(time.monotonic())
        self._epoch = epoch
        self._reset_mean()

    def mean_was_reset(self) -> None:
        """In the middle of an epoch: an evaluation in a callback sets Keras's metrics back."""
        self.flush(time.monotonic())
        self._reset_mean()

    def _reset_mean(self) -> None:
        self._mean_steps = 0
        self._mean_sum = 0.0
        self._epoch_steps = 0

    def _start_group(self, now: Optional[float]) -> None:
        self._first = self.done
        self._group_began = now
        self._busy = self._longest = self._wait = 0.0
        self._waited = 0

    def ended(
        self,
        began: float,
        now: float,
        wait_s: Optional[float],
        loss: Callable[[], tuple[Optional[float], int]],
        count: int = 1,
        waited: int = 1,
    ) -> None:
        """A step ended. `loss` is asked only when a group of steps is written: what it is, and how many steps ago it was."""
        if self._group_began is None:
            self._group_began = began
        seconds = now - began
        self._busy += seconds
        self._longest = max(self._longest, seconds / count)
        if wait_s is not None:
            self._wait += wait_s
            self._waited += waited
        self.done += count
        self._epoch_steps += count
        length = (now - self._group_began) / (self.done - self._first)
        is_often = now - self._opened < LATER_AFTER_S or length > LONGER * self._usual > 0.0
        every = EVERY_S if is_often else EVERY_LATER_S
        begins_waiting = self._epoch_steps == 1 and self._wait * 2 >= seconds  # a pass; the wait is not that of its other steps
        if begins_waiting or self.done <= EACH_STEP_UP_TO or now - self._group_began >= every:
            value, age = loss()
            self._write(now, value, self._epoch_steps - age)
            if self.done > EACH_STEP_UP_TO and not begins_waiting:
                self._usual = length if not self._usual else (1 - NEWEST_SHARE) * self._usual + NEWEST_SHARE * length
            self._start_group(now)

    def flush(self, now: float, loss: Optional[float] = None, loss_age: int = 0) -> None:
        """Writes what has been put together so far: something else than steps comes next."""
        if self.done > self._first:
            self._write(now, loss, self._epoch_steps - loss_age)
        self._start_group(None)

    def _write(self, now: float, loss: Optional[float], loss_steps: int) -> None:
        began = self._group_began if self._group_began is not None else now
        mean, finite = self._group_loss(loss, loss_steps)
        self._emit(
            StepsEnded(
                at=time.time(),
                phase=self.phase,
                first=self._first,
                last=self.done - 1,
                epoch=self._epoch,
                seconds=now - began,
                busy_s=self._busy,
                longest_s=self._longest,
                wait_s=self._wait if self._waited else None,
                waited_steps=self._waited,
                loss=mean,
                loss_is_finite=finite,
            )
        )

    def _group_loss(self, loss: Optional[float], steps: int) -> tuple[Optional[float], Optional[bool]]:
        if loss is None:
            return None, None
        if not math.isfinite(loss):
            return None, False
        if not self._running_mean:
            return loss, True
        new = steps - self._mean_steps
        if new <= 0:
            return None, True  # this reading was told already
        total = loss * steps
        mean, most = (total - self._mean_sum) / new, max(abs(total), abs(self._mean_sum))
        self._mean_steps, self._mean_sum = steps, total
        finest = PRECISION * most / new
        if abs(mean) < finest and finest > self._least:
            return None, True  # after a loss of 10^16 a running mean says nothing of what follows
        self._least = min(self._least, abs(mean))
        return mean, True


def as_number(value: Any) -> Optional[float]:
    """A scalar of any framework as a float, or None if it is none."""
    try:
        return float(value)
    except (TypeError, ValueError, AttributeError):  # the last of a tensor in a graph, which has no numbers
        return None
    except RuntimeError:  # of an array of JAX: it is deleted, on another machine, or could not be computed
        return None
