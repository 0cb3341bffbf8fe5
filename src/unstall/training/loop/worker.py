"""The worker: reads the settings of its run, trains from the newest checkpoint on, and says by its exit code how it ended.

Only what must be there first is imported above: the backend is chosen, and signals are listened to, before a framework loads.
"""

from __future__ import annotations

import os
import sys
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from unstall import backends
from unstall.backends import allocators, choose_backend_for
from unstall.backends.startup import keep_compiled, start
from unstall.base.console import print_what_the_stream_has
from unstall.base.errors import BucketError, InvalidInputError, UnstallError, name_missing_packages
from unstall.base.exit_codes import ADDRESS_TAKEN, DONE, INTERRUPTED, NOT_KEPT, OTHERS_LOST, OUT_OF_MEMORY, ExitCode
from unstall.base.files import make_new_files_private, make_private_folder
from unstall.base.formatting import format_count
from unstall.base.processes import end_with_supervisor
from unstall.config.aliases import update_names
from unstall.config.settings import Settings, from_plain
from unstall.journal.events import MemoryExhausted, OthersLost, TrainingEnded
from unstall.journal.run_folder import RunFolder
from unstall.probe import startup as probe_startup
from unstall.probe.core import probe
from unstall.training.distributed import engines
from unstall.training.distributed.collectives import (
    LOST_ERRORS,
    AddressTaken,
    Collectives,
    OthersLeft,
    PeersLost,
    are_others_lost,
)
from unstall.training.distributed.engines import ProcessEnv
from unstall.training.loop import instrumentation
from unstall.training.loop.instrumentation import print_message
from unstall.training.loop.interruption import Interrupted, Interruption

if TYPE_CHECKING:
    from unstall.training.loop.setup import TrainingContext

LONGEST_MESSAGE = 2000
NEWS_WITHIN_S = 0.5  # of who is gone, where a framework has noticed before we have


def main(arguments: Sequence[str]) -> int:
    """`python -m unstall.training` with these."""
    folders = [argument for argument in arguments if argument != "--quiet"]
    if len(folders) != 1:
        sys.stderr.write("unstall: Expected the folder of a run. Usage: python -m unstall.training RUN_FOLDER [--quiet]\n")
        return 2
    print_what_the_stream_has()
    make_new_files_private()
    return run_worker(RunFolder(Path(folders[0]).resolve()), is_quiet="--quiet" in arguments)


def run_worker(run: RunFolder, is_quiet: bool) -> int:
    """The exit code. `is_quiet`: the score is not printed."""
    try:
        worker = Worker(run, engines.read_own_process_env(os.environ))
    except UnstallError as error:
        print_message(f"unstall: {error}")
        return error.exit_code
    try:
        with name_missing_packages("unstall train", "data,tensorflow"):
            exit_code = worker.train()
    except UnstallError as error:
        if isinstance(error, BucketError | InvalidInputError):
            instrumentation.training_failed(error)  # whoever treats the run, or reads of it, is to know of what it died
        worker.say(f"unstall: {error}")
        if not worker.collectives.is_alone:
            worker.leave(error.exit_code)
        return error.exit_code
    if exit_code == INTERRUPTED:
        worker.leave(exit_code)
    if exit_code in (DONE, NOT_KEPT) and worker.who.is_first and not is_quiet:
        worker.show_results()
    if not worker.collectives.is_alone:
        if exit_code in (DONE, NOT_KEPT):
            from unstall.training.distributed.startup import leave_backend

            leave_backend()
        worker.leave(exit_code)
    return exit_code


