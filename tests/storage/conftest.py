"""Buckets on loopback, behind a proxy that can break things. One server of each kind for all tests; a bucket for each test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
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
        from unstall.storage import resolve_path

        return resolve_path(f"{self.url}/{key}")


@pytest.fixture(scope="session")
def s3_proxy() -> Iterator[Proxy]:
    yield from _served("s3")


@pytest.fixture(scope="session")
def gs_proxy() -> Iterator[Proxy]:
    yield from _served("gs")


def _served(scheme: str) -> Iterator[Proxy]:
    emulators.skip_unless_installed(scheme)
    with emulators.server(scheme) as address:
        proxy = Proxy(address)
        yield proxy
        proxy.stop()


def _place(scheme: str, proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> Place:
    """A client takes half a second to make: all tests share one."""
    proxy.heal()
    name = f"bucket-{next(_numbers)}"
    emulators.make_bucket(scheme, proxy.address, name)
    for variable, value in emulators.environment(scheme, proxy.address).items():
        monkeypatch.setenv(variable, value)
    return Place(scheme, name, proxy)


@pytest.fixture
def amazon(s3_proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> Place:
    return _place("s3", s3_proxy, monkeypatch)


@pytest.fixture
def google(gs_proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> Place:
    return _place("gs", gs_proxy, monkeypatch)


@pytest.fixture(params=["amazon", "google"])
def place(request: pytest.FixtureRequest) -> Place:
    """The same test on both."""
    made: Place = request.getfixturevalue(request.param)
    return made


@pytest.fixture
def hurry(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], None]]:
    """From its call on there is little patience, so that a test of giving up takes seconds."""
    from unstall.storage.bucket import forget_buckets

    def begin() -> None:
        monkeypatch.setenv("UNSTALL_STORAGE_PATIENCE_S", "2.4")
        forget_buckets()

    yield begin
    forget_buckets()
