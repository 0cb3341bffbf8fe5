"""Who may look at the board: whoever asks this machine by its own name, or has the token."""

from __future__ import annotations

import pytest

from unstall.base.errors import InvalidInputError
from unstall.board.access import AccessControl, AccessDecision, choose_token, is_own_name

TOKEN = "a-token-of-enough-letters"


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8750", "127.0.0.1:8750", "127.0.0.1:9", "[::1]:8750", "127.8.8.8"])
def test_names_of_this_machine_are_answered(host: str) -> None:
    assert AccessControl(None).answer({"Host": host}, None) is AccessDecision.ALLOW


@pytest.mark.parametrize(
    "host", ["", "evil.example", "evil.example:8750", "localhost.evil.example", "127.0.0.1.evil.example", "192.168.1.7"]
)
def test_a_name_that_strangers_may_own_is_not(host: str) -> None:
    assert not is_own_name(host)
    assert AccessControl(None).answer({"Host": host}, None) is AccessDecision.OTHER_NAME


def test_the_token_may_be_in_the_address_the_header_or_the_cookie() -> None:
    access = AccessControl(TOKEN, "board")
    assert access.answer({"Host": "any.example"}, TOKEN) is AccessDecision.KEEP_TOKEN
    assert access.answer({"Authorization": f"Bearer {TOKEN}"}, None) is AccessDecision.ALLOW
    assert access.answer({"Cookie": f"other=1; board={TOKEN}"}, None) is AccessDecision.ALLOW
    assert TOKEN in access.set_cookie() and "HttpOnly" in access.set_cookie()


@pytest.mark.parametrize(
    ("headers", "in_address"),
    [
        ({}, None),
        ({"Host": "localhost"}, None),
        ({}, TOKEN[:-1]),
        ({}, TOKEN + "x"),
        ({}, ""),
        ({}, "ä\udcff"),
        ({"Authorization": f"Basic {TOKEN}"}, None),
        ({"Cookie": f"other={TOKEN}"}, None),
        ({"Cookie": 'board="\x01'}, None),
    ],
)
def test_without_the_token_nobody_comes_in(headers: dict[str, str], in_address: str | None) -> None:
    assert AccessControl(TOKEN, "board").answer(headers, in_address) is AccessDecision.NO_TOKEN


def test_away_from_loopback_a_token_is_made_and_never_twice_the_same() -> None:
    assert (
        choose_token("127.0.0.1", None) is None and choose_token("localhost", None) is None and choose_token("::1", None) is None
    )
    made = {choose_token("0.0.0.0", None) for _ in range(3)}
    assert len(made) == 3 and all(token and len(token) >= 32 for token in made)
    assert choose_token("127.0.0.1", TOKEN) == TOKEN


@pytest.mark.parametrize("token", ["short", "with spaces and so on", "", "a" * 500, "newline-in-a-token\n"])
def test_a_token_that_is_easy_to_guess_or_odd_is_refused(token: str) -> None:
    with pytest.raises(InvalidInputError, match="--token: expected 16 to 200 letters"):
        choose_token("127.0.0.1", token)
