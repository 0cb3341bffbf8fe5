"""Real storage servers on loopback, each in a process of its own: moto's for S3, gcp-storage-emulator for Google's."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

import pytest

NEEDED = {"s3": ("s3fs", "moto"), "gs": ("gcsfs", "gcp_storage_emulator")}
STARTS_WITHIN_S = 240


def skip_unless_installed(scheme: str) -> None:
    missing = [name for name in NEEDED[scheme] if find_spec(name) is None]
    if missing:
        pytest.skip(f"needs {', '.join(missing)}: pip install 'unstall[storage-test]'")


@contextmanager
def server(scheme: str) -> Iterator[str]:
    """Its address."""
    port = _free_port()
    address = f"http://127.0.0.1:{port}"
    google = ["-m", "gcp_storage_emulator", "start", "--host=127.0.0.1", f"--port={port}", "--in-memory"]
    command = ["-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)] if scheme == "s3" else google
    process = subprocess.Popen(
        [sys.executable, *command],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    try:
        _wait_for(address, process)
        yield address
    finally:
        process.terminate()
        process.wait(240)


def environment(scheme: str, address: str) -> dict[str, str]:
    """What leads a client there."""
    if scheme == "gs":
        return {"STORAGE_EMULATOR_HOST": address}
    return {
        "AWS_ENDPOINT_URL": address,
        "AWS_ACCESS_KEY_ID": "nobody",
        "AWS_SECRET_ACCESS_KEY": "nothing",
        "AWS_DEFAULT_REGION": "us-east-1",
    }


def make_bucket(scheme: str, address: str, name: str) -> None:
    if scheme == "s3":
        request = urllib.request.Request(f"{address}/{name}", method="PUT", data=b"")
    else:
        body = f'{{"name": "{name}"}}'.encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{address}/storage/v1/b?project=test", data=body, headers=headers)
    with urllib.request.urlopen(request, timeout=120) as answer:
        assert answer.status == 200


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


def _wait_for(address: str, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + STARTS_WITHIN_S
    while time.monotonic() < until:
        assert process.poll() is None, f"the server ended with {process.returncode}"
        try:
            urllib.request.urlopen(address, timeout=5).close()
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise AssertionError(f"no server at {address} within {STARTS_WITHIN_S} s")
