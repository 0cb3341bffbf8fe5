"""What this machine is, for `unstall cloud check`: facts, and what could not be known with its reason."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from unstall.cloud import bucket_access, quotas
from unstall.cloud.metadata import Machine, NoAnswer, machine
from unstall.supervisor.train import preemption

KEY_FILE = "GOOGLE_APPLICATION_CREDENTIALS"
WELL_KNOWN_KEY = "application_default_credentials.json"
# What the engines of Google and of Kubernetes tell a container about its job.
JOB_VARIABLES = (
    "CLOUD_ML_JOB_ID",
    "CLOUD_ML_PROJECT_ID",
    "CLUSTER_SPEC",
    "AIP_MODEL_DIR",
    "KUBERNETES_SERVICE_HOST",
    "RAY_ADDRESS",
)


def check_machine(bucket: str | None, reads_only: bool = False) -> dict[str, Any]:
    tried = bucket_access.try_access(bucket, reads_only) if bucket else []
    found = machine()
    return {
        "is_google": bool(found.server) and not _is_deaf(found),
        "server": found.server,
        "why_not": _why_not(found),
        "machine": _of_machine(found),
        "cards": _cards(),
        "account": {"email": found.value("service_account"), "scopes": found.scopes, "keys": _keys()},
        "job": {name: os.environ[name] for name in JOB_VARIABLES if os.environ.get(name)},
        "quotas": _quotas(found),
        "bucket": {"place": bucket, "tried": [each.as_plain() for each in tried]},
        "works": all(each.works is not False for each in tried),
    }


def _is_deaf(found: Machine) -> bool:
    return not found.values


def _why_not(found: Machine) -> str:
    if not found.server:
        return f"{preemption.VARIABLE} is not set, and the firmware does not say that this machine is Google's"
    return next(iter(found.missing.values())) if _is_deaf(found) else ""


def _of_machine(found: Machine) -> dict[str, Any]:
    names = ("name", "machine_type", "zone", "project", "cpu_platform", "on_maintenance")
    return {
        **{name: found.value(name) for name in names},
        "region": found.region,
        "is_taken_away": found.is_taken_away,
        "cores": len(os.sched_getaffinity(0)),
        "memory_bytes": _memory_bytes(),
        "missing": found.missing if found.values else {},
    }


def _memory_bytes() -> int:
    from unstall.planning.memory.host import limit_bytes

    return limit_bytes()


def _cards() -> dict[str, Any]:
    from unstall.journal.events import DeviceSampled
    from unstall.sensors.device import DeviceSampler

    sampler = DeviceSampler()
    if sampler.failure is not None:
        return {"seen": [], "why_not": sampler.failure.missing}
    seen = [event for event in sampler.sample({os.getpid()}) if isinstance(event, DeviceSampled)]
    return {"seen": [{"name": each.name, "memory_bytes": each.total_bytes} for each in seen], "why_not": ""}


def _keys() -> list[str]:
    """Where credentials of a person or a key file would be found; what is in them is not looked at."""
    named = os.environ.get(KEY_FILE, "").strip()
    home = Path(os.environ.get("CLOUDSDK_CONFIG", "") or Path.home() / ".config" / "gcloud") / WELL_KNOWN_KEY
    places = [f"{named}{'' if Path(named).is_file() else ' (which is not there)'}"] if named else []
    return [*places, *([str(home)] if home.is_file() else [])]


def _quotas(found: Machine) -> dict[str, Any]:
    kind, is_spot = found.value("machine_type"), bool(found.is_taken_away)
    counted_by = quotas.metric_of(kind, is_spot) if kind else None
    if not found.values:
        return {"counted_by": None, "seen": [], "why_not": "this is not one of Google's machines"}
    try:
        seen = [each.as_plain() for each in quotas.quotas(found)]
    except NoAnswer as why:
        return {"counted_by": counted_by, "seen": [], "why_not": str(why)}
    return {"counted_by": counted_by, "seen": seen, "why_not": ""}
