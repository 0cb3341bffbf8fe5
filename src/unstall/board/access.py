"""Who may look. On loopback whoever asks for it by a name of this machine; from elsewhere, and where wanted, only with the token.

A page of a stranger that a browser has open may ask for any address, also for ours under a name of its own that leads to this
machine (DNS rebinding): so the name by which we are asked must be ours.
"""

from __future__ import annotations

import hmac
import ipaddress
import secrets
import socket
from dataclasses import dataclass
from enum import Enum
from http.cookies import CookieError, SimpleCookie
from typing import Protocol

from unstall.base.errors import InvalidInputError

MIN_LETTERS = 16  # of a token
MAX_LETTERS = 200


class AccessDecision(Enum):
    ALLOW = "come in"
    KEEP_TOKEN = "keep token"  # it was in the address: it goes into a cookie, so that it need not stand there
    NO_TOKEN = "no token"
    OTHER_NAME = "other name"


class Headers(Protocol):
    def get(self, name: str, failobj: str, /) -> str: ...


@dataclass(frozen=True)
class AccessControl:
    token: str | None
    cookie: str = "unstall-board"

    def answer(self, headers: Headers, in_address: str | None) -> AccessDecision:
        if self.token is None:
            return AccessDecision.ALLOW if is_own_name(headers.get("Host", "")) else AccessDecision.OTHER_NAME
        if in_address is not None and self._is_it(in_address):
            return AccessDecision.KEEP_TOKEN
        given = headers.get("Authorization", "")
        if given.startswith("Bearer ") and self._is_it(given.removeprefix("Bearer ").strip()):
            return AccessDecision.ALLOW
        return AccessDecision.ALLOW if self._is_it(self._from_cookie(headers.get("Cookie", ""))) else AccessDecision.NO_TOKEN

    def _is_it(self, given: str) -> bool:
        """Compared in a time that does not tell how much of it is right."""
        return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), (self.token or "").encode())

    def _from_cookie(self, text: str) -> str:
        try:
            kept = SimpleCookie(text).get(self.cookie)
        except CookieError:
            return ""
        return kept.value if kept is not None else ""

    def set_cookie(self) -> str:
        return f"{self.cookie}={self.token}; Path=/; HttpOnly; SameSite=Lax"


def is_own_name(host: str) -> bool:
    """As the header Host has it, whatever the port: through a tunnel it may be another."""
    name = host.strip().lower()
    name = name[1:].partition("]")[0] if name.startswith("[") else name.partition(":")[0]
    return name == "localhost" or _is_loopback_address(name)


def _is_loopback_address(name: str) -> bool:
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach what listens there."""
    if is_own_name(f"[{host}]" if ":" in host else host):
        return True
    try:
        found = {str(entry[4][0]) for entry in socket.getaddrinfo(host, None)}
    except OSError as error:
        raise InvalidInputError(f"--host: '{host}' is no address of this machine: {error.strerror}.") from None
    return bool(found) and all(_is_loopback_address(address) for address in found)


def choose_token(host: str, given: str | None) -> str | None:
    """None: none is needed."""
    if given is None:
        return None if is_loopback(host) else secrets.token_urlsafe(24)
    if (
        not MIN_LETTERS <= len(given) <= MAX_LETTERS
        or not given.isascii()
        or not given.replace("-", "").replace("_", "").isalnum()
    ):
        raise InvalidInputError(
            f"--token: expected {MIN_LETTERS} to {MAX_LETTERS} letters, digits, - and _. Received: {len(given)} characters. "
            "Without --token one is made."
        )
    return given
