"""Ray as an engine, also on a real cluster of two nodes. `python -m benchmarks.ray_cluster` takes workers and nodes from it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks import ray_cluster

from tests.cli.test_cli import call
from unstall.training.distributed import engines
from unstall.training.distributed.engines import ProcessEnv, ray


def test_what_ray_must_remember_lies_beside_the_run() -> None:
    assert ray.read_beside("gs://bucket/runs/first") == ("gs://bucket/runs", "first-ray")
    assert ray.read_beside("/shared/runs/first/") == ("/shared/runs", "first-ray")


def test_a_worker_of_ray_is_told_its_number_and_no_engine_is_asked() -> None:
    environ = ProcessEnv(1, 2, "10.0.0.7:8476").as_environment()
    assert engines.build_process_envs(environ, 2) == [ProcessEnv(1, 2, "10.0.0.7:8476")] == ray.build_process_envs(environ, 2)


def test_without_ray_its_command_is_said(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['ray'] = None\n", encoding="utf-8")
    paths = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    done = call("train", "--engine", "ray", "--out", str(tmp_path / "run"), "--num-workers", "2", PYTHONPATH=paths)
    assert done.returncode == 5 and "pip install 'unstall[ray]'" in done.stderr
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("options", [[], ["--out", "run", "--resume", "last"]])
def test_a_run_on_a_cluster_has_a_place_that_all_can_reach(options: list[str]) -> None:
    done = call("train", "--engine", "ray", *options)
    assert done.returncode == 2 and "--engine ray: expected together with --out" in done.stderr


def test_what_a_worker_of_ray_starts_is_our_command() -> None:
    command = [sys.executable, "-m", ray.__name__, "--list-models", "--json", "-"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=240)
    assert done.stdout == call("train", "--list-models", "--json", "-").stdout and "ssd_tiny" in done.stdout


@pytest.mark.jax
@pytest.mark.skipif(os.environ.get("UNSTALL_EVERY_BACKEND") != "1", reason="a minute of all cores: `make test-every` runs it")
@pytest.mark.timeout(ray_cluster.ENDS_WITHIN_S + 120)
def test_a_training_on_a_real_cluster_of_two_nodes_ends_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That it goes on when the cluster loses a node, a worker or a supervisor takes four starts of JAX more: see the benchmark."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with ray_cluster.cluster(2) as nodes:
        result = ray_cluster.measured(nodes, 2, "none", (*ray_cluster.SETTINGS, "--epochs", "2"))
    assert result["code"] == 0, result["said"]
    whole = 2 * (180 // 8)  # epochs of what is not kept for validation, by batches
    assert result["ended"] == {0: ("done", whole), 1: ("done", whole)}
    assert result["went_on_from"] == {0: [0], 1: [0]}
