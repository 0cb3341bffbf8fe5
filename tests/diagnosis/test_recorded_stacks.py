"""The frames of frameworks are known by their role in every version: stacks that were recorded on each."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.versions.programs_index import FOLDER, load
from tests.versions.recorded_stacks import FOLDER as STACKS
from tests.versions.recorded_stacks import PROGRAM
from tests.versions.recorded_stacks import load as recorded
from tests.versions.stacks import BY_NAME
from unstall.diagnosis.causes.callback_blocked import find_callback_frames
from unstall.diagnosis.causes.generator_blocked import find_input_frames
from unstall.diagnosis.causes.thread_pool_exhausted import is_nested_call
from unstall.diagnosis.frame_roles import Role, has_role
from unstall.journal.events import ThreadStack
from unstall.journal.stack_frames import is_user_file, select_user_frames

RECORDED = sorted(STACKS.glob("*.json"))
each_stack = pytest.mark.parametrize("path", RECORDED, ids=[path.stem for path in RECORDED])


def lines_of(stack: str, program: str) -> tuple[int, ...]:
    return load(FOLDER / BY_NAME[stack].framework / f"{program}.py").where


def threads_of(path: Path, program: str) -> list[ThreadStack]:
    threads = recorded(path).get(program)
    if threads is None:
        pytest.skip(f"not recorded on {path.stem}")
    return threads


def test_stacks_of_old_and_new_versions_are_recorded() -> None:
    assert {"tensorflow-2.4", "tensorflow-2.12"} <= {path.stem for path in RECORDED}


@each_stack
def test_the_frames_of_the_framework_are_not_the_users(path: Path) -> None:
    for threads in recorded(path).values():
        for thread in threads:
            assert {frame["file"] for frame in thread["frames"] if is_user_file(frame["file"])} == {PROGRAM}


@each_stack
@pytest.mark.parametrize("program", ["generator_blocked_fit", "generator_blocked_loop", "generator_blocked_loader"])
def test_what_calls_the_input(program: str, path: Path) -> None:
    called = [frames for thread in threads_of(path, program) if (frames := find_input_frames(thread))]
    assert [frames[0]["line"] for frames in called] == list(lines_of(path.stem, program))


@each_stack
def test_what_calls_callbacks(path: Path) -> None:
    if BY_NAME[path.stem].framework != "tensorflow":
        pytest.skip("no callbacks")
    called = [frames for thread in threads_of(path, "lock_deadlock") if (frames := find_callback_frames(thread))]
    assert [frames[0]["line"] for frames in called] == list(lines_of(path.stem, "lock_deadlock"))


@each_stack
def test_what_runs_a_function_inside_a_graph(path: Path) -> None:
    nested = [thread for thread in threads_of(path, "thread_pool_exhausted") if is_nested_call(thread)]
    lines = {select_user_frames(thread)[0]["line"] for thread in nested}
    assert lines and lines <= set(lines_of(path.stem, "thread_pool_exhausted"))


@each_stack
def test_what_executes_a_graph(path: Path) -> None:
    (main,) = [thread for thread in threads_of(path, "reader_blocked") if thread["name"] == "MainThread"]
    assert has_role(main["frames"][0], Role.EXECUTES)
    assert [frame["line"] for frame in select_user_frames(main)] == list(lines_of(path.stem, "reader_blocked"))
