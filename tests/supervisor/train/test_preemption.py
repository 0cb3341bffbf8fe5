"""A machine that is taken away says so before: the run is saved, and ends so that it can go on elsewhere."""

from __future__ import annotations

import http.client
import socket
import time
from pathlib import Path

import pytest

from tests.supervisor.train.metadata_server import metadata_server
from tests.supervisor.train.test_training_run import a_run, lives, supervised, supervisor, wait_until, whole
from unstall.config.settings import Settings
from unstall.journal.events import PreemptionNoticed
from unstall.journal.run_folder import RunFolder
from unstall.sensors import cluster
from unstall.supervisor.run.program import RunOptions
from unstall.supervisor.train import setup
from unstall.supervisor.train.preemption import PreemptionListener
from unstall.supervisor.train.training_run import TrainingRun


@pytest.fixture(autouse=True)
def no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(cluster.METADATA_VARIABLE, raising=False)


def test_a_preempted_training_is_saved_ends_in_order_and_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    run = a_run({"step_s": 0.4})
    with metadata_server() as (machine, address):
        monkeypatch.setenv(cluster.METADATA_VARIABLE, address)
        process = supervisor(run)
        wait_until(lambda: any(run.path.glob("pulse-*")) and machine.hanging == 2)
        machine.set("preempted", "TRUE")
        _, said = process.communicate(timeout=240)
    assert process.returncode == 75, said
    assert "This machine is preempted" in said
    assert f"unstall train --resume {run.name}" in said
    assert setup.list_checkpoint_steps(run) != []
    event = whole(run).last(PreemptionNoticed)
    assert event is not None and event.what == "preempted"
    story = run.read_story()
    assert story is not None and story["state"] == "interrupted"
    monkeypatch.delenv(cluster.METADATA_VARIABLE)
    assert supervised(run)[0] == 0
    assert len(lives(run)) == 2


def test_maintenance_that_ends_the_machine_is_a_notice_and_a_move_to_another_host_is_none() -> None:
    with metadata_server() as (machine, address):
        listening = PreemptionListener(address)
        with listening.listen_for_notice():
            wait_until(lambda: machine.hanging == 2)
            machine.set("maintenance-event", "MIGRATE_ON_HOST_MAINTENANCE")
            wait_until(lambda: machine.hanging == 2)
            time.sleep(0.2)
            assert listening.received is None
            machine.set("maintenance-event", "TERMINATE_ON_HOST_MAINTENANCE")
            wait_until(lambda: listening.received is not None)
            assert listening.received is not None and listening.received.what == "maintenance-event"


def test_maintenance_that_was_known_before_the_start_does_not_end_the_run_again() -> None:
    with metadata_server() as (machine, address):
        machine.set("maintenance-event", "TERMINATE_ON_HOST_MAINTENANCE")
        listening = PreemptionListener(address)
        with listening.listen_for_notice():
            wait_until(lambda: machine.hanging == 2)
            assert listening.received is None


def test_where_there_is_no_such_server_nothing_is_looked_up_or_opened(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "product_name").write_text("Standard PC (Q35 + ICH9, 2009)\n")
    monkeypatch.setattr(cluster, "FIRMWARE", tmp_path / "product_name")

    def refused(*_: object, **__: object) -> None:
        raise AssertionError("a network was touched")

    monkeypatch.setattr(socket, "getaddrinfo", refused)
    monkeypatch.setattr(http.client.HTTPConnection, "connect", refused)
    run = a_run({})
    training_run = TrainingRun(run, run, RunOptions(), Settings(), [])
    with training_run.listen_for_preemption():
        assert cluster.find_metadata_server() == "" and training_run.notice is None


def test_a_machine_of_googles_is_known_by_its_firmware(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "product_name").write_text("Google Compute Engine\n")
    monkeypatch.setattr(cluster, "FIRMWARE", tmp_path / "product_name")
    assert cluster.find_metadata_server() == "169.254.169.254"  # no name, which would have to be looked up


def test_a_server_that_is_not_there_or_is_another_harms_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        monkeypatch.setenv(cluster.METADATA_VARIABLE, f"127.0.0.1:{taken.getsockname()[1]}")
        run: RunFolder = a_run({})
        assert supervised(run)[0] == 0
