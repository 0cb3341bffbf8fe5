"""`unstall train`, read aloud: start the worker, watch it; when it ends or stands still, treat it and start it again, or say why.

One mechanism for every fault. The worker always does the same: it reads settings.json, takes the newest verified checkpoint and
trains. So starting and recovering are the same path, and all that a repair can do is to change the settings by a plan.
"""

from __future__ import annotations

import json
import os
import resource
import shlex
import sys
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from unstall.base import exit_codes
from unstall.base.errors import BucketError, UnstallError
from unstall.base.files import make_private_folder, write_whole
from unstall.base.processes import SUPERVISOR
from unstall.config.settings import GIB, Settings, apply_changes, as_plain, from_stored
from unstall.journal import run_folder
from unstall.journal.events import DeviceSampled, PlanMade, PlanUndone, PlanVerified, RepairsEnded
from unstall.journal.run_folder import RunFolder, lock_run
from unstall.journal.writer import JournalWriter
from unstall.remedies.plan import Fault, Kind, Plan, Sign, Verb
from unstall.remedies.shrink_micro_batch import find_divisor
from unstall.report import json as json_report
from unstall.sensors.cluster import find_metadata_server
from unstall.sensors.device import DeviceSampler
from unstall.storage.uploader import upload_run
from unstall.supervisor.launch import LaunchedProgram
from unstall.supervisor.run.program import Printer, RunOptions, show_on_board, start
from unstall.supervisor.train import setup
from unstall.supervisor.train.fault import NoRemedy, WorkerState, find_fault, find_ineffective_plan, treat
from unstall.supervisor.train.setup import PreservedFolder
from unstall.supervisor.train.worker_monitor import WorkerGroup, WorkerMonitor
from unstall.supervisor.watch import TICK_S
from unstall.training.distributed import engines
from unstall.training.distributed.engines import ProcessEnv

if TYPE_CHECKING:
    from unstall.supervisor.train.preemption import PreemptionListener, PreemptionNotice

WORKER = (sys.executable, "-m", "unstall.training")  # called with the run folder
KILLED_ADDS = 128  # to the number of the signal, as shells do


def train(run: RunFolder, options: RunOptions, worker: Sequence[str] = WORKER) -> int:
    """Trains what settings.json says. The exit code: 0 done, 75 interrupted and to be resumed, 6 done but not all of it is in its
    bucket, else how the worker ended."""
    json_report.refuse_unwritable(options.json_target)
    settings = from_stored(run.read_settings(), f"{run.settings_path}: ")
    first = engines.build_process_envs(os.environ, settings.num_workers)[0]  # of this machine
    own = run.of_worker(first.rank)
    make_private_folder(own.path)
    with lock_run(own):
        if options.board:
            show_on_board(run, options)
        is_quiet = options.quiet or options.json_target == "-"
        training_run = TrainingRun(run, own, options, settings, [*worker, str(run.path), *(["--quiet"] if is_quiet else [])])
        training_run.apply_known_batch_size()
        with (
            upload_run(run if first.is_first else own, training_run.printer.complain) as upload_state,
            training_run.listen_for_preemption(),
        ):
            code = _trained(training_run)
            upload_state.has_time = code == 0
        return code if code or upload_state.is_whole else BucketError.exit_code


def _trained(training_run: TrainingRun) -> int:
    while True:
        worker_group = training_run.start_workers()
        while worker_group.wait(TICK_S):
            worker_group.look()
            training_run.restore_folder()
        if not training_run.repair(worker_group) or training_run.end_is_wanted(worker_group):
            return training_run.end(worker_group)


@dataclass(frozen=True)
class PendingPlan:
    """A plan whose effect has not been seen yet."""

    made: PlanMade
    sign: Sign


