"""Which installed packages do not have the version that a library asks for, where an error came while the library was imported.

Read from what lies beside the packages on the disk; nothing is imported. A requirement with a condition (an extra, a platform)
is left out, and so is a version that is not written in numbers.
"""

from __future__ import annotations

import re
from types import TracebackType
from typing import Any, Optional

try:
    from importlib import metadata
except ImportError:  # Python 3.7
    metadata = None  # type: ignore[assignment]

from unstall.probe.core.user_code import is_user_code

MAX_LIBRARIES = 3
MAX_ROWS = 4
_INSTALLED = re.compile(r"[/\\](?:site|dist)-packages[/\\](?P<package>\w+)")
_REQUIREMENT = re.compile(r"\A\s*(?P<name>[\w.-]+)\s*(?:\[[^\]]*\])?\s*\(?(?P<specifier>[^();\[\]]*)\)?\s*\Z")
_RELEASE = re.compile(r"\Av?(?P<release>\d+(?:\.\d+)*)(?:\.?post\d+)?(?:\+[\w.]+)?\Z")
_CLAUSE = re.compile(r"\A\s*(?P<sign>==|!=|<=|>=|<|>|~=)\s*(?P<version>[\w.+]+?)(?P<any>\.\*)?\s*\Z")


def find_unmet(error: Any, traceback: Optional[TracebackType]) -> list[dict[str, Any]]:
    """Of the libraries whose modules were being imported, the innermost first."""
    if metadata is None or not isinstance(error, Exception):
        return []
    rows: list[dict[str, Any]] = []
    for package in _imported(traceback)[:MAX_LIBRARIES]:
        distribution = _distribution(package)
        for text in (distribution.requires or []) if distribution is not None else []:
            row = _unmet(text)
            if row is not None and distribution is not None:
                name = str(distribution.metadata["Name"])
                rows.append({"what": "requirement", "name": name, "version": distribution.version, **row})
    return rows[:MAX_ROWS]


def _imported(traceback: Optional[TracebackType]) -> list[str]:
    """Installed packages whose own module was being run below the program's innermost line."""
    found: list[str] = []
    while traceback is not None:
        code = traceback.tb_frame.f_code
        match = _INSTALLED.search(code.co_filename) if code.co_name == "<module>" else None
        if is_user_code(code):
            found = []
        elif match is not None:
            found.append(match["package"])
        traceback = traceback.tb_next
    return list(dict.fromkeys(reversed(found)))


def _distribution(package: str) -> Any:
    try:
        return metadata.distribution(package)
    except metadata.PackageNotFoundError:
        pass
    for each in metadata.distributions():
        if package in (each.read_text("top_level.txt") or "").split():
            return each
    return None


def _unmet(text: str) -> Optional[dict[str, Any]]:
    match = _REQUIREMENT.match(text)
    if match is None or not match["specifier"].strip():
        return None
    try:
        installed = metadata.version(match["name"])
    except metadata.PackageNotFoundError:
        return None
    if type(installed) is not str:  # a folder that a broken installation left behind
        return None
    clauses = match["specifier"].split(",")
    if all(compare_version(installed, clause) is not False for clause in clauses):
        return None
    return {"needs": match["name"], "specifier": match["specifier"].strip(), "installed": installed}


def compare_version(version: str, clause: str) -> Optional[bool]:
    """Whether a version is one of those of a clause such as `>=2.1`; None where that is not sure."""
    own, wanted = _RELEASE.match(version), _CLAUSE.match(clause)
    other = _RELEASE.match(wanted["version"]) if wanted is not None else None
    if own is None or wanted is None or other is None:
        return None
    sign, numbers, bound = wanted["sign"], _numbers(own["release"]), _numbers(other["release"])
    numbers += [0] * (len(bound) - len(numbers))  # 1.12 is 1.12.0
    if wanted["any"] or sign == "~=":
        front = bound if wanted["any"] else bound[:-1]
        is_alike = numbers[: len(front)] == front
        return is_alike if sign == "==" else not is_alike if sign == "!=" else is_alike and numbers >= bound
    width = max(len(numbers), len(bound))
    left, right = ([*each, *[0] * (width - len(each))] for each in (numbers, bound))
    if left == right and "post" in version + clause:
        return None  # which of two releases of one number comes first
    order = {"==": left == right, "!=": left != right, "<=": left <= right, ">=": left >= right}
    return order.get(sign, left < right if sign == "<" else left > right)


def _numbers(release: str) -> list[int]:
    return [int(part) for part in release.split(".")]
