"""`unstall cloud submit`: jobs made of the client libraries' own types, and sent by Google's own client to a stand-in on loopback."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner
from hypothesis import given as given_examples
from hypothesis import settings as trials
from hypothesis import strategies as st

from tests.cli.test_cli import as_json, call
from tests.cloud.google import Google, google
from unstall import cli
from unstall.base.errors import AccessDeniedError, InvalidInputError
from unstall.cloud import job, kubeflow, machines, vertex
from unstall.cloud.job import Job
from unstall.config import options
from unstall.config.options import add_setting_options, collect_explicit_settings

NEEDS = "needs pip install 'unstall[cloud]'"
WHERE = ["--project", "project-1", "--region", "us-central1", "--image", "registry/unstall:1", "--out", "gs://bucket/runs/first"]
WHAT = ["--data", "gs://bucket/coco", "--model", "ssd300_vgg16"]
L4 = machines.load_table().named("g2-standard-8")


def a_job(**changes: Any) -> Job:
    usual: dict[str, Any] = {
        "name": "first", "image": "registry/unstall:1", "arguments": ("--resume", "auto", "--out", "gs://bucket/runs/first"), "machine": L4,
        "out": "gs://bucket/runs/first", "workers": 1, "machines": 1, "project": "project-1", "region": "us-central1",
    }  # fmt: skip
    return Job(**{**usual, **changes})


@pytest.fixture(scope="module")
def standing_in() -> Iterator[Google]:
    """One for all: Google's library remembers the address of the metadata server for as long as the process lives."""
    with google() as made:
        yield made


@pytest.fixture
def here(standing_in: Google, monkeypatch: pytest.MonkeyPatch) -> Google:
    standing_in.asked, standing_in.refuses = [], 0
    standing_in.surround(monkeypatch)
    return standing_in


# --- settings as a command line ---


def read_again(words: list[str]) -> dict[str, Any]:
    """What the options of `unstall train` make of these words."""
    found: dict[str, Any] = {}

    @click.command()
    @add_setting_options
    def command(config: str | None, **settings: Any) -> None:
        found.update(collect_explicit_settings(settings))

    command.main(words, standalone_mode=False)
    return found


@trials(max_examples=60, deadline=None)
@given_examples(
    st.fixed_dictionaries(
        {},
        optional={
            "learning_rate": st.floats(0, 100), "batch_size": st.integers(1, 65_536), "tensorboard": st.booleans(), "remat": st.booleans(),
            "data": st.just("gs://bucket/a b/coco"), "augmentations": st.lists(st.sampled_from(["horizontal_flip", "mosaic"]), min_size=1).map(tuple),
            "exclude_examples": st.lists(st.integers(0, 99), min_size=1).map(tuple), "precision": st.just("bfloat16"),
            "detector": st.fixed_dictionaries({"image_size": st.just([640, 960])}, optional={"score_threshold": st.floats(0, 1)}),
        },
    )
)  # fmt: skip
def test_settings_are_read_again_as_they_were(values: dict[str, Any]) -> None:
    assert read_again(options.format_arguments(values)) == values


@pytest.mark.parametrize("name", ["data", "weights", "label_map", "val_data"])
def test_what_lies_on_this_machine_is_refused_with_how_to_copy_it(name: str) -> None:
    with pytest.raises(
        InvalidInputError,
        match=f"--{name.replace(chr(95), chr(45))}: expected a place in a bucket.* gcloud storage cp --recursive '/home/me/coco'",
    ):
        options.refuse_local_paths({name: "/home/me/coco"})
    options.refuse_local_paths({name: "gs://bucket/coco", "cache_dir": "/scratch"})


# --- what a job needs ---


def test_all_that_is_missing_is_named_at_once() -> None:
    done = call("cloud", "submit", GCE_METADATA_HOST="", GOOGLE_CLOUD_PROJECT="", CLOUDSDK_CORE_PROJECT="", UNSTALL_IMAGE="")
    assert done.returncode == 2
    assert all(f"--{name} (" in done.stderr for name in ("project", "region", "image", "machine", "out"))
    assert "GOOGLE_CLOUD_PROJECT" in done.stderr and "service" not in done.stderr  # which the engine has one of its own of