class TrainingRun:
    """A run over all lives of its workers: its plans, its settings, what is said about it."""

    def __init__(self, run: RunFolder, own: RunFolder, options: RunOptions, settings: Settings, command: list[str]) -> None:
        """`own` is the folder of the first worker of this machine, which is the run's where all are on one."""
        self.run = run
        self._command, self._options = command, options
        self._prints_on_stderr = options.json_target == "-"  # nothing but the JSON is to be printed there
        self.settings = settings
        self.plans: list[PlanMade] = []  # of this call: whoever resumes a run gives it new chances
        self.pending: list[PendingPlan] = []
        self.verified: set[int] = set()
        self._is_secondary_host = False
        self.printer = Printer(own, options)
        self._writer = JournalWriter(own.journal_path("watcher", os.getpid()), keeps_lost=True)
        self._mask: set[int] | None = None
        self._preemption: PreemptionListener | None = None
        self._machine = describe_machine()
        self._folder = PreservedFolder(run)

    # --- the workers ---

    def start_workers(self) -> WorkerGroup:
        """Those that this machine has of the run; an engine may say others, or another place to meet, each time."""
        who = engines.build_process_envs(os.environ, self.settings.num_workers)
        self._is_secondary_host = not who[0].is_first
        self._folder.of_workers = [self.run.of_worker(each.rank).path for each in who]
        monitors = [self._start(each, self._writer_of(each, who[0])) for each in who]
        if who[0].is_alone:
            return WorkerGroup(monitors)
        from unstall.supervisor.train.several_workers import SeveralWorkers

        return SeveralWorkers(self, monitors)

    def _start(self, who: ProcessEnv, writer: JournalWriter) -> WorkerMonitor:
        own = self.run.of_worker(who.rank)
        for pulse in own.pulse_paths():
            pulse.unlink(missing_ok=True)  # of a worker that is gone: it would be taken for a stall of the next
        variables = {**who.as_environment(), SUPERVISOR: str(os.getpid())}
        launched, watch = start(self._command, own, "train", writer, self._mask, self._prints_on_stderr, variables)
        self._mask = launched.mask
        printer = self.printer if writer is self._writer else Printer(own, replace(self._options, quiet=True, json_target=None))
        return WorkerMonitor(self, launched, watch, who, printer)

    def _writer_of(self, who: ProcessEnv, lead: ProcessEnv) -> JournalWriter:
        if who.rank == lead.rank:
            return self._writer
        own = self.run.of_worker(who.rank)
        make_private_folder(own.path)
        return JournalWriter(own.journal_path("watcher", os.getpid()), keeps_lost=True)

    def worker_state(self, monitor: WorkerMonitor) -> WorkerState:
        cores = len(os.sched_getaffinity(0))
        saved = tuple(setup.list_checkpoint_steps(self.run))
        name = monitor.who.words[0].upper() + monitor.who.words[1:]
        journal, helped = monitor.watch.journal, frozenset(self.verified)
        return WorkerState(self.settings, journal, tuple(self.plans), saved, cores, name, self._is_secondary_host, helped)

    # --- treating it ---

    def repair(self, worker_group: WorkerGroup) -> bool:
        """Does something about how the workers ended. False: nothing is to be done, or can be."""
        fault = self._fault(worker_group)
        if fault is None:
            return False
        chosen = treat(fault)
        if isinstance(chosen, NoRemedy):
            self._give_up(worker_group.lead, fault, chosen)
            return False
        ineffective = find_ineffective_plan(fault, chosen, frozenset(self.verified))
        if ineffective is not None:
            self._undo(ineffective)
            chosen = _made_again(chosen, self.settings)
        self._carry_out(chosen)
        self._report(worker_group.lead, fault, chosen)
        self._wait(worker_group, chosen.wait_s)
        return True

    def _wait(self, worker_group: WorkerGroup, seconds: float) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until and not self.end_is_wanted(worker_group):
            time.sleep(TICK_S)

    def _fault(self, worker_group: WorkerGroup) -> Fault | None:
        worker_group.finish()
        if worker_group.is_done or self.end_is_wanted(worker_group):
            return None
        blamed = worker_group.blamed
        ended, diagnosis = blamed.describe_end()
        return worker_group.stopped_for or find_fault(self.worker_state(blamed), ended, blamed.step(), diagnosis)

    def _report(self, monitor: WorkerMonitor, fault: Fault, plan: Plan) -> None:
        from_step = fault.newest_checkpoint if plan.from_step is None else plan.from_step
        made = PlanMade(
            at=time.time(), remedy=plan.remedy, cause=fault.kind.value, verb=plan.verb.value, change=dict(plan.change),
            undo=dict(plan.undo), why=plan.why, attempt=self._repairs() + 1, max_attempts=self.settings.max_restarts,
            step=fault.step, from_step=from_step, happened=fault.happened, evidence=list(fault.evidence),
            verify=plan.verify.words,
        )  # fmt: skip
        self.plans.append(made)
        self.pending.append(PendingPlan(made, plan.verify))
        monitor.watch.note(made)
        monitor.print_repair()

    def _give_up(self, monitor: WorkerMonitor, fault: Fault, no_help: NoRemedy) -> None:
        advice = ""
        if no_help.asks is not None:
            options = " ".join(f"--{name.replace('_', '-')} {value}" for name, value in no_help.asks.change.items())
            advice = f"{self.resume_command()} {options}"
        command = shlex.join(self._command)
        given_up = RepairsEnded(
            at=time.time(), cause=fault.kind.value, step=fault.step, happened=fault.happened, evidence=list(fault.evidence),
            why=no_help.why, advice=advice, command=command,
        )  # fmt: skip
        monitor.watch.note(given_up)
        monitor.print_repair()

    def _repairs(self) -> int:
        return sum(plan.attempt > 0 for plan in self.plans)

    # --- plans and settings ---

    def _carry_out(self, plan: Plan) -> None:
        """Only here, where a plan is undone, and before the first step, settings are changed."""
        self._write(plan.applied_to(self.settings))
        if plan.from_step is not None:
            setup.set_aside_after(self.run, plan.from_step)

    def _undo(self, made: PlanMade) -> None:
        self._write(apply_changes(self.settings, made.undo))
        why = f"the fault came back: {made.cause}"
        self._writer.write(PlanUndone(at=time.time(), remedy=made.remedy, change=dict(made.undo), why=why, attempt=made.attempt))

    def _write(self, settings: Settings) -> None:
        try:
            self.run.write_settings(as_plain(settings))
        except OSError as error:
            raise UnstallError(
                f"Cannot write {self.run.settings_path}: {error.strerror}. To go on: {self.resume_command()}"
            ) from None
        self.settings = settings

    def restore_folder(self) -> None:
        if self._folder.restore_if_unused(as_plain(self.settings)):
            self.printer.complain(
                f"the folder of this run was deleted while it runs, with its checkpoints: {self.run.path}. It is there again, "
                "and the run goes on; its next checkpoint comes as it would have."
            )

    def verify_plans(self, monitor: WorkerMonitor) -> None:
        for pending in [each for each in self.pending if each.sign.is_seen(monitor.watch.journal)]:
            self.pending.remove(pending)
            made = pending.made
            self.verified.add(made.attempt)
            how = pending.sign.words
            monitor.watch.note(PlanVerified(at=time.time(), remedy=made.remedy, how=how, attempt=made.attempt))
            if "micro_batch_size" in made.change:
                remember_batch_size(self.settings, self._machine)

    def apply_known_batch_size(self) -> None:
        """A size that an earlier run found out at the cost of a crash is not found out again."""
        fits = recall_batch_size(self.settings, self._machine)
        now = self.settings.at_once
        smaller = find_divisor(self.settings.batch_share, fits) if fits else None
        if smaller is None or smaller >= now or setup.list_checkpoint_steps(self.run) or self.settings.max_restarts == 0:
            return
        undo = {"micro_batch_size": self.settings.micro_batch_size}
        self._write(apply_changes(self.settings, {"micro_batch_size": smaller}))
        why = f"An earlier run of this model on this machine ran out of memory with more than {fits} images at once."
        made = PlanMade(
            at=time.time(), remedy="shrink_micro_batch", cause=Kind.DEVICE_MEMORY.value, verb=Verb.CHANGE.value,
            change={"micro_batch_size": smaller}, undo=undo, max_attempts=self.settings.max_restarts, why=why,
            happened="A size that fits is remembered from an earlier run.",
        )  # fmt: skip
        self._writer.write(made)
        self.printer.complain(f"{smaller} images are computed at once rather than {now}. {why} ({get_cache_path()})")

    # --- the end ---

    def listen_for_preemption(self) -> AbstractContextManager[None]:
        """On a machine of Google's, which says so before it is taken away."""
        server = find_metadata_server()
        if not server:
            return nullcontext()
        from unstall.supervisor.train.preemption import PreemptionListener

        self._preemption = PreemptionListener(server)
        return self._preemption.listen_for_notice()

    @property
    def notice(self) -> PreemptionNotice | None:
        """That this machine is taken away."""
        return None if self._preemption is None else self._preemption.received

    def resume_command(self) -> str:
        known = self.run.path.parent == get_cache_path().parent
        return f"unstall train --resume {shlex.quote(self.run.bucket or (self.run.name if known else str(self.run.path)))}"

    def end_is_wanted(self, worker_group: WorkerGroup) -> bool:
        """Somebody has asked for it, or the machine is taken away; the workers heard of it, or were gone already."""
        return worker_group.is_asked_to_end or LaunchedProgram.end_is_wanted() or self.notice is not None

    def end(self, worker_group: WorkerGroup) -> int:
        ended = worker_group.blamed.launched.ended
        assert ended is not None
        worker_group.lead.print_end()
        if worker_group.is_done:
            return exit_codes.DONE
        if ended.exit_code == exit_codes.NOT_KEPT:
            self.printer.complain(
                f"trained to its end, but the disk did not take all that it leaves in {self.run.path}. When there is room, the "
                f"steps since the newest checkpoint are made again by: {self.resume_command()}"
            )
        if self.end_is_wanted(worker_group):
            self.printer.complain(f"interrupted. To go on: {self.resume_command()}")
            return exit_codes.INTERRUPTED
        return ended.exit_code if ended.exit_code is not None else KILLED_ADDS + (ended.signal or 0)


