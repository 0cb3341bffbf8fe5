"""From how a worker ended to a plan, or to the word that it cannot be helped. Pure functions of what the journal tells."""

from __future__ import annotations

import re
import signal as signals
from dataclasses import dataclass

from unstall import remedies
from unstall.base import exit_codes
from unstall.config.settings import Settings
from unstall.diagnosis.errors.error_messages import find_innermost
from unstall.diagnosis.findings import Diagnosis
from unstall.diagnosis.host_memory import measure_room
from unstall.diagnosis.stalls import LASTED
from unstall.diagnosis.verdict import Safety
from unstall.journal.events import (
    ErrorRaised,
    HostSampled,
    LossDiverged,
    MemoryExhausted,
    OthersLost,
    OthersMissed,
    PlanMade,
    ProcessEnded,
    RunStarted,
    StallBegan,
    UpdateSkipped,
)
from unstall.journal.reader import Journal
from unstall.remedies.plan import Fault, Kind, Plan

MAX_EVIDENCE = 4
NEARLY_FULL = 0.9  # of the memory that the run may use: a crash of native code is then taken for want of memory
CRASHES = frozenset({signals.SIGABRT, signals.SIGSEGV, signals.SIGBUS})
USERS_MISTAKES = range(2, 6)  # exit codes of unstall.base.errors: nothing that a restart could mend
NO_FAULT = (exit_codes.DONE, exit_codes.NOT_KEPT, *USERS_MISTAKES)
_OF_THE_HOST = re.compile(
    r"\bMemoryError\b|Unable to allocate|DefaultCPUAllocator|bad_alloc|Cannot allocate memory|can't start new thread",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class WorkerState:
    """What is known of a run when it is looked at: remedies are chosen by it."""

    settings: Settings
    journal: Journal  # of its newest worker
    plans: tuple[PlanMade, ...] = ()
    checkpoints: tuple[int, ...] = ()
    cores: int = 1
    name: str = "The worker"  # in sentences; of several, which
    is_secondary_host: bool = False  # the first worker is on another machine
    helped: frozenset[int] = frozenset()  # attempts of plans after which the run got on

    @property
    def is_alone(self) -> bool:
        return self.name == WorkerState.name

    @property
    def name_inside(self) -> str:
        """In the middle of a sentence."""
        return self.name[0].lower() + self.name[1:]

    @property
    def beside(self) -> str:
        """After what has happened: with whom."""
        return "" if self.is_alone else f" with {self.name_inside}"

    def create_fault(self, kind: Kind, step: int, happened: str, *evidence: str) -> Fault:
        shown = tuple(evidence[:MAX_EVIDENCE])
        return Fault(
            kind, step, happened, shown, self.settings, self.journal, self.plans, self.checkpoints, self.cores,
            self.is_secondary_host, self.helped,
        )  # fmt: skip


@dataclass(frozen=True)
class NoRemedy:
    """Why nothing more is done; `asks` is a plan that only a person may choose."""

    why: str
    asks: Plan | None = None


# --- what it had ---


def find_fault(worker_state: WorkerState, ended: ProcessEnded, step: int, diagnosis: Diagnosis) -> Fault | None:
    """What a worker died of that can be treated; None: it was done, or the mistake is one that only a person can mend."""
    if ended.signal is not None:
        return _killed(worker_state, ended.signal, step, diagnosis)
    if ended.exit_code == exit_codes.OUT_OF_MEMORY:
        return _out_of_memory(worker_state, step)
    if ended.exit_code == exit_codes.NOT_FINITE:
        return _not_finite(worker_state, step)
    if ended.exit_code == exit_codes.DIVERGED:
        return _diverged(worker_state, step)
    if ended.exit_code == exit_codes.OTHERS_LOST:
        return remove_lost_workers(worker_state, step)
    if ended.exit_code == exit_codes.ADDRESS_TAKEN:
        return worker_state.create_fault(Kind.DIED, step, "The port at which the workers meet was taken by another program.")
    if ended.exit_code == exit_codes.INTERRUPTED:
        return worker_state.create_fault(
            Kind.DIED, step, f"{worker_state.name} was asked to end by somebody else, and saved before it did."
        )
    if ended.exit_code in NO_FAULT or (ended.exit_code == 1 and _fatal(worker_state.journal) is None):
        return None
    return _raised(worker_state, ended, step, diagnosis)


def _killed(worker_state: WorkerState, number: int, step: int, diagnosis: Diagnosis) -> Fault:
    name = _name(number)
    result = describe_cause(diagnosis)
    if any(finding.cause == Kind.HOST_MEMORY for finding in diagnosis.findings):
        return worker_state.create_fault(
            Kind.HOST_MEMORY,
            step,
            f"The kernel killed {worker_state.name_inside} in step {step:,} for want of host memory.",
            *result,
        )
    full = _fullness(worker_state.journal)
    if number in CRASHES and full is not None:
        return worker_state.create_fault(
            Kind.HOST_MEMORY, step, f"{worker_state.name} ended by {name} in step {step:,} when memory was nearly full.", full
        )
    if number == signals.SIGABRT and not worker_state.is_alone:
        who = find_lost_worker(worker_state.journal)
        why = f"; {who}" if who else ", as frameworks end a worker when another is gone or cannot be reached"
        return worker_state.create_fault(
            Kind.DIED, step, f"{worker_state.name} was ended by {name} in step {step:,}{why}.", *result
        )
    return worker_state.create_fault(Kind.DIED, step, f"{worker_state.name} was ended by {name} in step {step:,}.", *result)


def _out_of_memory(worker_state: WorkerState, step: int) -> Fault:
    exhausted = worker_state.journal.last(MemoryExhausted)
    if exhausted is None:
        return worker_state.create_fault(Kind.DEVICE_MEMORY, step, f"Memory ran out{worker_state.beside} in step {step:,}.")
    step = max(step, exhausted.step)
    at_once = f", with {exhausted.micro_batch_size} images at once in {exhausted.precision}" if exhausted.micro_batch_size else ""
    lines = tuple(line for line in (find_innermost("", exhausted.message).message,) if line)
    if _OF_THE_HOST.search(exhausted.message):
        return worker_state.create_fault(
            Kind.HOST_MEMORY, step, f"Host memory ran out{worker_state.beside} in step {step:,} ({exhausted.phase}).", *lines
        )
    return worker_state.create_fault(
        Kind.DEVICE_MEMORY,
        step,
        f"The device ran out of memory{worker_state.beside} in step {step:,} ({exhausted.phase}){at_once}.",
        *lines,
    )


def _not_finite(worker_state: WorkerState, step: int) -> Fault:
    started = worker_state.journal.last(RunStarted)
    skipped = worker_state.journal.since(UpdateSkipped, started.at if started else 0.0)
    last = skipped[-1] if skipped else None
    happened = f"Losses or gradients were not finite again and again, up to step {last.step if last else step:,}."
    evidence = (
        [f"{len(skipped)} updates were not applied; {last.in_a_row} of them in a row, last the {last.what}"] if last else []
    )
    evidence += [f"a batch lies in {last.path}"] if last and last.path else []
    return worker_state.create_fault(Kind.NOT_FINITE, last.step if last else step, happened, *evidence)


def _diverged(worker_state: WorkerState, step: int) -> Fault:
    rose = worker_state.journal.last(LossDiverged)
    if rose is None:
        return worker_state.create_fault(Kind.DIVERGED, step, f"The loss rose and stayed high, seen in step {step:,}.")
    happened = f"The loss rose and stayed high: {_number(rose.usual_loss)} → {_number(rose.loss)} since step {rose.since_step:,}."
    return worker_state.create_fault(
        Kind.DIVERGED, rose.step, happened, f"seen in step {rose.step:,}; the usual loss was that of many steps"
    )


def remove_lost_workers(worker_state: WorkerState, step: int) -> Fault:
    """Another worker is gone, of another machine: here nothing is wrong."""
    lost = worker_state.journal.last(OthersLost)
    error_line = (lost.error.strip().splitlines() or [""])[0][:200] if lost is not None else ""
    who = find_lost_worker(worker_state.journal) or "one of them is gone, or cannot be reached"
    return worker_state.create_fault(
        Kind.DIED, step, f"{worker_state.name} lost the others in step {step:,}: {who}.", *([error_line] if error_line else [])
    )


def find_lost_worker(journal: Journal) -> str:
    """By what the workers heard of each other up to the end; empty: they did not notice."""
    event = max(
        (each for each in (journal.last(OthersLost), journal.last(OthersMissed)) if each), key=lambda each: each.at, default=None
    )
    if event is not None and event.gone:
        return f"worker {event.gone[0]} of {event.of} is gone"
    if event is not None and event.silent:
        return f"nothing was heard any more of worker {', '.join(map(str, event.silent))} of {event.of}"
    return ""


def _raised(worker_state: WorkerState, ended: ProcessEnded, step: int, diagnosis: Diagnosis) -> Fault:
    error = _fatal(worker_state.journal)
    what = find_innermost(error.kind, error.message).line if error else f"exit code {ended.exit_code}"
    if any(finding.cause == Kind.HOST_MEMORY for finding in diagnosis.findings):
        return worker_state.create_fault(
            Kind.HOST_MEMORY,
            step,
            f"Host memory ran out{worker_state.beside} in step {step:,}.",
            what,
            *describe_cause(diagnosis),
        )
    return worker_state.create_fault(
        Kind.DIED, step, f"{worker_state.name} ended with an error in step {step:,}.", what, *describe_cause(diagnosis)
    )


def create_stuck_fault(
    worker_state: WorkerState, stall: StallBegan | None, step: int, seconds: float, diagnosis: Diagnosis | None
) -> Fault:
    lasted = LASTED.get(stall.phase, "steps") if stall is not None else ""
    usual = f", where {lasted} took {stall.usual_s:.2g} s" if stall is not None and stall.usual_s else ""
    what = "The training" if worker_state.is_alone else worker_state.name
    return worker_state.create_fault(
        Kind.STUCK, step, f"{what} stood still for {seconds:.0f} s in step {step:,}{usual}.", *describe_cause(diagnosis)
    )


def describe_cause(diagnosis: Diagnosis | None) -> list[str]:
    """What the watching half has to say: the cause that stands first, with its evidence."""
    root = diagnosis.root if diagnosis is not None else None
    if root is None:
        return []
    return [f"{root.cause} ({root.found.certainty.word}): {root.found.summary}", *(each.claim for each in root.found.evidence)]


def _fatal(journal: Journal) -> ErrorRaised | None:
    return next(
        (error for error in reversed(journal.of(ErrorRaised)) if error.fatal and error.thread in {"", "MainThread"}), None
    )


def _fullness(journal: Journal) -> str | None:
    """In words, if memory was nearly full at the last look."""
    host = journal.last(HostSampled)
    if host is None:
        return None
    space = host.address_space_limit_bytes
    if space and host.address_space_bytes >= NEARLY_FULL * space:
        return (
            f"{host.address_space_bytes / space:.0%} of the address space that it may use (ulimit -v) was in use shortly before"
        )
    left = measure_room(host)
    return f"{left.share:.0%} of {left.of} was in use shortly before" if left is not None and left.share >= NEARLY_FULL else None


def _name(number: int) -> str:
    return signals.Signals(number).name if number in set(signals.Signals) else f"signal {number}"


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.4g}"


