"""What the project may still have of the cards that this machine's kind counts against, in its region.

    GET https://compute.googleapis.com/compute/v1/projects/PROJECT/regions/REGION

with the machine's own account. CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE leads to another server, as it does for gcloud.
"""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import Any

from unstall.cloud import metadata
from unstall.cloud.metadata import Machine, NoAnswer

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


def metric_of(machine_type: str, is_spot: bool) -> str | None:
    """By which quota its cards are counted; None where that is not known, or it has none."""
    names = [name for name in METRICS if machine_type.startswith(f"{name}-")]
    if not names:
        return None
    metric = METRICS[max(names, key=len)]
    return f"PREEMPTIBLE_{metric}" if is_spot else metric


def quotas(machine: Machine) -> list[Quota]:
    """Those of cards and CPUs that are not 0, in the region of this machine. NoAnswer says why there are none to be had."""
    project, region = machine.value("project"), machine.region
    if not project or not region:
        raise NoAnswer("the metadata server does not say which project and zone this is")
    try:
        stored = json.loads(_fetched(f"projects/{project}/regions/{region}", metadata.token(machine.server)))
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
        cure = "; the account needs compute.regions.get and the scope cloud-platform" if error.code in {401, 403} else ""
        raise NoAnswer(f"{base} answers HTTP {error.code}{cure}") from None
    except OSError as error:
        raise NoAnswer(f"{base} does not answer: {error}") from None