def test_an_option_wins_over_the_file_and_the_file_over_the_surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_REGION"):
        monkeypatch.setenv(name, "of-the-surroundings")
    options = {"project": "of-the-option", "image": "i", "machine": "m", "out": "o"}
    found = job.resolve_values("vertex", options, {"project": "of-the-file", "region": "of-the-file"})
    assert (found["project"], found["region"]) == ("of-the-option", "of-the-file")
    assert job.resolve_values("vertex", options, {})["region"] == "of-the-surroundings"


def test_on_a_machine_of_googles_project_and_region_are_its_own(here: Google, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in job.VARIABLES["project"] + job.VARIABLES["region"]:
        monkeypatch.delenv(name, raising=False)
    found = job.resolve_values("vertex", {"image": "i", "machine": "m", "out": "o"}, {})
    assert (found["project"], found["region"]) == ("project-1", "us-central1")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--machine", "g2-standard-8", "--data", "/data/coco"], "--data: expected a place in a bucket"),
        (["--machine", "z9-huge"], "the table of machines does not know 'z9-huge'. Say its accelerators"),
        (["--machine", "g2-standard-8", "--region", "Iowa"], "--region: expected a region, as in us-central1. Received: 'Iowa'"),
        (["--machine", "g2-standard-8", "--out", "/tmp/run"], "--out: expected gs://BUCKET/FOLDER"),
        (["--machine", "g2-standard-8", "--out", "gs://bucket"], "--out: expected a folder in the bucket"),
        (["--machine", "g2-standard-8", "--name", "My Job"], "expected small letters"),
        (["--machine", "g2-standard-8", "--write", "request.txt"], "--write: expected a name that ends with .yaml or .json"),
        (
            ["--machine", "g2-standard-8", "--num-workers", "2", "--batch-size", "8", "--backend", "torch"],
            "backend: expected jax for 2 workers",
        ),
    ],
)
def test_mistakes_are_refused_before_anything_is_loaded_or_sent(options: list[str], said: str) -> None:
    done = call("cloud", "submit", "--dry-run", *WHERE, *options)
    assert done.returncode == 2 and said in done.stderr


def test_workers_that_machines_cannot_share_evenly_are_refused() -> None:
    assert job.list_machines_for(16, 8) == 2 and job.list_machines_for(3, 0) == 3
    with pytest.raises(
        InvalidInputError, match=r"workers: 9 cannot be shared evenly by machines of 8 cards. Expected one of 1, 2, .* 10"
    ):
        job.list_machines_for(9, 8)


def test_the_table_of_the_cloud_is_no_setting_of_a_training(tmp_path: Path) -> None:
    path = tmp_path / "unstall.toml"
    path.write_text('epochs = 3\n[cloud]\nproject = "project-1"\n', encoding="utf-8")
    assert as_json("train", "--config", str(path), "--show-settings")["settings"]["epochs"] == 3
    path.write_text('[cloud]\nprojekt = "project-1"\n', encoding="utf-8")
    done = call("cloud", "submit", "--config", str(path))
    assert done.returncode == 2 and f"{path}:1: [cloud]: there is no 'projekt'" in done.stderr


# --- Vertex AI, by the types of its own client library ---


def test_a_custom_job_is_what_the_library_reads_back() -> None:
    types = pytest.importorskip("google.cloud.aiplatform_v1.types", reason=NEEDS)
    from google.protobuf import json_format

    made = vertex.build_custom_job(
        a_job(workers=4, machines=4, is_spot=True, hours=2.5, service_account="me@project-1", disk_gb=200)
    )
    plain = vertex.as_plain(made)
    read = types.CustomJob.pb(types.CustomJob())
    json_format.ParseDict(json.loads(json.dumps(plain)), read)  # refuses a name that it does not know
    assert read == types.CustomJob.pb(made)
    first, others = plain["jobSpec"]["workerPoolSpecs"]
    assert (first["replicaCount"], others["replicaCount"]) == ("1", "3")
    assert first["machineSpec"] == {"machineType": "g2-standard-8", "acceleratorType": "NVIDIA_L4", "acceleratorCount": 1}
    assert first["diskSpec"] == {"bootDiskType": "pd-ssd", "bootDiskSizeGb": 200}
    assert first["containerSpec"]["command"] == ["unstall", "train"] and "env" not in first["containerSpec"]
    assert plain["jobSpec"]["scheduling"] == {"timeout": "9000s", "restartJobOnWorkerRestart": True, "strategy": "SPOT"}
    assert plain["jobSpec"]["baseOutputDirectory"] == {"outputUriPrefix": "gs://bucket/runs/first"}
    assert plain["jobSpec"]["serviceAccount"] == "me@project-1"


