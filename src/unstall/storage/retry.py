"""Tries again what may go better the next time, within bounds; says what went wrong in words that name the bucket.

A server that says "slow down" (429, 503), a connection that breaks and one that falls silent are tried again, after pauses that
grow. What will not change by itself (a permission, a bucket that is not there) is said at once. Every attempt has its time, and
none is begun when the patience is at its end, so nothing waits for ever; after giving up, others who ask are told at once for
a while.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from unstall.base.errors import BucketError

T = TypeVar("T")

PATIENCE_S = 35.0  # then no attempt is begun any more: with the last one, less than an example of the input may take
SILENCE_S = 10.0  # without a byte: the connection is given up, and another one tried
SLOWEST_BYTES_PER_S = 256 * 1024  # large requests have as much more time; a link that is slower feeds no training
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.3, 8.0
REST_S = 10.0  # after giving up a bucket: whoever asks within it is told the same at once
VARIABLE = "UNSTALL_STORAGE_PATIENCE_S"

SIGN_IN = {
    "gs": "gcloud auth application-default login, or GOOGLE_APPLICATION_CREDENTIALS=KEY.json",
    "s3": "aws sso login, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
}


@dataclass(frozen=True)
class Cause:
    """Why a request failed."""

    words: str
    may_pass: bool = False  # worth another attempt
    is_denied: bool = False


class Missing(Exception):
    """There is nothing of this name."""


class OutOfRange(Exception):
    """It ends before the range that was asked for."""


class NameTaken(Exception):
    """There is something of this name already, and it was to be new."""

    may_be_ours = False  # an attempt of ours before this one failed, and may have written it all the same


def get_patience_s() -> float:
    try:
        return max(0.1, float(os.environ.get(VARIABLE, "") or PATIENCE_S))
    except ValueError:
        return PATIENCE_S


def get_silence_s() -> float:
    """So that a connection which falls silent leaves time for another attempt."""
    return min(SILENCE_S, get_patience_s() / 3)


class RetryPolicy:
    """Of one bucket, shared by all who use it."""

    def __init__(self, scheme: str, bucket: str, failures: tuple[type[BaseException], ...]) -> None:
        """`failures`: what the bucket's library raises where a request fails; anything else is a fault of ours."""
        self._scheme, self._bucket, self._failures = scheme, bucket, failures
        self._rests_until, self._rests_for = 0.0, ""

    def retry(self, doing: str, key: str, attempt: Callable[[float], T], size_bytes: int = 0) -> T:
        """`doing`: 'read', 'write', 'list' or 'delete'. `attempt` is told how many seconds it may take."""
        if time.monotonic() < self._rests_until:
            raise self._failed(doing, key, self._rests_for)
        more_s = size_bytes / SLOWEST_BYTES_PER_S
        began, pause_s, tries = time.monotonic(), FIRST_PAUSE_S, 0
        until = began + get_patience_s()
        while True:
            tries += 1
            try:
                return attempt(2 * get_silence_s() + more_s)
            except NameTaken as taken:
                taken.may_be_ours = tries > 1
                raise
            except (OutOfRange, Missing):
                raise
            except self._failures as error:
                if find_status(error) == 416:
                    raise OutOfRange from error
                cause = find_cause(error)
            now_s = pause_s * random.uniform(0.5, 1.0)  # so that many who failed together do not come back together
            if not cause.may_pass or time.monotonic() + now_s >= until:
                raise self._given_up(doing, key, cause, tries, time.monotonic() - began) from None
            time.sleep(now_s)
            pause_s = min(LONGEST_PAUSE_S, 2 * pause_s)

    def _given_up(self, doing: str, key: str, cause: Cause, tries: int, seconds: float) -> BucketError:
        words = cause.words
        if cause.may_pass:
            words += f"; tried {tries} times in {seconds:.0f} s"
            self._rests_until, self._rests_for = time.monotonic() + min(REST_S, get_patience_s()), words
        if cause.is_denied:
            words += f". Sign in: {SIGN_IN[self._scheme]}; or have the account be given the bucket '{self._bucket}'"
        return self._failed(doing, key, words)

    def _failed(self, doing: str, key: str, words: str) -> BucketError:
        done = {"read": "read", "write": "written", "list": "listed", "delete": "deleted"}[doing]
        return BucketError(f"{self._scheme}://{self._bucket}/{key} cannot be {done}: {words}.")


# --- what went wrong ---


def find_cause(error: BaseException) -> Cause:
    """By the numbers of HTTP where an exception has one, else by its kind."""
    status = find_status(error)
    if status is not None:
        return _by_status(status, error)
    chain = list(_chain(error))
    names = {kind.__name__ for each in chain for kind in type(each).__mro__}
    if names & {"GoogleAuthError", "NoCredentialsError", "CredentialRetrievalError", "PartialCredentialsError"}:
        return Cause(f"there are no credentials that hold ({_short(error)})", is_denied=True)
    if "PermissionError" in names or str(error).startswith("Forbidden"):
        return Cause(f"access is denied ({_short(error)})", is_denied=True)
    if names & {"TimeoutError", "FSTimeoutError", "ServerTimeoutError", "ReadTimeoutError", "ConnectTimeoutError"}:
        return Cause("the server falls silent: no byte came in time", may_pass=True)
    if names & {"ConnectionError", "ClientError", "HTTPClientError", "IncompleteReadError", "ProxyError", "RequestException"}:
        return Cause(f"the connection breaks ({_short(error)})", may_pass=True)
    return Cause(_short(error))


def _by_status(status: int, error: BaseException) -> Cause:
    if status in {401, 403}:
        what = "the credentials are not accepted or have expired" if status == 401 or _is_expired(error) else "access is denied"
        return Cause(f"{what} (HTTP {status}: {_short(error)})", is_denied=True)
    if status == 400 and (_is_expired(error) or "Bad Request" in str(error)):  # S3 says no more where it is asked for a head
        return Cause(f"the credentials have expired or are malformed (HTTP 400: {_short(error)})", is_denied=True)
    if status == 404:
        return Cause("there is no such bucket (HTTP 404)")
    if status == 429:
        return Cause("the bucket is asked too often (HTTP 429)", may_pass=True)
    if status in {408, 500, 502, 503, 504}:
        return Cause(f"the server is not available (HTTP {status})", may_pass=True)
    return Cause(f"the server answers HTTP {status}: {_short(error)}")


def _is_expired(error: BaseException) -> bool:
    return any(word in str(error) for word in ("xpired", "InvalidToken", "Invalid Credentials", "InvalidAccessKeyId"))


def find_status(error: BaseException) -> int | None:
    for each in _chain(error):
        response = getattr(each, "response", None)  # botocore
        if isinstance(response, dict):
            status = response.get("ResponseMetadata", {}).get("HTTPStatusCode")
        else:
            status = getattr(each, "code", None) or getattr(each, "status", None)  # gcsfs, aiohttp
        if isinstance(status, int | str) and str(status).isdigit() and 400 <= int(status) < 600:
            return int(status)
    return None


def _chain(error: BaseException) -> list[BaseException]:
    chain: list[BaseException] = []
    following: BaseException | None = error
    while following is not None and len(chain) < 5:
        chain.append(following)
        following = following.__cause__
    return chain


def _short(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return (lines[-1] if lines else type(error).__name__)[:160].rstrip(".")
