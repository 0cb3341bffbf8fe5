"""The supervisor, which loads no framework, knows by its exit code how a worker ended."""

from __future__ import annotations

from unstall.base import errors
from unstall.base.exit_codes import ExitCode


def test_no_ending_is_the_exit_code_of_an_error() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.UnstallError)]
    assert len(kinds) > 1
    assert not {kind.exit_code for kind in kinds} & {int(exit_code) for exit_code in ExitCode}


def test_an_ending_has_a_title_for_people() -> None:
    assert [exit_code.title for exit_code in ExitCode] == [
        "done", "interrupted", "out of memory", "not finite", "diverged", "others lost", "address taken",
        "not kept",
    ]  # fmt: skip
