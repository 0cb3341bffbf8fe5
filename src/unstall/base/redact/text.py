"""Replaces secrets in whatever text is written down: messages of errors, warnings, log lines, source lines, command lines.

A secret is known by its form, by the name that stands before it, or by its value, where a variable of the environment or an
option of the command line has said it (`register_variables`, `register_command`). Evidence stays: paths, names of tensors and
of files, hashes, numbers, and ordinary words such as `keypoints`, `num_tokens=512` or `KeyError: 'image'`.

An event passes here before it is written to a journal, in the watched program too, so a text without any sign of a secret costs
microseconds: `can_hold_secret` looks for a few short words and nothing else.

Standard library only, syntax of Python 3.7: it also runs inside the watched program.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from re import Match
from typing import Any

MASK = "•••"
MIN_VALUE = 8  # characters of a value that is looked for by itself; a shorter one is part of too many words
MIN_WORD_VALUE = 16  # of a value that could be a word: letters of one case
MAX_VALUES = 200
REFRESH_INTERVAL_S = 1.0  # a program may set variables of its environment while it runs
MIN_WORD = 12  # letters and digits between `_` and `-`, on average; names of layers are made of shorter words
MIN_OPAQUE = 32  # characters of a text that is taken for a key by its look alone

# In small letters. A text that holds none of them, no known value and no long random word is left as it is.
MARKERS = (
    "pass", "pwd", "secret", "token", "key", "auth", "bearer", "basic ", "credential", "cookie", "signature", "sig=", "dsn",
    "@", "hooks.slack", "webhook", "api.telegram", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "hf_", "sk-",
    "k_live_", "k_test_", "pypi-", "npm_", "xox", "akia", "asia", "aiza", "ya29.", "eyj", "dop_v1_", "sg.",
)  # fmt: skip

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
# By these words in its name a value is secret, whatever it is.
_STRONG = frozenset({
    "password", "passwords", "passwd", "passphrase", "passcode", "pwd", "secret", "secrets", "credential", "credentials",
    "apikey", "authorization",
})  # fmt: skip
_STRONG_BEFORE_KEY = frozenset({"api", "access", "private", "secret", "signing", "encryption", "auth", "account", "ssh", "sas"})
# By these as its last word it is, if it looks like a key: `pad_token=<pad>` and `token: 512` are none.
_WEAK = frozenset({"token", "auth", "pat", "bearer", "cookie", "dsn", "sessionid", "jwt", "pass", "key", "sig", "signature"})
_WEAKEST = frozenset({"pass", "key", "sig", "signature"})  # said of many other things
_BEFORE_TOKEN = frozenset({
    "pad", "eos", "bos", "unk", "sep", "cls", "mask", "next", "start", "stop", "end", "special", "first", "last", "prev", "image",
    "unexpected", "unknown", "padding",
})  # fmt: skip
_IN_QUERY_NAMES = frozenset({"sig", "signature", "token", "password", "secret", "credential", "auth", "key", "apikey", "jwt"})
# What stands where a value would, and is none: types, literals, and words of sentences about passwords.
_NO_VALUES = frozenset({
    "str", "string", "int", "bool", "bytes", "none", "null", "nil", "true", "false", "optional", "any", "object", "self", "field",
    "required", "missing", "invalid", "incorrect", "wrong", "expected", "must", "not", "no", "the", "is", "was", "are", "cannot",
    "could", "empty", "unset", "undefined", "expired", "denied", "failed", "error", "default", "optional[str]",
    "bearer", "basic", "digest",
})  # fmt: skip

_PRIVATE_KEY = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL)
_KNOWN_FORMS = re.compile(
    r"(?<![A-Za-z0-9_])(?:gh[pousr]_[A-Za-z0-9]{16,}|github_pat_\w{16,}|glpat-[\w-]{16,}|npm_[A-Za-z0-9]{30,}|pypi-[\w-]{16,}"
    r"|[sr]k_(?:live|test)_\w{10,}|xox[abeprs]-[\w-]{8,}|(?:AKIA|ASIA)[0-9A-Z]{12,}|AIza[\w-]{20,}|ya29\.[\w.-]{10,}"
    r"|eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?|dop_v1_\w{16,}|SG\.[\w-]{16,}\.[\w-]{16,})"
)
_LIKELY_FORMS = re.compile(r"(?<![A-Za-z0-9_])(?:hf_[A-Za-z0-9]{16,}|sk-[\w-]{16,})")
_IN_URL = re.compile(r"(?<![a-zA-Z0-9+.-])(?P<scheme>[a-zA-Z][a-zA-Z0-9+.-]{0,30}://)(?P<who>[^/\s'\"<>]{1,500})@")
_IN_QUERY = re.compile(r"(?P<sign>[?&;])(?P<name>[\w.-]{1,64})=(?P<value>[^&\s'\"<>#;]{1,4000})")
_WEBHOOK = re.compile(
    r"(?P<head>hooks\.slack\.com/(?:services|workflows)/|discord(?:app)?\.com/api/webhooks/|api\.telegram\.org/bot)[\w/:-]+"
)
_AUTHORIZATION = re.compile(
    r"(?P<head>authorization\\?['\"]?[ \t]{0,8}[=:][ \t]{0,8}\\?['\"]?"
    r"(?:(?:bearer|basic|token|digest|apikey|negotiate)[ \t]{1,8})?)(?P<value>[^\s'\",;\\]+)",
    re.IGNORECASE,
)
_COOKIE = re.compile(
    r"(?P<head>(?<![\w-])(?:set-)?cookie\\?['\"]?[ \t]{0,8}:[ \t]{0,8}\\?['\"]?)(?P<value>[^\n'\"\\=]+=[^\n'\"\\]+)",
    re.IGNORECASE,
)
_BEARER = re.compile(r"(?<!\w)(?P<head>(?P<scheme>bearer|basic)[ \t]{1,8})(?P<value>[\w+/=.~-]{6,})", re.IGNORECASE)
_NAME = re.compile(
    r"(?<![\w.-])(?P<name>[A-Za-z_-][\w.-]{0,120})(?P<between>\\?['\"]?\]?[ \t]{0,8}(?:=>|==|!=|:=|[=:])[ \t]{0,8})"
)
_VALUE = re.compile(
    r"(?P<open>[rbuf]{0,2}\\?(?P<quote>['\"]))(?P<quoted>(?:\\(?!(?P=quote)).|(?!\\?(?P=quote))[^\n])*)|(?P<plain>[^\s,;'\"}\])&]+)"
)
_SAID = r"(?P<head>(?i:password|passwd|passphrase|secret|api[ _-]?key|access[ _-]?key|credentials?)(?: is| was)?[ \t]{1,4}"
_SPOKEN = re.compile(rf"(?<!\w){_SAID}['\"])(?P<value>[^'\"\n]{{4,200}})(?=['\"])")
_SPOKEN_PLAIN = re.compile(  # without quotes any word may follow, so it must look like a key
    rf"(?<!\w){_SAID})(?=\S{{0,80}}\d)(?=\S{{0,80}}[a-z])(?=\S{{0,80}}[A-Z])(?P<value>[A-Za-z0-9][\w+/=-]{{15,200}})(?![\w/]|\.\w)"
)
_OPTION = re.compile(r"(?<![\w-])(?P<head>--?(?P<name>[A-Za-z][\w-]{1,60})[ \t]{1,4})(?P<value>[^\s'\"-][^\s'\"]*)")
_OPAQUE = re.compile(r"(?<![A-Za-z0-9+/=_.-])[A-Za-z0-9+/=_-]{32,}(?![A-Za-z0-9_-]|\.[A-Za-z]{2,5}\b)")
_SEPARATED = {code: " " for code in range(128) if not (chr(code).isalnum() or chr(code) in "+/=_-")}  # quicker than to search
_HEX = re.compile(r"[0-9a-f]+|[0-9A-F]+")
_PATH = re.compile(r"[~.]{0,2}/[\w.]")
_SOURCE_FILE = re.compile(r"[\w-]\.(?:pyx?|ipynb|cc|cpp|cu|c|h|hpp|rs|sh)\Z")
_LINE_NUMBER = re.compile(r"\d{1,7}(?::\d{1,7})?[.:]?")


# --- plain data ---


def redact(value: Any) -> Any:
    """Plain data without secrets: each text in it is redacted, and so is what stands under the name of a secret."""
    if isinstance(value, str):
        return redact_text(value)
    if isinstance(value, Mapping):
        return {key: _redact_item(key, item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_redact_argument(value[at - 1] if at else None, item) for at, item in enumerate(value)]
    return value


def redact_json(text: str, indent: int | None = None) -> str:
    """A text of JSON, without secrets; compact unless it is to be indented."""
    if not can_hold_secret(text):
        return text
    plain = json.loads(text)
    result = redact(plain)
    return text if result == plain else json.dumps(result, indent=indent, separators=None if indent else (",", ":"))


def _redact_item(name: Any, value: Any) -> Any:
    if isinstance(name, str) and isinstance(value, str) and _is_secret(name, value):
        return MASK
    return redact(value)


def _redact_argument(before: Any, value: Any) -> Any:
    """An item of a list, which may be a command line: `--password`, and then what it is."""
    is_pair = isinstance(before, str) and isinstance(value, str) and before.startswith("-") and not value.startswith("-")
    if is_pair and _is_secret_option(before) and MASK not in value:
        return MASK
    if is_pair and before in {"-u", "--user"} and ":" in value:
        return f"{value.partition(':')[0]}:{MASK}"
    return redact(value)


def _is_secret_option(argument: str) -> bool:
    words = _words(argument)
    return is_secret_name(argument) or bool(words and words[-1] in _WEAK - _WEAKEST and not _BEFORE_TOKEN.intersection(words))


def redact_text(text: str) -> str:
    if not can_hold_secret(text):
        return text
    for secret in _Known.values:
        if secret in text:
            text = text.replace(secret, MASK)
    small = text.lower()
    if "private key" in small:
        text = _PRIVATE_KEY.sub(lambda found: MASK + "\n" * found[0].count("\n"), text)  # lines keep their numbers
    text = _KNOWN_FORMS.sub(MASK, text)
    text = _LIKELY_FORMS.sub(lambda found: MASK if _has_digit_or_capital(found[0][3:]) else found[0], text)
    if "://" in text:
        text = _IN_URL.sub(_without_user, text)
        text = _WEBHOOK.sub(lambda found: f"{found['head']}{MASK}", text)
    text = _IN_QUERY.sub(_without_parameter, text)
    if "authorization" in small:
        text = _AUTHORIZATION.sub(lambda found: f"{found['head']}{MASK}", text)
    if "cookie" in small:
        text = _COOKIE.sub(lambda found: f"{found['head']}{MASK}", text)
    text = _BEARER.sub(_without_credentials, text)
    text = _without_values(text)
    text = _SPOKEN.sub(lambda found: f"{found['head']}{MASK}", text)
    text = _SPOKEN_PLAIN.sub(lambda found: f"{found['head']}{MASK}", text)
    text = _OPTION.sub(_without_option, text)
    text = _OPAQUE.sub(lambda found: MASK if is_opaque(found[0]) else found[0], text)
    return _without_cut_value(text)


def can_hold_secret(text: str) -> bool:
    """Whether it is worth a closer look: also for a whole line of a journal, before it is taken apart."""
    small = text.lower()
    for marker in MARKERS:
        if marker in small:
            return True
    for beginning in _Known.beginnings:
        if beginning in text:
            return True
    return max(map(len, text.translate(_SEPARATED).split()), default=0) >= MIN_OPAQUE and _OPAQUE.search(text) is not None


# --- values that are known ---


class _Known:
    """Values that were said to be secret, in this process. Tuples are replaced whole, so that any thread may read them."""

    values: tuple[str, ...] = ()  # the longest first, so that none is half replaced
    beginnings: tuple[str, ...] = ()  # of them, also as JSON writes them: the rest may be cut off
    refresh_at = 0.0


def register_variables(variables: Mapping[str, str]) -> None:
    """The values of variables whose names speak of a secret are replaced from now on, wherever they stand."""
    found = []
    for name, value in variables.items():
        is_weak = name.upper().endswith(("KEY", "TOKEN", "_PAT", "_PASS", "_AUTH", "_DSN"))
        if is_secret_name(name) or (is_weak and any(sign.isdigit() for sign in value)):
            found.append(value)
        elif "://" in value and "@" in value:
            found += [match["who"].partition(":")[2] for match in _IN_URL.finditer(value)]
    _register(found)


def register_command(arguments: Sequence[str]) -> None:
    """The same for what options such as --password were given."""
    found = []
    for at, argument in enumerate(arguments):
        name, sign, value = argument.partition("=")
        if not is_secret_name(name):
            continue
        if sign:
            found.append(value)
        elif argument.startswith("-") and at + 1 < len(arguments) and not arguments[at + 1].startswith("-"):
            found.append(arguments[at + 1])
    _register(found)


def refresh_from_environment(is_urgent: bool = False) -> None:
    """At most about once a second, unless a message is about to be written: it may hold what was set a moment ago. A dictionary
    that another thread changes meanwhile is read the next time."""
    now = time.monotonic()
    if now < _Known.refresh_at and not is_urgent:
        return
    _Known.refresh_at = now + REFRESH_INTERVAL_S
    try:
        register_variables(dict(os.environ))
    except RuntimeError:
        return


def _register(values: Iterable[str]) -> None:
    fresh = {value for value in values if _is_worth_looking_for(value)}.difference(_Known.values)
    if not fresh:
        return
    known = sorted({*_Known.values, *fresh}, key=lambda value: (-len(value), value))[:MAX_VALUES]
    _Known.values = tuple(known)
    _Known.beginnings = tuple({form for value in known for form in (value[:MIN_VALUE], json.dumps(value[:MIN_VALUE])[1:-1])})


def _is_worth_looking_for(value: str) -> bool:
    """Neither short, nor a word, a number or a path: those stand in many texts and are no secrets there."""
    if len(value) < MIN_VALUE or MASK in value or _PATH.match(value) or value.lower() in _NO_VALUES:
        return False
    is_ordinary = re.fullmatch(r"[\d.]+|[A-Za-z]?[a-z]+(?:[._ -][a-z]+)*|[A-Z]+(?:_[A-Z]+)*", value)
    return is_ordinary is None or len(value) >= MIN_WORD_VALUE


def _without_cut_value(text: str) -> str:
    """Long messages are cut at their end, and so may be a secret in them."""
    for value in _Known.values:
        length = _cut_length(text, value)
        if length:
            return text[:-length] + MASK
    return text


def _cut_length(text: str, value: str) -> int:
    begin = text.rfind(value[:MIN_VALUE], max(0, len(text) - len(value)))
    return len(text) - begin if begin >= 0 and value.startswith(text[begin:]) else 0


# --- names ---


def is_secret_name(name: str) -> bool:
    """Whether what stands under this name is secret, whatever it is: password, api_key, client_secret, AWS_ACCESS_KEY_ID."""
    words = _words(name)
    if name in {"PWD", "OLDPWD"}:
        return False
    if _STRONG.intersection(words):
        return True
    return any(word == "key" and words[at - 1] in _STRONG_BEFORE_KEY for at, word in enumerate(words) if at > 0)


def _words(name: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(name)]


def _is_secret(name: str, value: str) -> bool:
    if not value or MASK in value or value.lower() in _NO_VALUES or _PATH.match(value):
        return False
    if is_secret_name(name):
        return not _is_code(value)
    words = _words(name)
    if not words or words[-1] not in _WEAK or _BEFORE_TOKEN.intersection(words):
        return False
    return is_opaque(value, 2 * MIN_VALUE) if words[-1] in _WEAKEST else _looks_like_key(value)


def _is_code(value: str) -> bool:
    """`args.password`, `getpass(`, `os.environ[`, `PASSWORD`: the program asks for it there, and does not say it."""
    if value[0] in "<[({$%*" or re.match(r"[A-Za-z_][\w.]*[(\[]", value):
        return True
    return re.fullmatch(r"[A-Za-z_.]+", value) is not None and is_secret_name(value.rpartition(".")[2])


def _looks_like_key(value: str) -> bool:
    """Letters and digits between each other, or very many letters: no number, no word, no name of a file."""
    if len(value) < MIN_VALUE or not re.fullmatch(r"[\w+/=.~:-]+", value):
        return False
    if "/" in value or "." in value:
        return is_opaque(value, 2 * MIN_VALUE)
    digits, letters = sum(map(str.isdigit, value)), sum(map(str.isalpha, value))
    return letters >= 2 and ((digits >= 2 and _changes(value) >= 1) or (value.isalpha() and letters >= 2 * MIN_VALUE))


def is_opaque(text: str, least: int = MIN_OPAQUE) -> bool:
    """Whether it looks drawn at random from capitals, small letters and digits. Hashes in hexadecimal, names and paths do not."""
    words = [word for word in re.split(r"[_-]+", text) if word]
    plain = re.sub(r"[^A-Za-z0-9]+", "", text)
    if len(plain) < least or len(plain) < MIN_WORD * len(words) or text.startswith(("/", "_Z")) or _HEX.fullmatch(plain):
        return False
    counts = (sum(map(str.isupper, plain)), sum(map(str.islower, plain)), sum(map(str.isdigit, plain)))
    return min(counts) >= 3 and _changes(plain) >= 0.42 * len(plain)


def _changes(word: str) -> int:
    kinds = ["0" if sign.isdigit() else "A" if sign.isupper() else "a" for sign in word]
    return sum(kinds[at] != kinds[at + 1] for at in range(len(kinds) - 1))


def _has_digit_or_capital(text: str) -> bool:
    return any(sign.isdigit() for sign in text) and any(sign.isupper() for sign in text)


def is_line_of_file(name: str, between: str, value: str) -> bool:
    """`secret.py:14`: where something happened, which is the evidence that a message is written for."""
    return between == ":" and _SOURCE_FILE.search(name) is not None and _LINE_NUMBER.fullmatch(value) is not None


# --- replacing ---


def _without_user(found: Match[str]) -> str:
    """`user:•••@`: who asks is no secret. Where no name stands before it, a long one is a token."""
    name, sign, value = found["who"].partition(":")
    if sign:
        return f"{found['scheme']}{name if len(name) < MIN_OPAQUE else MASK}:{MASK}@" if value else found[0]
    return f"{found['scheme']}{MASK}@" if len(name) >= 2 * MIN_VALUE else found[0]


def _without_parameter(found: Match[str]) -> str:
    words = _words(found["name"])
    is_named = is_secret_name(found["name"]) or bool(words and words[-1] in _IN_QUERY_NAMES and len(found["value"]) >= 6)
    is_short_key = words == ["key"] and not _looks_like_key(found["value"])
    is_secret = is_named and not is_short_key and not found["value"].isdigit()
    return f"{found['sign']}{found['name']}={MASK}" if is_secret else found[0]


def _without_credentials(found: Match[str]) -> str:
    value = found["value"]
    if found["scheme"].lower() == "basic":
        is_secret = _is_user_and_password(value)
    else:
        is_secret = len(value) >= MIN_VALUE and (any(sign.isdigit() for sign in value) or "." in value.strip("."))
    return f"{found['head']}{MASK}" if is_secret else found[0]


def _is_user_and_password(value: str) -> bool:
    try:
        return len(value) % 4 == 0 and b":" in base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        return False


def _without_values(text: str) -> str:
    """What stands behind a name that speaks of a secret: `password=•••`, `"api_key": "•••"`."""
    pieces, done = [], 0
    for found in _NAME.finditer(text):
        name, at = found["name"], found.end()
        value = _VALUE.match(text, at) if at > done and _may_name_secret(name) else None
        if value is None:
            continue
        said = (value["plain"] or value["quoted"] or "").strip("\\")
        is_compared = "==" in found["between"] or "!=" in found["between"]
        if is_line_of_file(name, found["between"], said):
            continue
        if said and _is_secret(name, said) and not (is_compared and len(said) < MIN_VALUE):
            pieces += [text[done:at], value["open"] or "", MASK]
            done = value.end()
    return "".join(pieces) + text[done:]


def _may_name_secret(name: str) -> bool:
    words = _words(name)
    return is_secret_name(name) or bool(words and words[-1] in _WEAK)


def _without_option(found: Match[str]) -> str:
    return f"{found['head']}{MASK}" if _is_secret(found["name"], found["value"]) else found[0]
