"""The worker: reads the settings of its run, trains from the newest checkpoint on, and says by its exit code how it ended.

Only what must be there first is imported above: the backend is chosen, and signals are listened to, before a framework loads.
"""

from __future__ import annotations

import os
import sys
import time
import traceback
from types import TracebackType
from typing import TYPE_CHECKING

from unstall import backends
from unstall.backends import memory_errors
from unstall.backends.compiled import keep_compiled
from unstall.backends.quietly import start
from unstall.cli import missing_packages_named
from unstall.errors import BucketFailed, UnstallError
from unstall.inside import begin as probing
from unstall.inside import probe
from unstall.journal.events import MemoryExhausted, TrainingEnded
from unstall.report.training_line import say
from unstall.runs import RunFolder
from unstall.settings import Settings, from_plain
from unstall.training import telling
from unstall.training.endings import DONE, INTERRUPTED, OUT_OF_MEMORY, Ending
from unstall.training.interruption import Interrupted, Interruption

if TYPE_CHECKING:
    from unstall.training.beginning import Begun

LONGEST_MESSAGE = 2000


def work(run: RunFolder, is_quiet: bool) -> int:
    """The exit code. `is_quiet`: the score is not printed."""
    worker = Worker(run)
    try:
        with missing_packages_named("unstall train", "data,tensorflow"):
            ending = worker.train()
    except UnstallError as error:
        if isinstance(error, BucketFailed):
            telling.failed(error)  # it may pass: whoever treats the run is to know of what it died
        say(f"unstall: {error}")
        return error.exit_code
    if ending == INTERRUPTED:
        worker.leave()
    if ending == DONE and not is_quiet:
        worker.show_results()
    return ending


def show_all(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """An error that nobody expected. The probe's own hook would leave out frames of Unstall, which are all there is here."""
    telling.failed(error)
    traceback.print_exception(kind, error, trace)


class Worker:
    def __init__(self, run: RunFolder) -> None:
        self.run = run
        self.interruption = Interruption()
        self.begun: Begun | None = None

    def train(self) -> Ending:
        began = time.monotonic()
        probing.begin(self.run)
        sys.excepthook = show_all
        self.interruption.listen()
        settings = from_plain(self.run.read_settings(), f"{self.run.settings_path}: ")
        try:
            ending = self._train(settings)
        except Interrupted:
            ending = INTERRUPTED
        except memory_errors.kinds() as error:
            if not memory_errors.is_out_of_memory(error):
                raise
            self._tell_memory(error, settings)
            ending = OUT_OF_MEMORY
        step = 0 if self.begun is None else self.begun.at.step
        telling.tell(TrainingEnded(at=time.time(), step=step, ending=ending.title, seconds=time.monotonic() - began))
        return ending

    def _train(self, settings: Settings) -> Ending:
        with self.interruption.may_leave():
            from unstall.data.augment.names import augmentations

            augmentations(settings.augment)  # what can be refused is refused before anything is loaded
            backend = backends.choose(None if settings.backend == "auto" else settings.backend, takes_card=True)
            if settings.deterministic:
                from unstall.backends.determinism import make_deterministic

                make_deterministic(backend)
            keep_compiled(self.run.compiled_path, backend)
            start(backend, takes_card=True)
            self.interruption.listen_again()
            from unstall.training.beginning import begin
            from unstall.training.trainer import Trainer

            self.begun = begin(self.run, settings, self.interruption)
        with self.begun.line:
            return Trainer(self.begun).train()

    def _tell_memory(self, error: BaseException, settings: Settings) -> None:
        message = f"{type(error).__name__}: {error}"[:LONGEST_MESSAGE]
        phase, step = ("build", 0) if self.begun is None else (self.begun.doing, self.begun.at.step)
        telling.failed(error)
        telling.tell(
            MemoryExhausted(
                at=time.time(),
                step=step,
                phase=phase,
                micro_batch=settings.at_once,
                precision=settings.precision,
                message=message,
            )
        )
        say(f"unstall: out of memory at step {step} ({phase.replace('_', ' ')}): {message.splitlines()[0][:200]}")

    def leave(self) -> None:
        """At once: everything is kept, and whoever asked may not wait for frameworks that take themselves apart for seconds."""
        current = probe.current()
        if current is not None:
            probing.ended(current)
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
        os._exit(INTERRUPTED)

    def show_results(self) -> None:
        """The score of the best weights, and where everything lies."""
        from unstall.report.score_text import show_score
        from unstall.report.text import console

        out = console()
        assert self.begun is not None
        score = self.begun.results.best_score()
        if score is not None:
            show_score(score, out)
        for name, path in (
            ("best weights", self.run.best_weights_path),
            ("last weights", self.run.last_weights_path),
            ("history", self.run.history_path),
            ("pictures", self.run.predictions_path),
        ):
            if path.exists():
                out.print(f"{name:<13} {path}", soft_wrap=True, highlight=False, markup=False)
