"""What a training tells: its journal by events, steps and phases, and people by one line that is kept up to date.

The watching half sees this loop as it sees Keras's `fit`: the pulse, the steps with their waits and losses, the phases. Where no
probe is on, the journal is told nothing. Nothing of it may disturb the training, so that everything goes through the probe's
shield.
"""

from __future__ import annotations

import re
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from unstall.base.console import make_printable
from unstall.base.formatting import format_count, format_duration, format_size
from unstall.journal.events import BatchesCounted, DataMeasured, Event, UpdatesMeasured
from unstall.journal.events.record import OF_TRAINER
from unstall.probe.core import probe
from unstall.probe.errors.exceptions import create_error_event
from unstall.probe.host import devices
from unstall.probe.model import record as model_record

API = "unstall"  # who counts the steps, as FitBegan says it


def emit(event: Event) -> None:
    current = probe.get_current()
    if current is not None:
        current.emit(event)


def record(fingerprint: dict[str, Any], model: Any, batch: Mapping[str, tuple[Sequence[int], str]]) -> None:
    """What is learned from, what learns it and what it is fed with (shapes and dtypes), for a comparison with other runs."""
    emit(DataMeasured(at=time.time(), source=OF_TRAINER, fingerprint=fingerprint))
    arrays = [["x" if name == "images" else "y", name, list(shape), dtype] for name, (shape, dtype) in batch.items()]
    emit(BatchesCounted(at=time.time(), shapes=[{"arrays": arrays, "batches": 1}], different=1, batches=1))
    current = probe.get_current()
    if current is not None:
        current.shield.call("model record", model_record.get_record(current).report, model)


@contextmanager
def report_phase(name: str) -> Iterator[None]:
    """validate, save or predict: each has its own clock."""
    _call("phase_began", name)
    try:
        yield
    finally:
        current = probe.get_current()
        if current is not None and name in {"validate", "predict"}:
            current.shield.call("trainer", current.other.flush, time.monotonic())
        _call("phase_ended", name)


@contextmanager
def fit(backend: str, epochs: int, steps_per_epoch: int) -> Iterator[None]:
    """The training as a whole: within it, nobody else counts steps."""
    _call("fit_began", None, API, backend, epochs, steps_per_epoch, None)
    try:
        yield
    finally:
        _call("fit_ended")


def epoch_began(epoch: int) -> None:
    _call("epoch_began", epoch)


def epoch_ended(epoch: int, figures: dict[str, Any]) -> None:
    _call("epoch_ended", epoch, figures)


@contextmanager
def measure_input_wait() -> Iterator[None]:
    began = _call("input_began")
    try:
        yield
    finally:
        if began is not None:
            _call("input_ended", began)


def step_began() -> None:
    _call("step_began")


def step_ended(loss: Callable[[], float | None]) -> None:
    """The loss is asked for seldom; it may be that of a step before."""
    _call("step_ended", None, None, lambda: (loss(), 0))


def steps_paused(loss: float | None) -> None:
    """Something else comes next: what the steps took is counted up to here. The loss is that of the last one."""
    current = probe.get_current()
    if current is not None:
        current.shield.call("trainer", current.train.flush, time.monotonic(), loss)


def validation_step_ended(began: float) -> None:
    """A batch of a validation that began then (monotonic)."""
    _call("other_step", "validate", began)


def checkpoint_saved(path: str, seconds: float) -> None:
    """The training stood still for so long."""
    _call("saved", path, seconds, None)


def training_failed(error: BaseException) -> None:
    """An error that ends the training, as the probe tells those that reach the top; and what the devices' memory holds."""
    current = probe.get_current()
    if current is not None:
        event = (current, type(error), error, error.__traceback__, True)
        current.shield.call("trainer", lambda: current.emit(create_error_event(*event)))
        current.shield.call("trainer", devices.report_memory, current)


def count_steps_done() -> int:
    """Of this fit."""
    current = probe.get_current()
    return 0 if current is None else current.train.done


def report_alive() -> None:
    """Something was done, if not a step."""
    current = probe.get_current()
    if current is not None and current.pulse is not None:
        current.pulse.beat(time.monotonic())


def _call(name: str, *arguments: Any) -> Any:
    current = probe.get_current()
    return None if current is None else current.shield.call("trainer", getattr(current, name), *arguments)