def _made_again(plan: Plan, settings: Settings) -> Plan:
    """The plan with what undoes it as settings are now."""
    before = as_plain(settings)
    return replace(plan, undo={name: before[name] for name in plan.change})


# The sizes that were found to fit, kept for later runs: of a model, on a machine. A small JSON file beside the runs.


CACHE_FILE = "fitting-sizes.json"


def get_cache_path() -> Path:
    return run_folder.get_home() / CACHE_FILE


def compute_cache_key(settings: Settings, machine: str) -> str:
    """All that the memory of a step depends on, but for the images computed at once."""
    detector = ",".join(f"{name}={value}" for name, value in sorted(settings.detector.items()))
    remat = "remat" if settings.remat else "no remat"
    return " | ".join([settings.model, detector, settings.backend, settings.precision, settings.optimizer, remat, machine])


def describe_machine() -> str:
    """What there is to compute on: the cards by name and memory, or the host's memory as this process may use it."""
    cards = [event for event in DeviceSampler().sample(set()) if isinstance(event, DeviceSampled)]
    if cards:
        return ", ".join(f"{card.name} {card.total_bytes / GIB:.0f} GiB" for card in cards)
    space, _ = resource.getrlimit(resource.RLIMIT_AS)
    limits = [psutil.virtual_memory().total, *([space] if space != resource.RLIM_INFINITY else [])]
    return f"cpu {min(limits) / GIB:.1f} GiB"


def recall_batch_size(settings: Settings, machine: str) -> int | None:
    """Images at once that fitted; None: nothing is known. A file that cannot be read is no reason not to train."""
    size = _read_cache().get(compute_cache_key(settings, machine))
    return size if isinstance(size, int) and size > 0 else None


def remember_batch_size(settings: Settings, machine: str) -> None:
    size = settings.at_once
    try:
        write_whole(
            get_cache_path(),
            json.dumps({**_read_cache(), compute_cache_key(settings, machine): size}, indent=1, sort_keys=True) + "\n",
        )
    except OSError:
        return  # the next run finds out for itself


def _read_cache() -> dict[str, Any]:
    try:
        known = json.loads(get_cache_path().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}