def test_one_machine_without_a_card_has_no_second_pool_and_no_accelerator() -> None:
    pytest.importorskip("google.cloud.aiplatform_v1", reason=NEEDS)
    plain = vertex.as_plain(vertex.build_custom_job(a_job(machine=machines.load_table().named("e2-standard-4"))))
    (only,) = plain["jobSpec"]["workerPoolSpecs"]
    assert only["machineSpec"] == {"machineType": "e2-standard-4"}
    assert plain["jobSpec"]["scheduling"] == {"strategy": "STANDARD"}


def test_machines_of_several_cards_are_told_how_many_workers_they_have() -> None:
    pytest.importorskip("google.cloud.aiplatform_v1", reason=NEEDS)
    plain = vertex.as_plain(
        vertex.build_custom_job(a_job(machine=machines.load_table().named("a2-highgpu-8g"), workers=16, machines=2))
    )
    container = plain["jobSpec"]["workerPoolSpecs"][1]["containerSpec"]
    assert container["env"] == [{"name": "UNSTALL_WORKERS_EACH", "value": "8"}]


def test_an_accelerator_that_vertex_does_not_have_is_refused() -> None:
    pytest.importorskip("google.cloud.aiplatform_v1", reason=NEEDS)
    with pytest.raises(InvalidInputError, match=r"--accelerator: expected one of .*NVIDIA_L4.* Received: 'NVIDIA_L5'"):
        vertex.build_custom_job(a_job(machine=job.choose_machine("z9", machines.load_table(), "NVIDIA_L5", 1)))


def test_the_job_reaches_the_service_by_googles_own_client(here: Google, tmp_path: Path) -> None:
    pytest.importorskip("google.cloud.aiplatform_v1", reason=NEEDS)
    result, kept = tmp_path / "told.json", tmp_path / "request.yaml"
    options = ["--machine", "g2-standard-8", "--spot", "--endpoint", f"http://{here.address}", "--write", str(kept)]
    done = call("cloud", "submit", *WHERE, *WHAT, *options, "--json", str(result), **here.environment(), COLUMNS="200")
    assert done.returncode == 0, done.stderr
    ((method, path, bearer, body),) = here.asked
    assert (method, path, bearer) == ("POST", "/v1/projects/project-1/locations/us-central1/customJobs", "a-token")
    plain = json.loads(result.read_text())
    assert body["jobSpec"]["workerPoolSpecs"][0]["containerSpec"]["args"][:4] == [
        "--resume",
        "auto",
        "--out",
        "gs://bucket/runs/first",
    ]
    assert plain["is_sent"] and plain["job"].endswith("/customJobs/4711") and plain["state"] == "JOB_STATE_PENDING"
    assert "gcloud ai custom-jobs stream-logs 4711 --project project-1 --region us-central1" in done.stdout
    import yaml

    assert yaml.safe_load(kept.read_text()) == plain["request"] and "a-token" not in done.stdout + result.read_text()


def test_a_dry_run_sends_nothing(here: Google) -> None:
    pytest.importorskip("google.cloud.aiplatform_v1", reason=NEEDS)
    words = ["cloud", "submit", *WHERE, *WHAT, "--machine", "g2-standard-8", "--dry-run", "--endpoint", f"http://{here.address}"]
    done = CliRunner().invoke(cli.group, words)  # in this process, which has loaded the library already: that takes seconds
    assert done.exit_code == 0 and here.asked == []
    assert "machineType: g2-standard-8" in done.output and "nothing was sent (--dry-run)" in done.output


