"""fsspec's file systems for buckets: the only place that loads them, when the first byte is asked for.

Their own ways to try again are switched off: ours has bounds, and knows what it failed of. Listings are not remembered, as
other machines write to the same bucket.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any, TypeVar

from unstall.base.errors import MissingDependencyError
from unstall.storage.retry import Missing, NameTaken, get_silence_s

T = TypeVar("T")

PACKAGES = {"gs": ("gcsfs", "gcs"), "s3": ("s3fs", "s3")}  # the package, and the extra that brings it
CONNECTIONS = 64  # at once, of one bucket


@dataclass(frozen=True)
class Client:
    files: Any  # an fsspec file system, asynchronous inside
    failures: tuple[type[BaseException], ...]  # what it raises where a request fails
    whole: dict[str, Any] = field(default_factory=dict)  # how it reads an object with one request

    def done(self, coroutine: Callable[[], Coroutine[Any, Any, T]], limit_s: float) -> T:
        """Runs it on fsspec's thread, and lets go of it when its time is up."""
        import asyncio
        from concurrent.futures import TimeoutError as TooLate

        from fsspec.asyn import get_loop

        future = asyncio.run_coroutine_threadsafe(asyncio.wait_for(coroutine(), limit_s), get_loop())
        try:
            return future.result(limit_s + 1.0)
        except FileNotFoundError as error:
            raise Missing from error
        except FileExistsError as error:
            raise NameTaken from error
        except TooLate:
            future.cancel()  # also where the thread itself is late
            raise
        except OSError as error:
            if is_precondition(error):
                raise NameTaken from error
            raise


def is_precondition(error: BaseException) -> bool:
    """That it was to be new, and is there. 409: another one writes the same at this moment."""
    response = getattr(error.__cause__, "response", None)
    code = response.get("Error", {}).get("Code") if isinstance(response, dict) else None
    return code in {"PreconditionFailed", "ConditionalRequestConflict"}


_clients: dict[tuple[int, str], Client] = {}
_lock = threading.Lock()


def create_client(scheme: str) -> Client:
    """One for each process: a forked child may not use the connections of its parent."""
    with _lock:
        key = (os.getpid(), scheme)
        if key not in _clients:
            package, extra = PACKAGES[scheme]
            if find_spec(package) is None:
                raise MissingDependencyError(
                    f"{scheme}:// needs the package '{package}'. Install: pip install 'unstall[{extra}]'"
                )
            _start_loop()
            _clients[key] = _google() if scheme == "gs" else _amazon()
        return _clients[key]


def _start_loop() -> None:
    """fsspec's thread, deaf to signals: a program that waits for one in its main thread would else lose it to this one."""
    from fsspec.asyn import get_loop

    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        get_loop()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def forget_clients() -> None:
    """For whoever has changed the credentials or the address of the server."""
    with _lock:
        _clients.clear()


def _google() -> Client:
    import aiohttp
    import requests
    from gcsfs.core import GCSFileSystem
    from gcsfs.retry import ChecksumError, HttpError
    from google.auth.exceptions import GoogleAuthError

    class Once(GCSFileSystem):  # type: ignore[misc]
        """A request is made once; who asks decides on another attempt."""

        _request = getattr(GCSFileSystem._request, "__wrapped__", GCSFileSystem._request)

    failures = (HttpError, ChecksumError, GoogleAuthError, aiohttp.ClientError, requests.RequestException)
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=get_silence_s(), sock_read=get_silence_s())
    token = "anon" if os.environ.get("STORAGE_EMULATOR_HOST") else None
    files = Once(
        token=token,
        consistency="md5",
        requests_timeout=timeout,
        use_listings_cache=False,
        skip_instance_cache=True,
        requester_pays=False,
    )
    return Client(files, (*failures, OSError, ValueError, RuntimeError))


def _amazon() -> Client:
    import aiohttp
    from botocore.exceptions import BotoCoreError, ClientError
    from s3fs import S3FileSystem

    files = S3FileSystem(
        config_kwargs={
            "connect_timeout": get_silence_s(),
            "read_timeout": get_silence_s(),
            "retries": {"max_attempts": 0},
            "max_pool_connections": CONNECTIONS,
        },
        use_listings_cache=False,
        skip_instance_cache=True,
    )
    files.retries = 1
    failures = (BotoCoreError, ClientError, aiohttp.ClientError, OSError, ValueError, RuntimeError)
    return Client(files, failures, {"max_concurrency": 1})
