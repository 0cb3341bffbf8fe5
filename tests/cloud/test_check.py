"""`unstall cloud check`: what a machine of Google's is, by a metadata server on loopback that answers as it is documented."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_cli import call
from tests.cloud.google import ACCOUNT, Google, google
from unstall.base.errors import InvalidInputError
from unstall.cloud import check


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> Iterator[Google]:
    """This machine is one of Google's."""
    with google() as standing_in:
        standing_in.surround(monkeypatch)
        yield standing_in


# --- the machine ---


def test_a_spot_machine_is_told_with_its_zone_account_and_quota(here: Google) -> None:
    found = check.check_machine(None)
    assert found["is_google"] and found["works"]
    machine = found["machine"]
    assert (machine["machine_type"], machine["zone"], machine["region"]) == ("g2-standard-4", "us-central1-a", "us-central1")
    assert machine["is_taken_away"] is True and machine["project"] == "project-1" and machine["missing"] == {}
    assert found["account"]["email"] == ACCOUNT
    assert found["quotas"]["counted_by"] == "PREEMPTIBLE_NVIDIA_L4_GPUS"
    assert found["quotas"]["seen"] == [{"metric": "PREEMPTIBLE_NVIDIA_L4_GPUS", "limit": 4.0, "used": 3.0, "left": 1.0}]
    assert here.asked == [("GET", "/compute/v1/projects/project-1/regions/us-central1", "a-token", None)]


def test_what_the_server_does_not_know_is_unknown_and_not_no(here: Google) -> None:
    del here.values["instance/scheduling/preemptible"]
    found = check.check_machine(None)
    assert found["machine"]["is_taken_away"] is None
    assert "has no instance/scheduling/preemptible (HTTP 404)" in found["machine"]["missing"]["preemptible"]


def test_quotas_that_may_not_be_seen_are_unknown_with_what_is_needed(here: Google) -> None:
    here.refuses = 403
    text = check.check_machine(None)["quotas"]
    assert text["seen"] == [] and "HTTP 403" in text["why_not"] and "compute.regions.get" in text["why_not"]


def test_a_machine_of_somebody_else_is_told_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("GCE_METADATA_HOST", raising=False)
    monkeypatch.setattr("unstall.sensors.cluster.FIRMWARE", tmp_path / "absent")
    found = check.check_machine(None)
    assert not found["is_google"] and "GCE_METADATA_HOST is not set" in found["why_not"] and found["works"]


def test_a_server_that_does_not_answer_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GCE_METADATA_HOST", "127.0.0.1:9")
    found = check.check_machine(None)
    assert not found["is_google"] and "127.0.0.1:9 does not answer: Connection refused" in found["why_not"]


@pytest.mark.parametrize(
    ("machine_type", "is_spot", "metric"),
    [
        ("g2-standard-4", False, "NVIDIA_L4_GPUS"),
        ("a2-ultragpu-1g", True, "PREEMPTIBLE_NVIDIA_A100_80GB_GPUS"),
        ("a2-highgpu-8g", False, "NVIDIA_A100_GPUS"),
        ("e2-standard-4", False, None),
    ],
)
def test_by_which_quota_a_machine_is_counted(machine_type: str, is_spot: bool, metric: str | None) -> None:
    assert check.name_quota_metric(machine_type, is_spot) == metric


def test_what_is_no_bucket_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="--bucket: expected gs://BUCKET"):
        check.try_access("/data")


# --- as a person meets it ---


def test_the_command_says_it_and_hides_the_token(here: Google) -> None:
    done = call("cloud", "check", **here.environment(), COLUMNS="160")
    assert done.returncode == 0, done.stderr
    assert "g2-standard-4 in us-central1-a, project project-1" in done.stdout
    assert "spot or preemptible: may be taken away at any time; at maintenance: TERMINATE" in done.stdout
    assert "PREEMPTIBLE_NVIDIA_L4_GPUS: 1 of 4 left, by which this machine is counted" in done.stdout
    result = call("cloud", "check", "--json", "-", **here.environment())
    assert json.loads(result.stdout)["machine"]["machine_type"] == "g2-standard-4"
    assert "a-token" not in done.stdout + done.stderr + result.stdout + result.stderr


def test_read_only_is_about_a_bucket() -> None:
    done = call("cloud", "check", "--read-only")
    assert done.returncode == 2 and "--read-only: expected together with --bucket" in done.stderr


# --- what is not as it should be ---


def test_a_server_that_can_not_be_one_is_said_with_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GCE_METADATA_HOST", "not a host")
    found = check.check_machine(None)
    assert not found["is_google"]
    assert found["why_not"] == "GCE_METADATA_HOST: expected HOST or HOST:PORT of a metadata server. Received: 'not a host'"


@pytest.mark.parametrize("odd", [7, [{"limit": 4}], [{"metric": "X", "limit": []}]])
def test_quotas_of_another_form_are_unknown(here: Google, odd: Any) -> None:
    here.quotas = odd
    text = check.check_machine(None)["quotas"]
    assert text["seen"] == [] and "not what was expected" in text["why_not"]


def test_whoever_signed_in_is_found_where_gcloud_is_told_to_keep_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS", raising=False)
    monkeypatch.setenv("CLOUDSDK_CONFIG", str(tmp_path / "mine"))
    assert check._keys() == []
    key = tmp_path / "mine" / "application_default_credentials.json"
    key.parent.mkdir()
    key.write_text("{}")
    assert check._keys() == [str(key)]


def test_a_variable_that_is_not_set_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOT_SET", raising=False)
    with pytest.raises(InvalidInputError, match="has the variable NOT_SET, which is not set"):
        check.try_access("gs://$NOT_SET/runs")
