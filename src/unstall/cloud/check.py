"""What this machine is, for `unstall cloud check`: facts, and what could not be known with its reason."""

from __future__ import annotations

import json
import os
import secrets
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from unstall.base.errors import BucketError, BucketNotFoundError, InvalidInputError
from unstall.cloud import metadata
from unstall.cloud.metadata import Machine, NoAnswer, read_machine
from unstall.sensors.cluster import METADATA_VARIABLE
from unstall.storage.urls import get_scheme, is_bucket, resolve_path, split_url

if TYPE_CHECKING:
    from unstall.storage.bucket import Bucket, Entry

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
    tried = try_access(bucket, reads_only) if bucket else []
    found = read_machine()
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
        return f"{METADATA_VARIABLE} is not set, and the firmware does not say that this machine is Google's"
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
    from unstall.planning.memory.devices import read_limit_bytes

    return read_limit_bytes()


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
    counted_by = name_quota_metric(kind, is_spot) if kind else None
    if not found.values:
        return {"counted_by": None, "seen": [], "why_not": "this is not one of Google's machines"}
    try:
        seen = [each.as_plain() for each in read_quotas(found)]
    except NoAnswer as why:
        return {"counted_by": counted_by, "seen": [], "why_not": str(why)}
    return {"counted_by": counted_by, "seen": seen, "why_not": ""}


# What this machine's account may do in a bucket, tried with a small object of its own that is taken away again.


T = TypeVar("T")

PROBE_BYTES = 1024
NO_BUCKET = "there is no such bucket"
NOTHING_THERE = "nothing lies there, or there is no such bucket"


@dataclass(frozen=True)
class AccessAttempt:
    doing: str  # list | write | read | delete
    works: bool | None  # None: could not be tried
    seconds: float = 0.0
    why: str = ""  # where it does not work, or could not be tried

    def as_plain(self) -> dict[str, Any]:
        return {"doing": self.doing, "works": self.works, "seconds": round(self.seconds, 4), "why": self.why}


def try_access(place: str, reads_only: bool = False) -> list[AccessAttempt]:
    """List, write, read, delete: each shows another permission. An account that may not write reads what lies there."""
    if not is_bucket(place):
        raise InvalidInputError(f"--bucket: expected gs://BUCKET or s3://BUCKET, with a folder or without. Received: {place!r}")
    from unstall.storage.bucket import open_bucket

    place = str(resolve_path(place))
    name, folder = split_url(place)
    chosen = open_bucket(get_scheme(place), name)
    listed, entries = _attempt("list", lambda: chosen.entries(folder))
    if listed.works and entries is None:
        listed = replace(listed, works=None, why=NOTHING_THERE)
    if reads_only:
        return [listed, _reading(chosen, entries or [])]
    key = "/".join(part for part in (folder, f"unstall-probe-{secrets.token_hex(8)}") if part)
    raw = secrets.token_bytes(PROBE_BYTES)
    written, _ = _attempt("write", lambda: chosen.write(key, raw, must_be_new=True))
    if not written.works:
        return [replace(written, doing="list") if written.why == NO_BUCKET else listed, written, _reading(chosen, entries or [])]
    if listed.works is None:
        listed = replace(listed, works=True, why="")  # it was empty

    def read_back() -> None:
        if chosen.read(key) != raw:
            raise BucketError(f"{place}: what was read is not what was written, though nobody else knows its name.")

    return [listed, written, _attempt("read", read_back)[0], _attempt("delete", lambda: chosen.delete(key))[0]]


def _reading(chosen: Bucket, entries: list[Entry]) -> AccessAttempt:
    """A byte of something that is there."""
    objects = [each for each in entries if not each.is_folder and each.size]
    if not objects:
        return AccessAttempt("read", None, why="no object lies there that could be read")
    return _attempt("read", lambda: chosen.read(objects[0].key, 0, 1))[0]


def _attempt(doing: str, act: Callable[[], T]) -> tuple[AccessAttempt, T | None]:
    from unstall.storage.retry import Missing, NameTaken

    began = time.perf_counter()
    try:
        result = act()
    except NameTaken:  # nobody else knows the name: an attempt was written whose answer was lost
        return AccessAttempt(doing, True, time.perf_counter() - began), None
    except (Missing, BucketNotFoundError):
        return AccessAttempt(doing, False, time.perf_counter() - began, NO_BUCKET), None
    except BucketError as failed:
        return AccessAttempt(doing, False, time.perf_counter() - began, str(failed)), None
    return AccessAttempt(doing, True, time.perf_counter() - began), result


# What the project may still have of the cards that this machine's kind counts against, in its region.
#
# GET https://compute.googleapis.com/compute/v1/projects/PROJECT/regions/REGION
#
# with the machine's own account. CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE leads to another server, as it does for gcloud.


ENDPOINT = "https://compute.googleapis.com/compute/v1/"
VARIABLE = "CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE"
ANSWERS_WITHIN_S = 10.0
MAX_BYTES = 4_000_000
# The families of machine types, and what a card of theirs is called among the quotas of a region.
METRICS = {
    "g2": "NVIDIA_L4_GPUS",
    "a2-highgpu": "NVIDIA_A100_GPUS",
    "a2-megagpu": "NVIDIA_A100_GPUS",
    "a2-ultragpu": "NVIDIA_A100_80GB_GPUS",
    "a3-highgpu": "NVIDIA_H100_GPUS",
}


@dataclass(frozen=True)
class Quota:
    metric: str
    limit: float
    used: float

    def as_plain(self) -> dict[str, Any]:
        return {"metric": self.metric, "limit": self.limit, "used": self.used, "left": max(0.0, self.limit - self.used)}


def name_quota_metric(machine_type: str, is_spot: bool) -> str | None:
    """By which quota its cards are counted; None where that is not known, or it has none."""
    names = [name for name in METRICS if machine_type.startswith(f"{name}-")]
    if not names:
        return None
    metric = METRICS[max(names, key=len)]
    return f"PREEMPTIBLE_{metric}" if is_spot else metric


def read_quotas(machine: Machine) -> list[Quota]:
    """Those of cards and CPUs that are not 0, in the region of this machine. NoAnswer says why there are none to be had."""
    project, region = machine.value("project"), machine.region
    if not project or not region:
        raise NoAnswer("the metadata server does not say which project and zone this is")
    try:
        stored = json.loads(_fetched(f"projects/{project}/regions/{region}", metadata.read_token(machine.server)))
        found = [
            Quota(str(each["metric"]), float(each.get("limit", 0)), float(each.get("usage", 0)))
            for each in stored.get("quotas") or []
        ]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise NoAnswer(f"the answer is not what was expected: {type(error).__name__}: {error}") from None
    return [each for each in found if each.limit and ("GPU" in each.metric or each.metric in {"CPUS", "PREEMPTIBLE_CPUS"})]


def _fetched(path: str, access_token: str) -> bytes:
    base = os.environ.get(VARIABLE, "").strip() or ENDPOINT
    request = urllib.request.Request(f"{base.rstrip('/')}/{path}", headers={"Authorization": f"Bearer {access_token}"})
    try:
        with urllib.request.urlopen(request, timeout=ANSWERS_WITHIN_S) as answer:
            raw: bytes = answer.read(MAX_BYTES)
            return raw
    except urllib.error.HTTPError as error:
        hint = "; the account needs compute.regions.get and the scope cloud-platform" if error.code in {401, 403} else ""
        raise NoAnswer(f"{base} answers HTTP {error.code}{hint}") from None
    except OSError as error:
        raise NoAnswer(f"{base} does not answer: {error}") from None
