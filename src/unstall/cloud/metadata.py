"""What the metadata server says of this machine, each value by itself: one that is not there is unknown, and says why.

    GET http://169.254.169.254/computeMetadata/v1/instance/machine-type      (Metadata-Flavor: Google)

Which server is asked, and whether there is one, is for `sensors/cluster.py` to say: elsewhere no name is looked up.
"""

from __future__ import annotations

import http.client
import json
from dataclasses import dataclass
from typing import Any

from unstall.sensors.cluster import METADATA_VARIABLE, find_metadata_server

ROOT = "/computeMetadata/v1/"
ANSWERS_WITHIN_S = 3.0  # it stands beside the machine; one that takes longer is not there
MAX_BYTES = 100_000
# Names of ours, and the keys that Google documents.
KEYS = {
    "name": "instance/name",
    "machine_type": "instance/machine-type",  # projects/NUMBER/machineTypes/g2-standard-4
    "zone": "instance/zone",  # projects/NUMBER/zones/us-central1-a
    "cpu_platform": "instance/cpu-platform",
    "preemptible": "instance/scheduling/preemptible",  # TRUE of spot machines, too
    "on_maintenance": "instance/scheduling/on-host-maintenance",
    "restarts": "instance/scheduling/automatic-restart",
    "project": "project/project-id",
    "service_account": "instance/service-accounts/default/email",
    "scopes": "instance/service-accounts/default/scopes",
}
TOKEN = "instance/service-accounts/default/token"


class NoAnswer(Exception):
    """Why there is none, in words."""


@dataclass(frozen=True)
class Machine:
    """As the server says it. A value that could not be had is None, and `missing` says why."""

    server: str  # host:port; empty: there is none
    values: dict[str, str]
    missing: dict[str, str]

    def value(self, name: str) -> str | None:
        """The last part of it: 'g2-standard-4' of projects/1/machineTypes/g2-standard-4."""
        found = self.values.get(name)
        return found.rpartition("/")[2] if found and name in {"machine_type", "zone"} else found

    @property
    def region(self) -> str | None:
        zone = self.value("zone")
        return zone.rpartition("-")[0] if zone else None

    @property
    def is_taken_away(self) -> bool | None:
        """Whether it is a spot or preemptible machine."""
        said = self.values.get("preemptible")
        return None if said is None else said.upper() == "TRUE"

    @property
    def scopes(self) -> list[str]:
        return self.values.get("scopes", "").split()


def read_machine() -> Machine:
    server = find_metadata_server()
    if not server:
        return Machine("", {}, {})
    values: dict[str, str] = {}
    missing: dict[str, str] = {}
    for name, key in KEYS.items():
        try:
            values[name] = ask_server(server, key)
        except NoAnswer as why:
            missing[name] = str(why)
            if "HTTP" not in missing[name]:  # no server at all: the others would only wait as long again
                missing |= {other: missing[name] for other in KEYS if other not in values}
                break
    return Machine(server, values, missing)


def read_token(server: str) -> str:
    """Of the machine's own account, for one request. It is never printed or kept."""
    said: Any = json.loads(ask_server(server, TOKEN))
    return str(said["access_token"])


def ask_server(server: str, key: str) -> str:
    try:
        connection = http.client.HTTPConnection(server, timeout=ANSWERS_WITHIN_S)
    except http.client.InvalidURL:
        raise NoAnswer(f"{METADATA_VARIABLE}: expected HOST or HOST:PORT of a metadata server. Received: {server!r}") from None
    try:
        connection.request("GET", ROOT + key, headers={"Metadata-Flavor": "Google"})
        answer = connection.getresponse()
        text = answer.read(MAX_BYTES).decode(errors="replace").strip()
        flavor = answer.getheader("Metadata-Flavor")
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise NoAnswer(f"the metadata server {server} does not answer: {_words(error)}") from None
    finally:
        connection.close()
    if answer.status != 200:
        raise NoAnswer(f"the metadata server {server} has no {key} (HTTP {answer.status})")
    if flavor != "Google":
        raise NoAnswer(f"{server} is no metadata server of Google's: its answer lacks their header (HTTP {answer.status})")
    return text


def _words(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