# --- what is done about it ---


def treat(fault: Fault) -> Plan | NoRemedy:
    """The first remedy whose turn it is that can help, within the number of repairs that the run may have."""
    max_restarts = fault.settings.max_restarts
    made = sum(plan.attempt > 0 for plan in fault.plans)
    if made >= max_restarts:
        return NoRemedy(
            f"{made} repairs have been made, and max_restarts is {max_restarts}" if max_restarts else "repairs are switched off"
        )
    for module in remedies.find_remedies(fault.kind):
        plan: Plan | None = module.plan(fault)
        if plan is not None and module.SAFETY is Safety.AUTO:
            return plan
        if plan is not None:
            return NoRemedy(plan.why, asks=plan)
    times = fault.count_attempts_at_place()
    tried = f": it came at the same place {times + 1} times" if times else ""
    return NoRemedy(f"no remedy is left{tried}")


def find_ineffective_plan(fault: Fault, chosen: Plan, verified: frozenset[int]) -> PlanMade | None:
    """The newest plan for this kind of fault, if it did not help and its remedy says that it is then to be undone."""
    last = next(iter(reversed(fault.before())), None)
    if last is None or last.remedy == chosen.remedy or last.attempt in verified or not last.change:
        return None
    return last if remedies.REMEDIES.module(last.remedy).UNDO_IF_INEFFECTIVE else None
