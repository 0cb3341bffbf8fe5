"""Runs are put together by cluster, time and number; what does not belong together is told apart, with the reason."""

from __future__ import annotations

import pytest

from tests.diagnosis.builders import T0, journal, steps
from tests.diagnosis.workers.builders import member, trains
from unstall.diagnosis.workers.members import Member, find_program, group_members
from unstall.journal.events import RunStarted


def began(at: float, until: float, command: str = "python train.py") -> list[object]:
    return [RunStarted(at=T0 + at, command=command.split(), mode="run"), steps(0, 9, at=until)]


def later(worker: int, at: float, **more: object) -> Member:
    return member(worker, journal(*began(at, at + 100)), **more)  # type: ignore[arg-type]


def test_workers_with_one_coordinator_are_one_group_in_the_order_of_their_numbers() -> None:
    found = group_members([member(1), member(0)])
    assert [each.worker for each in found.run_groups[0].members] == [0, 1]
    assert not found.ungrouped


def test_a_run_that_tells_of_no_others_is_apart() -> None:
    alone = Member("alone", trains())
    found = group_members([member(0), member(1), alone])
    assert [(each.member.run, each.why) for each in found.ungrouped] == [("alone", "it tells of no other workers")]


def test_a_run_of_another_cluster_is_apart_and_says_which() -> None:
    other = later(1, 0, of=4, coordinator="10.9.9.9:5555")
    found = group_members([member(0), member(1), other])
    assert "worker 1 of 4 at 10.9.9.9:5555" in found.ungrouped[0].why


def test_the_same_address_hours_later_is_another_training() -> None:
    found = group_members([later(0, 0), later(1, 1), later(0, 9000), later(1, 9001)])
    assert [len(run_group.members) for run_group in found.run_groups] == [2, 2]
    assert found.run_groups[0].members[1].began_at < found.run_groups[1].members[0].began_at - 8000


def test_two_trainings_at_one_time_are_two_groups() -> None:
    pairs = [later(0, 0), later(1, 0), later(0, 5, coordinator="10.0.0.1:9999"), later(1, 5, coordinator="10.0.0.1:9999")]
    assert [len(run_group.members) for run_group in group_members(pairs).run_groups] == [2, 2]


def test_a_worker_that_was_given_another_port_still_belongs_to_them() -> None:
    found = group_members([later(0, 0), later(1, 2, coordinator="10.0.0.1:4321")])
    assert [each.worker for each in found.run_groups[0].members] == [0, 1]


def test_a_worker_of_another_program_does_not() -> None:
    other = member(1, journal(*began(0, 50, "python other.py")), coordinator="10.0.0.1:4321")  # type: ignore[arg-type]
    assert not group_members([later(0, 0), other]).run_groups


@pytest.mark.parametrize(
    ("command", "program"),
    [
        ("python /a/train.py --rank 1", "train.py"),
        ("python -m project.train --rank 1", "project.train"),
        ("/opt/bin/trainer --rank 1", "trainer"),
    ],
)
def test_a_program_is_known_by_its_name_whatever_its_worker_is_told(command: str, program: str) -> None:
    assert find_program(member(0, journal(*began(0, 9, command)))) == program  # type: ignore[arg-type]


def test_who_is_missing_is_known_by_the_numbers() -> None:
    found = group_members([member(0, of=4), member(2, of=4)])
    assert found.run_groups[0].not_read == (1, 3)