def show_all(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """An error that nobody expected. The probe's own hook would leave out frames of Unstall, which are all there is here."""
    instrumentation.training_failed(error)
    traceback.print_exception(kind, error, trace)


def _failures() -> tuple[type[BaseException], ...]:
    """What is looked at more closely; of libraries, those that are loaded by then."""
    return (*allocators.list_error_types(), *LOST_ERRORS)


class Worker:
    def __init__(self, run: RunFolder, who: ProcessEnv) -> None:
        self.run, self.who = run, who
        self.collectives = Collectives(who)
        self.interruption = Interruption()
        self.context: TrainingContext | None = None

    def train(self) -> ExitCode:
        began = time.monotonic()
        own = self.run.of_worker(self.who.rank)
        make_private_folder(own.path)
        probe_startup.begin(own)
        sys.excepthook = show_all
        self.interruption.start_listening()
        end_with_supervisor()
        plain = {**update_names(self.run.read_settings()), "num_workers": self.who.world_size}
        settings = from_plain(plain, f"{self.run.settings_path}: ")
        try:
            exit_code = self._train(settings)
        except (Interrupted, OthersLeft):
            exit_code = INTERRUPTED
        except AddressTaken:
            exit_code = ADDRESS_TAKEN
        except PeersLost as lost:
            exit_code = self._without_others(lost)
        except _failures() as error:
            if allocators.is_out_of_memory(error):
                self._report_memory(error, settings)
                exit_code = OUT_OF_MEMORY
            elif not self.collectives.is_alone and are_others_lost(error):
                exit_code = self._without_others(error)
            else:
                raise
        step = 0 if self.context is None else self.context.at.step
        instrumentation.emit(
            TrainingEnded(at=time.time(), step=step, exit_name=exit_code.title, seconds=time.monotonic() - began)
        )
        return exit_code

    def _train(self, settings: Settings) -> ExitCode:
        with self.interruption.exit_allowed():
            from unstall.data.augment.names import create_augmentations

            create_augmentations(settings.augmentations)  # what can be refused is refused before anything is loaded
            requested = choose_backend_for(settings.backend, settings.num_workers)
            backend = backends.choose(None if requested == "auto" else requested, takes_card=True)
            if settings.deterministic:
                from unstall.backends.startup import make_deterministic

                make_deterministic(backend)
            keep_compiled(self.run.compiled_path, backend)
            if not self.who.is_alone:
                settings = self._join_others(settings)
            start(backend, takes_card=True)
            self.interruption.reinstall_handlers()
            from unstall.training.loop.setup import begin
            from unstall.training.loop.trainer import Trainer

            self.context = begin(self.run, settings, self.interruption, self.collectives)
        with self.context.line:
            return Trainer(self.context).train()

    def _join_others(self, settings: Settings) -> Settings:
        """The settings that all workers have agreed on."""
        from unstall.training.distributed.startup import join_workers

        self.collectives, settings = join_workers(self.who, settings, self.interruption)
        self.interruption.exit_last = self.collectives.exit_last
        return settings

    def _report_memory(self, error: BaseException, settings: Settings) -> None:
        message = f"{type(error).__name__}: {error}"[:LONGEST_MESSAGE]
        phase, step = ("build", 0) if self.context is None else (self.context.phase, self.context.at.step)
        instrumentation.training_failed(error)
        instrumentation.emit(
            MemoryExhausted(
                at=time.time(),
                step=step,
                phase=phase,
                micro_batch_size=settings.at_once,
                precision=settings.precision,
                message=message,
            )
        )
        self.say(f"unstall: out of memory at step {step} ({phase.replace('_', ' ')}): {message.splitlines()[0][:200]}")

    def _without_others(self, error: BaseException) -> ExitCode:
        step = 0 if self.context is None else self.context.at.step
        heartbeat = self.collectives.heartbeat
        news = heartbeat.newest(within_s=NEWS_WITHIN_S) if heartbeat is not None else None
        gone, silent = ([], []) if news is None else (list(news.gone), list(news.silent))
        self.say(f"unstall: {self.who.words} has lost the others at step {step}: {str(error).splitlines()[0][:200]}")
        event = OthersLost(
            at=time.time(), worker=self.who.rank, of=self.who.world_size, step=step, error=str(error)[:500], gone=gone,
            silent=silent,
        )  # fmt: skip
        instrumentation.emit(event)
        return OTHERS_LOST

    def say(self, text: str) -> None:
        """By which of several it is said."""
        print_message(text if self.who.is_alone else f"[worker {self.who.rank}] {text}")

    def leave(self, exit_code: int) -> None:
        """At once: everything is kept, and whoever asked may not wait for frameworks that take themselves apart for seconds, nor
        for other workers."""
        if exit_code == INTERRUPTED:
            self.collectives.announce_exit()
            self.collectives.exit_last()
        current = probe.get_current()
        if current is not None:
            probe_startup.end(current)
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
        os._exit(exit_code)

    def show_results(self) -> None:
        """The score of the best weights, and where everything lies."""
        from unstall.base.console import create_console
        from unstall.training.loop.results import SCORE
        from unstall.training.summary import list_places, show_score

        out = create_console()
        assert self.context is not None
        not_kept = self.context.results.not_kept
        score = self.context.results.best_score()
        if score is not None and SCORE not in not_kept:  # else it is that of an earlier epoch
            show_score(score, out)
        skipped = self.context.pipeline.skipped.by_name
        if skipped:
            name, why = next(iter(skipped.items()))
            more = f", and {len(skipped) - 1:,} more" if len(skipped) > 1 else ""
            text = f"{'not learned':<13} {format_count(len(skipped), 'image')} that cannot be used: {name}: {why}{more}"
            out.print(text, soft_wrap=True, highlight=False, markup=False)
        for what, why in not_kept.items():
            out.print(f"{'not kept':<13} {what}: {why}", soft_wrap=True, highlight=False, markup=False)
        for name, place in list_places(self.run):
            age = " (of an earlier epoch)" if Path(place).name in not_kept else ""
            out.print(f"{name:<13} {place}{age}", soft_wrap=True, highlight=False, markup=False)
