"""The story of several workers as plain data: what holds for the whole, where each is, and who holds the others."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from unstall.diagnosis.findings import Diagnosis, diagnose, diagnose_workers
from unstall.diagnosis.verdict import Effect
from unstall.diagnosis.workers.activity import GONE, Activity, Place, find_places
from unstall.diagnosis.workers.blocker import Blockage, Blocker
from unstall.diagnosis.workers.members import Member, RunGroup
from unstall.report.story.outcome import CLEAR, FOUND, UNKNOWN
from unstall.report.story.run import describe_verdict

OF_THE_WHOLE = frozenset(
    {"collective_stuck", "worker_missing", "worker_slow", "clocks_apart", "versions_differ", "address_wrong"}
)


def build_workers_story(run_group: RunGroup, blockage: Blockage | None = None) -> dict[str, Any]:
    """`blockage`: what a few numbers of each have shown already, where they are followed."""
    diagnosis, placed = diagnose_workers(run_group), find_places(run_group)
    verdicts = [
        {**describe_verdict(finding), "workers": finding.found.details.get("workers", [])} for finding in diagnosis.findings
    ]
    holders = {worker for verdict in verdicts for worker in verdict["workers"] if verdict["effect"] != "spoils"}
    quickly = [] if blockage is None else [_holder(holder) for holder in blockage.holders]
    holders |= {holder["rank"] for holder in quickly}
    state = "stuck" if quickly else _state(diagnosis, placed)
    return {
        "state": state,
        "outcome": FOUND if verdicts or quickly else UNKNOWN if state in {"stuck", "failed"} else CLEAR,
        "world_size": run_group.of,
        "coordinator": run_group.coordinator,
        "not_read": list(run_group.not_read),
        "verdicts": verdicts,
        "blockers": quickly,
        "num_waiting": blockage.held if blockage else None,
        "unknown": [{"missing": each.missing, "fix": each.fix, "causes": name} for name, each in diagnosis.unknown.items()]
        + [{"missing": f"{name}: {each.error}", "fix": "", "causes": name} for name, each in diagnosis.crashed.items()],
        "unread": [{"run": member.run, **asdict(each)} for member in run_group.members for each in member.journal.unread],
        "workers": [_worker(member, place, member.worker in holders) for member, place in placed],
    }


def _holder(holder: Blocker) -> dict[str, Any]:
    snapshot = holder.snapshot
    return {"rank": snapshot.worker, "run": snapshot.run, "host": snapshot.host, "kind": holder.kind, "description": holder.words}


def _worker(member: Member, place: Place, is_blocking: bool) -> dict[str, Any]:
    return {
        "rank": member.worker,
        "name": member.name,
        "run": member.run,
        "host": member.host,
        "activity": place.doing.value,
        "description": place.words,
        "step": place.step,
        "phase": place.phase,
        "where": place.where,
        "seconds": max(0.0, member.journal.now - place.at),
        "is_blocking": is_blocking,
        "verdict": _own(member),
    }


def _own(member: Member) -> dict[str, Any] | None:
    """What is wrong with this worker itself, where that is more than that it waits."""
    findings = [finding for finding in diagnose(member.journal).findings if finding.cause not in OF_THE_WHOLE]
    return describe_verdict(findings[0]) if findings else None


def _state(diagnosis: Diagnosis, placed: list[tuple[Member, Place]]) -> str:
    effects = {finding.found.effect for finding in diagnosis.findings}
    doing = {place.doing for _, place in placed}
    if doing == {Activity.ENDED}:
        return "done"
    if doing <= GONE:
        return "failed"
    if Effect.STOPS in effects:
        return "stuck"
    if Effect.SLOWS in effects:
        return "slow"
    return "training" if Activity.TRAINS in doing else "running"
