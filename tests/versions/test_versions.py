"""The short form of `make test-versions`: two versions of TensorFlow, where their interpreters and packages are to be had."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.versions import programs_index, stacks, trial

SHORT = ("tensorflow-2.4", "tensorflow-2.12")
pytestmark = pytest.mark.tensorflow


@pytest.fixture(scope="module", params=SHORT)
def stack(request: pytest.FixtureRequest) -> tuple[str, Path]:
    name: str = request.param
    try:
        return name, stacks.ensure(stacks.BY_NAME[name])
    except stacks.NotInstalled as error:
        pytest.skip(f"{name} is not installed: {error}")


def program(name: str) -> programs_index.Program:
    return programs_index.load(programs_index.FOLDER / f"tensorflow/{name}.py")


@pytest.mark.parametrize("name", ["generator_blocked_fit", "nan_batch_fit", "function_retracing", "healthy_mirrored"])
def test_what_is_said_of_a_run_is_true(name: str, stack: tuple[str, Path]) -> None:
    row = trial.run(*stack, program(name))
    assert row.is_passed, row


def test_what_is_said_of_a_process_that_is_attached_to_is_true(stack: tuple[str, Path]) -> None:
    row = trial.attach(*stack, program("thread_pool_exhausted"))
    assert row.is_passed, row


def test_every_program_of_every_framework_can_be_read() -> None:
    frameworks = {stack.framework for stack in stacks.STACKS}
    for framework in frameworks:
        found = programs_index.programs(framework)
        assert any(each.is_healthy for each in found) and any(each.hangs for each in found), framework
    assert {path.name for path in programs_index.FOLDER.iterdir()} == frameworks