# How a training goes, in one line on standard error: kept up to date on a terminal; elsewhere a line now and then.
#
# epoch 3/20   step 120/187   loss 0.8123   410 images/s   input wait 2 %   1.2 GiB   4 min 10 s left


EVERY_S = 30.0  # a line where there is no terminal
LOOK_BACK_S = 20.0  # over which rates are told
REFRESHES_EACH_S = 4


def print_message(text: str) -> None:
    """A line on standard error."""
    if sys.stderr is None:
        return
    try:
        sys.stderr.write(make_printable(text) + "\n")
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

            self._live.console.print(Text(make_printable(text)), soft_wrap=True)
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


# How large the updates of a run are: the rate, and the gradients of each group of layers. Told now and then, more often in its
# first minutes.


UPDATES_EVERY_S, UPDATES_SHARE, UPDATES_MAX_S = 2.0, 0.02, 60.0  # at first; of the time since; and at most

Write = Callable[[int, Mapping[str, float]], None]


class Updates:
    def __init__(self, write: Write | None = None, now: Callable[[], float] = time.monotonic) -> None:
        """`write`: where the norms are shown beside the journal, by step."""
        self._write, self._now = write, now
        self._began = self._reported_at = now()
        self._sums: dict[str, float] = {}
        self._norm, self._rate, self._count, self._step = 0.0, 0.0, 0, 0

    def see(self, step: int, rate: float, norm: float, norms: Mapping[str, float]) -> None:
        """One that was applied: its rate, the norm of its gradients, and that of each group."""
        for group, value in norms.items():
            self._sums[group] = self._sums.get(group, 0.0) + value
        self._norm += norm
        self._count, self._step, self._rate = self._count + 1, step, rate
        now = self._now()
        if now - self._reported_at >= min(UPDATES_MAX_S, max(UPDATES_EVERY_S, UPDATES_SHARE * (now - self._began))):
            self.report()

    def report(self) -> None:
        """What was not told yet."""
        if not self._count:
            return
        step, means = self._step, {group: _short(total / self._count) for group, total in self._sums.items()}
        emit(
            UpdatesMeasured(
                at=time.time(),
                step=step,
                updates=self._count,
                rate=_short(self._rate),
                norm=_short(self._norm / self._count),
                norms=means,
            )
        )
        if self._write is not None:
            self._write(step, {f"gradients/{group}": norm for group, norm in means.items()})
        self._reported_at = self._now()
        self._sums, self._norm, self._count = {}, 0.0, 0


def _short(value: float) -> float:
    return float(f"{value:.5g}")


# The layers of a detector in a few groups, from the image to the boxes, so that the gradients of each can be looked at.


BODIES = ("backbone.body.", "backbone.features.")  # where most layers are: three groups by depth
DEPTHS = ("first layers", "middle layers", "last layers")
DOTS = 2  # of a layer's name, that tell one group from the other: backbone.fpn, head.regression_head, rpn.head
LEARNS_FIRST = ("backbone", "rpn")  # all others come after these


def group_layers(names: Iterable[str]) -> dict[str, list[str]]:
    """Names of variables (`backbone.body.conv1/kernel`) by the name of their group."""
    by_layer: dict[str, list[str]] = {}
    for name in names:
        by_layer.setdefault(name.partition("/")[0], []).append(name)
    found: dict[str, list[str]] = {}
    for layer, group in _in_order(by_layer):
        found.setdefault(group, []).extend(by_layer[layer])
    return found


def _in_order(layers: Iterable[str]) -> list[tuple[str, str]]:
    """Each layer and its group."""
    ordered = sorted(layers, key=_depth)
    body = [layer for layer in ordered if layer.startswith(BODIES)]
    of_body = {layer: f"backbone, {DEPTHS[place * len(DEPTHS) // len(body)]}" for place, layer in enumerate(body)}
    rest = [layer for layer in ordered if layer not in of_body]
    return [*of_body.items(), *((layer, ".".join(layer.split(".")[:DOTS])) for layer in rest)]


def _depth(layer: str) -> tuple[int, list[tuple[int, str]]]:
    """Sorted so, layer 2 comes before layer 10."""
    part = layer.partition(".")[0]
    place = LEARNS_FIRST.index(part) if part in LEARNS_FIRST else len(LEARNS_FIRST)
    return place, [(int(each), "") if each.isdigit() else (-1, each) for each in re.split(r"(\d+)", layer) if each]
