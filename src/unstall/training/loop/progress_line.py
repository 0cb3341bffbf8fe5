"""How a training goes, in one line on standard error: kept up to date on a terminal; elsewhere a line now and then.

epoch 3/20   step 120/187   loss 0.8123   410 images/s   input wait 2 %   1.2 GiB   4 min 10 s left
"""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from unstall.base.console import is_printable
from unstall.base.formatting import format_count, format_duration, format_size

EVERY_S = 30.0  # a line where there is no terminal
LOOK_BACK_S = 20.0  # over which rates are told
REFRESHES_EACH_S = 4


def print_message(text: str) -> None:
    """A line on standard error."""
    if sys.stderr is None:
        return
    try:
        sys.stderr.write(is_printable(text) + "\n")
        sys.stderr.flush()
    except OSError:
        return  # it is gone: nobody reads


class StepRate:
    """How fast steps come, over the last seconds and altogether. Times are monotonic."""

    def __init__(self, now: float) -> None:
        self._steps: deque[tuple[float, float]] = deque([(now, 0.0)])  # when a step ended, and how long it waited for input
        self._first: float | None = None
        self._done = 0

    def step(self, now: float, waited_s: float) -> None:
        if self._first is None:
            self._first = now  # the first one was compiled: it says nothing about the others
        else:
            self._done += 1
        self._steps.append((now, waited_s))
        while len(self._steps) > 2 and now - self._steps[0][0] > LOOK_BACK_S:
            self._steps.popleft()

    def rest(self, now: float) -> None:
        """Something else was done since the last step."""
        self._steps = deque([(now, 0.0)])

    @property
    def steps_each_s(self) -> float | None:
        span = self._steps[-1][0] - self._steps[0][0]
        return (len(self._steps) - 1) / span if span > 0 else None

    @property
    def wait_share(self) -> float | None:
        span = self._steps[-1][0] - self._steps[0][0]
        return min(1.0, sum(waited for _, waited in list(self._steps)[1:]) / span) if span > 0 else None

    def left_s(self, now: float, steps_left: int) -> float | None:
        """As long as those before took, with all that came between them: scoring, saving."""
        return None if self._first is None or not self._done else (now - self._first) / self._done * steps_left


class TrainingLine:
    def __init__(
        self, epochs: int, steps_per_epoch: int, batch_size: int, memory: Callable[[], int | None], is_silent: bool = False
    ) -> None:
        """`is_silent`: nothing is shown or said, as another worker of the same run says the same."""
        self._is_silent = is_silent
        self._epochs, self._steps_per_epoch, self._batch_size, self._memory = epochs, steps_per_epoch, batch_size, memory
        self._epoch = self._step = 0
        self._loss: float | None = None
        self._work: tuple[str, int, int] | None = None  # other than steps
        self._step_rate = StepRate(time.monotonic())
        self._reported_at = time.monotonic()
        self._live: Any = None

    def __enter__(self) -> TrainingLine:
        if sys.stderr is not None and sys.stderr.isatty() and not self._is_silent:
            from rich.console import Console
            from rich.live import Live

            console = Console(stderr=True, highlight=False)
            self._live = Live(console=console, get_renderable=self._shown, refresh_per_second=REFRESHES_EACH_S, transient=True)
            self._live.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    # --- what happens ---

    def step(self, epoch: int, step: int, loss: float | None, waited_s: float) -> None:
        now = time.monotonic()
        self._epoch, self._step, self._loss, self._work = epoch, step, loss, None
        self._step_rate.step(now, waited_s)
        if self._live is None and now - self._reported_at > EVERY_S:
            self.say(self.text())

    def works(self, what: str, done: int, of: int) -> None:
        """As a Progress is called."""
        self._work = (what, done, of)

    def epoch_ended(self, row: Mapping[str, Any]) -> None:
        self._step_rate.rest(time.monotonic())
        self._work = None
        figures = [f"{name} {row[name]:.4f}" for name in ("AP", "AP50") if row.get(name) is not None]
        loss = "" if row.get("loss") is None else f"loss {row['loss']:.4f}"
        best = "the best so far" if row.get("is_best") else ""
        skipped = f"{format_count(row['skipped_updates'], 'update')} skipped" if row.get("skipped_updates") else ""
        took = format_duration(row["train_s"] + row["eval_s"])
        parts = (f"epoch {row['epoch']}/{self._epochs}", loss, *figures, best, skipped, took)
        self.say("   ".join(part for part in parts if part))

    def say(self, text: str) -> None:
        """A line that stays."""
        if self._is_silent:
            return
        self._reported_at = time.monotonic()
        if self._live is not None:
            from rich.text import Text

            self._live.console.print(Text(is_printable(text)), soft_wrap=True)
        else:
            print_message(text)

    # --- as it is shown ---

    def text(self) -> str:
        head = f"epoch {self._epoch + 1}/{self._epochs}"
        if self._work is not None:
            what, done, of = self._work
            return f"{head}   {what} {done}/{of}" if of else f"{head}   {what}"
        parts = [head, f"step {self._step}/{self._steps_per_epoch}"]
        if self._loss is not None:
            parts.append(f"loss {self._loss:.4f}")
        rate, waits = self._step_rate.steps_each_s, self._step_rate.wait_share
        if rate is not None and waits is not None:
            parts += [f"{rate * self._batch_size:.3g} images/s", f"input wait {waits:.0%}"]
        steps_left = (self._epochs - self._epoch) * self._steps_per_epoch - self._step
        left_s = self._step_rate.left_s(time.monotonic(), steps_left)
        if left_s is not None:
            parts.append(f"{format_duration(left_s)} left")
        memory = self._memory()
        if memory is not None:
            parts.append(format_size(memory))
        return "   ".join(parts)

    def _shown(self) -> Any:
        from rich.text import Text

        text = self.text()
        if self._live is not None and len(text) > self._live.console.width:
            text = text.replace("   ", "  ").replace(" images/s", " img/s")  # so that 80 columns have all but the memory
        return Text(text, style="cyan", no_wrap=True, overflow="ellipsis")
