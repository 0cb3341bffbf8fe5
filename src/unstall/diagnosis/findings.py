"""Asks every cause, ranks what was found, and tells the root from what follows of it.

A cause is a module in `causes/`: its name is the fault, its docstring the page, `examine(journal)` its verdict. It may
name in `EXPLAINS` the causes that follow from it: those are then not shown as causes of their own. A cause that shows among
several workers has `examine_workers(run_group)`, too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from unstall.base.errors import attempt
from unstall.diagnosis.causes import CAUSES
from unstall.diagnosis.confirmation import confirm_verdict
from unstall.diagnosis.stalls import list_verdicts
from unstall.diagnosis.verdict import Certainty, Clear, Crashed, Effect, Found, Unknown, Verdict
from unstall.journal.reader import Journal

if TYPE_CHECKING:
    from unstall.diagnosis.workers.members import RunGroup


@dataclass(frozen=True)
class Finding:
    """A cause that was found, with the causes that follow from it."""

    cause: str
    found: Found
    followed_by: tuple[str, ...] = ()


@dataclass(frozen=True)
class Diagnosis:
    findings: tuple[Finding, ...]  # the root first
    unknown: dict[str, Unknown]
    crashed: dict[str, Crashed]
    clear: tuple[str, ...]

    @property
    def root(self) -> Finding | None:
        return self.findings[0] if self.findings else None


def find_consequences(name: str) -> tuple[str, ...]:
    """What follows from a cause."""
    return tuple(getattr(CAUSES.module(name), "EXPLAINS", ()))


def examine(name: str, journal: Journal) -> Verdict:
    """One cause's verdict. A defect in a cause must not hide the others, so it becomes a verdict itself."""

    def verdict() -> Verdict:
        return confirm_verdict(name, CAUSES.module(name).examine(journal), journal)

    return attempt(verdict, lambda error: Crashed(f"{type(error).__name__}: {error}"))


def diagnose(journal: Journal) -> Diagnosis:
    verdicts = {name: examine(name, journal) for name in CAUSES.names()}
    if not any(_stops(verdict) for verdict in verdicts.values()):
        verdicts.update(_of_the_last_stall(journal))
    return _diagnosis(_without_fallbacks(verdicts))


def is_fallback(name: str) -> bool:
    """Whether a cause is shown only where no other explains the end of a program. One of an earlier version is none."""
    return name in CAUSES.names() and getattr(CAUSES.module(name), "IS_FALLBACK", False)


def _without_fallbacks(verdicts: dict[str, Verdict]) -> dict[str, Verdict]:
    """A cause that is said of every error says nothing more where a narrower one explains why the program stopped."""
    fallbacks = [name for name in verdicts if is_fallback(name)]
    narrower = [name for name, verdict in verdicts.items() if name not in fallbacks and _stops(verdict)]
    why = Clear(f"explained by {narrower[0]}") if narrower else None
    return {
        name: why if why is not None and name in fallbacks and isinstance(verdict, Found) else verdict
        for name, verdict in verdicts.items()
    }


def _stops(verdict: Verdict) -> bool:
    return isinstance(verdict, Found) and verdict.effect is Effect.STOPS


def _of_the_last_stall(journal: Journal) -> dict[str, Found]:
    """What stopped a program that somebody then ended. The last stack samples may show it on its way out, so what was said while
    it stood still is examined again on the journal as it was at that moment."""
    recorded = {event.cause: event.at for event in list_verdicts(journal) if event.cause in CAUSES.names()}
    again = {name: examine(name, journal.up_to(at)) for name, at in recorded.items()}
    return {name: verdict for name, verdict in again.items() if isinstance(verdict, Found) and verdict.effect is Effect.STOPS}


def list_worker_causes() -> tuple[str, ...]:
    return tuple(name for name in CAUSES.names() if hasattr(CAUSES.module(name), "examine_workers"))


def diagnose_workers(run_group: RunGroup) -> Diagnosis:
    """What holds for several workers as a whole; what each has of its own is for `diagnose` to say."""

    def verdict(name: str) -> Verdict:
        examine_group: Callable[[RunGroup], Verdict] = CAUSES.module(name).examine_workers
        return attempt(lambda: examine_group(run_group), lambda error: Crashed(f"{type(error).__name__}: {error}"))

    return _diagnosis({name: verdict(name) for name in list_worker_causes()})


def _diagnosis(verdicts: dict[str, Verdict]) -> Diagnosis:
    found = {name: verdict for name, verdict in verdicts.items() if isinstance(verdict, Found)}
    return Diagnosis(
        findings=rank_findings(found),
        unknown={name: verdict for name, verdict in verdicts.items() if isinstance(verdict, Unknown)},
        crashed={name: verdict for name, verdict in verdicts.items() if isinstance(verdict, Crashed)},
        clear=tuple(name for name, verdict in verdicts.items() if isinstance(verdict, Clear)),
    )


def rank_findings(found: dict[str, Found]) -> tuple[Finding, ...]:
    """Roots only, the surest and gravest first; each with what follows from it."""
    follows = {name: _all_that_follow(name, found) for name in found}
    roots = [name for name in found if not any(name in follows[other] for other in found if other != name)]
    roots.sort(key=lambda name: (-found[name].certainty, -found[name].effect, name))
    return tuple(Finding(name, found[name], tuple(sorted(follows[name]))) for name in roots)


def _all_that_follow(name: str, found: dict[str, Found]) -> set[str]:
    """A guess explains nothing: what is merely possible does not take the place of what is surer."""
    result: set[str] = set()
    waiting = [name]
    while waiting:
        current = waiting.pop()
        for other in find_consequences(current):
            weaker = other in found and found[name].certainty == Certainty.POSSIBLE < found[other].certainty
            if other in found and other not in result and other != name and not weaker:
                result.add(other)
                waiting.append(other)
    return result