@pytest.mark.parametrize(
    ("status", "error", "said"),
    [(403, AccessDeniedError, "Vertex AI refuses"), (404, InvalidInputError, "does not take the job")],
)
def test_what_the_service_refuses_is_told_as_what_it_is(here: Google, status: int, error: type[Exception], said: str) -> None:
    pytest.importorskip("google.cloud.aiplatform_v1", reason=NEEDS)
    here.refuses = status
    with pytest.raises(error, match=said):
        vertex.send_job(a_job(), vertex.build_custom_job(a_job()), f"http://{here.address}")
    assert len(here.asked) == 1  # a job is not sent twice


def test_a_service_that_is_not_there_is_named(here: Google) -> None:
    pytest.importorskip("google.cloud.aiplatform_v1", reason=NEEDS)
    with pytest.raises(vertex.NotSent, match=re.escape("http://127.0.0.1:9")):
        vertex.send_job(a_job(), vertex.build_custom_job(a_job()), "http://127.0.0.1:9")


def test_without_the_client_library_its_command_is_said(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['google.cloud.aiplatform_v1'] = None\n", encoding="utf-8")
    import os

    paths = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    done = call("cloud", "submit", "--dry-run", *WHERE, *WHAT, "--machine", "g2-standard-8", PYTHONPATH=paths)
    assert done.returncode == 5 and "Install: pip install 'unstall[cloud" in done.stderr


# --- Kubeflow, by the models of its own client ---


def test_a_train_job_is_what_kubeflows_models_read_back() -> None:
    api = pytest.importorskip("kubeflow_trainer_api.models", reason="needs pip install 'unstall[cloud-test]'")
    plain = kubeflow.train_job(a_job(workers=4, machines=2, is_spot=True, hours=1, service_account="trainer"), "team", cards=2)
    read = api.TrainerV1alpha1TrainJob.from_dict(json.loads(json.dumps(plain)))
    assert read is not None and read.to_dict() == plain  # a field that it does not know would be lost
    trainer = plain["spec"]["trainer"]
    assert (trainer["numNodes"], trainer["command"]) == (2, ["unstall", "train"])
    assert trainer["resourcesPerNode"]["limits"] == {"nvidia.com/gpu": "2"}
    assert trainer["env"] == [{"name": "UNSTALL_WORKERS_EACH", "value": "2"}]


def test_kubeflow_needs_no_project_and_the_file_is_for_kubectl(tmp_path: Path) -> None:
    import yaml

    kept = tmp_path / "job.yaml"
    options = ["--engine", "kubeflow", "--image", "registry/unstall:1", "--out", "gs://bucket/runs/first", "--write", str(kept)]
    done = call("cloud", "submit", *options, *WHAT, "--num-workers", "2", "--batch-size", "8")
    assert done.returncode == 0 and f"kubectl apply -f {kept}" in done.stdout
    assert yaml.safe_load(kept.read_text())["spec"]["trainer"]["numNodes"] == 2


# --- wishes that do not fit ---


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"name": "First_Run"}, r"--name \(without it, the last part of --out\): expected small letters.* Received: 'First_Run'"),
        ({"out": "s3://bucket/runs/first"}, "--out: expected gs://BUCKET/FOLDER, .* Received: 's3://bucket/runs/first'"),
    ],
)
def test_a_job_of_vertex_that_could_not_run_is_refused(changed: dict[str, str], said: str) -> None:
    usual = {"name": "first", "region": "us-central1", "out": "gs://bucket/runs/first"}
    job.refuse_unfit("vertex", usual)
    with pytest.raises(InvalidInputError, match=said):
        job.refuse_unfit("vertex", {**usual, **changed})


def test_a_pod_may_have_its_run_in_another_bucket() -> None:
    job.refuse_unfit("kubeflow", {"name": "first", "region": "", "out": "s3://bucket/runs/first"})


def test_a_known_machine_may_be_asked_for_with_another_card() -> None:
    found = job.choose_machine("g2-standard-8", machines.load_table(), "NVIDIA_TESLA_T4", None)
    assert (found.cards, found.accelerator) == (1, "NVIDIA_TESLA_T4")
