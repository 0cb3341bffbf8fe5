"""Every exception of Unstall, drawn as a tree; each carries the exit code of the command that ends with it.

UnstallError            1
├── InvalidInputError          2   a mistake in what was typed or in a file: what was expected and what came
│   └── RunNotFoundError       2   no run of this name or path
├── ProcessNotFoundError     3   the process to look at does not exist, or is no process of ours to see
├── AccessDeniedError        4   the system refuses; says which permission is missing and how to give it
├── MissingDependencyError        5   an optional package is missing; says the command that installs it
└── BucketError        6   a bucket cannot be reached, read or written; says which, what of it, and why
    └── BucketNotFoundError    6   there is none of this name

Exit codes of other kinds are in `exit_codes.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")


class UnstallError(Exception):
    exit_code = 1


class InvalidInputError(UnstallError):
    exit_code = 2


class RunNotFoundError(InvalidInputError):
    pass


class ProcessNotFoundError(UnstallError):
    exit_code = 3


class AccessDeniedError(UnstallError):
    exit_code = 4


class MissingDependencyError(UnstallError):
    exit_code = 5


class BucketError(UnstallError):
    """No OSError: that a bucket cannot be reached is no defect of one of its files, and must not be taken for one."""

    exit_code = 6


class BucketNotFoundError(BucketError):
    pass


def attempt(make: Callable[[], T], failed: Callable[[Exception], T]) -> T:
    """What it makes, or what is told of its failure: an event, a verdict, a reason. Never nothing.

    The one place where anything may fail and something else must go on; inside the program there is `Shield` beside it, which is
    called at every step.
    """
    try:
        return make()
    except Exception as error:  # whatever it is, it is told
        return failed(error)


# Packages that are optional, and the command that installs one that is missing.


@contextmanager
def name_missing_packages(command: str, extras: str) -> Iterator[None]:
    """A package that is not installed is named, with the command that installs it."""
    try:
        yield
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if not missing or missing.partition(".")[0] == "unstall":
            raise  # a fault of ours, not a package that is not installed
        raise MissingDependencyError(
            f"`{command}` needs the package '{missing}'. Install: pip install 'unstall[{extras}]'"
        ) from None
