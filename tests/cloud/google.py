"""A stand-in for Google on loopback: the metadata server of a machine, the quotas of a region, the job service of Vertex AI.

It answers as they are documented, to whoever asks over HTTP: Google's own client library as well as ours. What it was asked is kept.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

METADATA = "/computeMetadata/v1/"
ACCOUNT = "trainer@project-1.iam.gserviceaccount.com"


@dataclass
class Google:
    address: str = ""  # host:port
    values: dict[str, str] = field(default_factory=lambda: dict(OF_A_SPOT_MACHINE))
    quotas: list[dict[str, Any]] = field(
        default_factory=lambda: [{"metric": "PREEMPTIBLE_NVIDIA_L4_GPUS", "limit": 4.0, "usage": 3.0}]
    )
    refuses: int = 0  # the status with which requests to services end; 0: they are served
    asked: list[tuple[str, str, str, Any]] = field(default_factory=list)  # method, path, bearer, body

    def environment(self) -> dict[str, str]:
        """Of a program that shall think that it runs there."""
        compute = f"http://{self.address}/compute/v1/"
        own = {
            "GCE_METADATA_HOST": self.address,
            "GCE_METADATA_IP": self.address,
            "CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE": compute,
        }
        return {**own, "GOOGLE_APPLICATION_CREDENTIALS": "", "NO_PROXY": "127.0.0.1"}

    def surround(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """This process thinks that it runs there, also where Google's library has read its variables when it was imported."""
        for name, value in self.environment().items():
            monkeypatch.setenv(name, value)
        if "google.auth.compute_engine._metadata" in sys.modules:
            monkeypatch.setattr("google.auth.compute_engine._metadata._GCE_METADATA_HOST", self.address)

    def answered(self, method: str, path: str, bearer: str, body: Any) -> tuple[int, str]:
        path = path.partition("?")[0]
        if path.startswith(METADATA) or path == "/":
            return self._of_metadata(path.removeprefix(METADATA))
        self.asked.append((method, path, bearer, body))
        if self.refuses:
            return self.refuses, json.dumps(
                {"error": {"code": self.refuses, "message": "Permission denied on resource", "status": "PERMISSION_DENIED"}}
            )
        if path.startswith("/compute/v1/projects/project-1/regions/"):
            return 200, json.dumps({"name": "us-central1", "quotas": self.quotas})
        if method == "POST" and path.endswith("/customJobs"):
            return 200, json.dumps(
                {**body, "name": "projects/1/locations/us-central1/customJobs/4711", "state": "JOB_STATE_PENDING"}
            )
        return 404, "{}"

    def _of_metadata(self, key: str) -> tuple[int, str]:
        if key.endswith("/token"):
            return 200, json.dumps({"access_token": "a-token", "expires_in": 3600, "token_type": "Bearer"})
        if key.startswith("instance/service-accounts/default/") and key not in self.values:
            return 200, json.dumps(
                {"email": ACCOUNT, "scopes": ["https://www.googleapis.com/auth/cloud-platform"], "aliases": ["default"]}
            )
        if key == "/":
            return 200, ""
        return (200, self.values[key]) if key in self.values else (404, "")


OF_A_SPOT_MACHINE = {
    "instance/name": "trainer-1",
    "instance/machine-type": "projects/1/machineTypes/g2-standard-4",
    "instance/zone": "projects/1/zones/us-central1-a",
    "instance/cpu-platform": "Intel Cascade Lake",
    "instance/scheduling/preemptible": "TRUE",
    "instance/scheduling/on-host-maintenance": "TERMINATE",
    "instance/scheduling/automatic-restart": "FALSE",
    "project/project-id": "project-1",
    "instance/service-accounts/default/email": ACCOUNT,
    "instance/service-accounts/default/scopes": "https://www.googleapis.com/auth/cloud-platform\n",
    "universe/universe-domain": "googleapis.com",
}


@contextmanager
def google() -> Iterator[Google]:
    standing_in = Google()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(None)

        def do_POST(self) -> None:
            self._answer(json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"null"))

        def _answer(self, body: Any) -> None:
            bearer = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
            status, text = standing_in.answered(self.command, self.path, bearer, body)
            if METADATA in self.path and self.headers.get("Metadata-Flavor") != "Google":
                status, text = 403, "Missing Metadata-Flavor:Google header."
            raw = text.encode()
            self.send_response(status)
            self.send_header("Metadata-Flavor", "Google")
            self.send_header("Content-Type", "application/json" if raw[:1] in {b"{", b"["} else "text/plain")
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, format: str, *arguments: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    standing_in.address = f"127.0.0.1:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield standing_in
    finally:
        server.shutdown()
        server.server_close()
