"""address_wrong: under the address that a worker was given there is nobody, or the wrong one."""

from __future__ import annotations

from tests.diagnosis.builders import T0, journal, stuck, three
from tests.diagnosis.workers.builders import JOINS, joins, machine, member, rank_seen, run_group, trains
from unstall.diagnosis.causes import address_wrong
from unstall.diagnosis.findings import diagnose_workers
from unstall.diagnosis.verdict import Certainty, Clear, Found, Unknown
from unstall.diagnosis.workers.members import Member
from unstall.journal.events import ClusterSeen, Event, MachineSeen


def worker(number: int, coordinator: str, *events: Event, seconds: float = 70, on: MachineSeen | None = None) -> Member:
    result = joins(seconds)
    result.extend(events)
    return member(number, result, coordinator=coordinator, on=on)


def listens(*at: str) -> ClusterSeen:
    return ClusterSeen(at=T0 + 111, pid=1, listens=list(at))


def test_found_for_localhost_on_several_machines() -> None:
    verdict = address_wrong.examine_workers(run_group(worker(0, "localhost:1234"), worker(1, "localhost:1234")))
    assert isinstance(verdict, Found)
    assert "the address is localhost:1234, and the workers are on 2 machines (host-0, host-1)" in verdict.summary


def test_found_for_localhost_in_several_containers_of_one_machine() -> None:
    here, there = (machine(hostname=name, boot_id="boot") for name in ("pod-0", "pod-1"))
    pair = run_group(worker(0, "localhost:1234", listens("[::]:1234"), on=here), worker(1, "localhost:1234", on=there))
    verdict = address_wrong.examine_workers(pair)
    assert isinstance(verdict, Found) and "2 machines (pod-0, pod-1)" in verdict.summary


def test_found_for_coordinators_that_differ() -> None:
    verdict = address_wrong.examine_workers(run_group(worker(0, "10.0.0.1:1234"), worker(1, "10.0.0.1:1235")))
    assert isinstance(verdict, Found)
    assert "worker 0 10.0.0.1:1234, worker 1 10.0.0.1:1235" in verdict.summary
    assert verdict.details["workers"] == [1]


def test_found_for_a_port_at_which_nobody_listens() -> None:
    first = worker(0, "10.0.0.1:1234", listens("0.0.0.0:9999"))
    verdict = address_wrong.examine_workers(run_group(first, worker(1, "10.0.0.1:1234")))
    assert isinstance(verdict, Found)
    assert (
        "10.0.0.1:1234 leads to no port at which that worker listens: worker 0 listens at 0.0.0.0:9999, and not at port 1234"
        in verdict.summary
    )


def test_likely_for_an_address_of_another_machine() -> None:
    verdict = address_wrong.examine_workers(run_group(worker(0, "10.0.0.7:1234"), worker(1, "10.0.0.7:1234")))
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.LIKELY
    assert "10.0.0.7:1234, where the others look for worker 0, is no address of its machine" in verdict.summary


def test_found_for_a_list_whose_second_address_is_of_nobody() -> None:
    places = ["10.0.0.1:1", "10.0.0.9:1"]
    pair = [Member(f"run-{number}", joins(), rank_seen(number, 2, "", addresses=places)) for number in (0, 1)]
    for number, each in enumerate(pair):
        each.journal.extend([machine(number), listens("[::]:1")])
    verdict = address_wrong.examine_workers(run_group(*pair))
    assert isinstance(verdict, Found)
    assert verdict.details["workers"] == [1]


def test_it_explains_why_a_worker_seems_missing() -> None:
    root = diagnose_workers(run_group(worker(0, "localhost:1234"), worker(1, "localhost:1234"))).root
    assert root is not None
    assert (root.cause, root.followed_by) == ("address_wrong", ("worker_missing",))


def test_found_in_one_list_alone() -> None:
    twice = rank_seen(0, 3, "", addresses=["10.0.0.1:1", "10.0.0.2:1", "10.0.0.1:1"])
    verdict = address_wrong.examine(journal(twice))
    assert isinstance(verdict, Found)
    assert "the list of workers has 10.0.0.1:1 2 times" in verdict.summary
    mixed = rank_seen(1, 2, "", addresses=["localhost:1", "10.0.0.2:1"])
    output = stuck(*three(JOINS), phase="", step=-1, now=170)
    output.extend([mixed])
    assert isinstance(address_wrong.examine(output), Found)


def test_clear_for_both_names_of_one_machine_while_nobody_waits() -> None:
    mixed = rank_seen(1, 2, "", addresses=["localhost:1", "10.0.0.2:1"])
    assert isinstance(address_wrong.examine(journal(mixed)), Clear)


def test_clear_for_localhost_on_one_machine() -> None:
    one = machine(hostname="one", boot_id="boot")
    pair = run_group(worker(0, "localhost:1234", listens("[::]:1234"), on=one), worker(1, "localhost:1234", on=one))
    assert isinstance(address_wrong.examine_workers(pair), Clear)


def test_clear_while_they_train_or_have_just_begun_to_wait() -> None:
    trained = run_group(member(0, trains(), coordinator="localhost:1"), member(1, trains(), coordinator="localhost:1"))
    assert isinstance(address_wrong.examine_workers(trained), Clear)
    soon = run_group(worker(0, "localhost:1", seconds=13), worker(1, "localhost:1", seconds=13))
    assert isinstance(address_wrong.examine_workers(soon), Clear)


def test_clear_for_a_name_which_only_the_others_may_know() -> None:
    named = run_group(worker(0, "trainer-0.svc:1234", listens("0.0.0.0:1234")), worker(1, "trainer-0.svc:1234"))
    assert isinstance(address_wrong.examine_workers(named), Clear)


def test_unknown_without_any_address() -> None:
    assert isinstance(address_wrong.examine_workers(run_group(worker(0, ""), worker(1, ""))), Unknown)
    assert isinstance(address_wrong.examine(journal(rank_seen(0, 2, ""))), Unknown)
    assert isinstance(address_wrong.examine(journal(machine(0))), Clear)
