"""Every exception of Unstall, drawn as a tree; each carries the exit code of the command that ends with it.

UnstallError            1
├── InvalidInputError          2   a mistake in what was typed or in a file: what was expected and what came
│   └── RunNotFoundError       2   no run of this name or path
├── ProcessNotFoundError     3   the process to look at does not exist, or is no process of ours to see
├── AccessDeniedError        4   the system refuses; says which permission is missing and how to give it
├── MissingDependencyError        5   an optional package is missing; says the command that installs it
└── BucketError        6   a bucket cannot be reached, read or written; says which, what of it, and why
    └── BucketNotFoundError    6   there is none of this name

`attach` and `diagnose` end with their answer:

nothing is wrong in what could be seen   0
VERDICT_FOUND                           10   what is wrong was found
CANNOT_TELL                             11   too little could be seen, or no cause was found for what is wrong
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import TypeVar

T = TypeVar("T")
VERDICT_FOUND = 10
CANNOT_TELL = 11


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


# How a worker ends: the exit codes by which the supervisor knows what has happened.
#
# A user's mistake ends with the exit code of its error and one line; anything else as the process died.


class ExitCode(IntEnum):
    DONE = 0
    INTERRUPTED = 75  # SIGTERM or SIGINT: a checkpoint was written, and everything is in order
    OUT_OF_MEMORY = 76  # of the device, or of the host as Python noticed it
    NOT_FINITE = 77  # losses or gradients again and again: updates were skipped, the weights are good
    DIVERGED = 78  # the loss rose for good: the newest weights are not to be trusted
    OTHERS_LOST = 79  # of several workers another is gone, or did not come: this one is well
    ADDRESS_TAKEN = 80  # the port at which workers meet belongs to somebody else
    NOT_KEPT = 81  # trained to its end, but a disk did not take the weights or what else is left

    @property
    def title(self) -> str:
        """As events and people say it."""
        return self.name.lower().replace("_", " ")


DONE, INTERRUPTED, OUT_OF_MEMORY, NOT_FINITE, DIVERGED, OTHERS_LOST, ADDRESS_TAKEN, NOT_KEPT = ExitCode
