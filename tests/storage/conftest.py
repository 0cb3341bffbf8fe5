"""Buckets on loopback, behind a proxy that can break things. One server of each kind for all tests; a bucket for each test."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest

from tests.storage import emulators
from tests.storage.proxy import Proxy

_numbers = count(1)


@dataclass(frozen=True)
class Place:
    """A bucket of one test."""

    scheme: str
    name: str
    proxy: Proxy

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.name}"

    def path(self, key: str) -> Path:
        from unstall.storage import located

        return located(f"{self.url}/{key}")


@pytest.fixture(scope="session")
def s3_server() -> Iterator[str]:
    emulators.skip_unless_installed("s3")
    with emulators.server("s3") as address:
        yield address


@pytest.fixture(scope="session")
def gs_server() -> Iterator[str]:
    emulators.skip_unless_installed("gs")
    with emulators.server("gs") as address:
        yield address


def _place(scheme: str, server: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    from unstall.storage.bucket import forget_buckets

    proxy = Proxy(server)
    name = f"bucket-{next(_numbers)}"
    emulators.make_bucket(scheme, server, name)
    for variable, value in emulators.environment(scheme, proxy.address).items():
        monkeypatch.setenv(variable, value)
    forget_buckets()
    yield Place(scheme, name, proxy)
    proxy.stop()
    forget_buckets()


@pytest.fixture
def amazon(s3_server: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    yield from _place("s3", s3_server, monkeypatch)


@pytest.fixture
def google(gs_server: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    yield from _place("gs", gs_server, monkeypatch)


@pytest.fixture(params=["amazon", "google"])
def place(request: pytest.FixtureRequest) -> Place:
    """The same test on both."""
    made: Place = request.getfixturevalue(request.param)
    return made


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Little patience, so that a test of giving up takes seconds."""
    monkeypatch.setenv("UNSTALL_STORAGE_PATIENCE_S", "2.4")
