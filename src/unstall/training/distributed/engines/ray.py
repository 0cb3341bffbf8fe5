"""Workers on the nodes of a Ray cluster: `unstall train --engine ray --num-workers N --out PLACE` has Ray Train start them.

Ray finds room for N workers, each with a card where the cluster has cards. Each of its workers runs `unstall train --resume
auto`, told its number by UNSTALL_WORKER: so on every node our supervisor stands beside the worker, names what goes wrong and
starts it again. A node that is lost is Ray's to notice: it starts all workers anew, elsewhere, and the run goes on from its
checkpoint. PLACE must be in reach of every node, a shared folder or a bucket, and Unstall installed there.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from unstall.base.errors import InvalidInputError, MissingDependencyError, UnstallError
from unstall.training.distributed import engines
from unstall.training.distributed.engines import ProcessEnv

HINT = "UNSTALL_WORKER, which `unstall train --engine ray` gives each of its workers"
VARIABLES = ()  # who runs under Ray was told its number, and no engine is asked
PR_SET_PDEATHSIG = 1
MAX_RESTARTS = 20  # of all workers; each costs a meeting and a compilation, and a cluster may be taken away often


class RayFailed(UnstallError):
    """Ray could not run the workers to their end."""


def build_process_envs(environ: Mapping[str, str], workers: int) -> list[ProcessEnv]:
    return [engines.read_own_process_env(environ)]


def start(options: Mapping[str, Any], config: str | None, out: str | None, resume: str | None) -> dict[str, Any]:
    """`unstall train --engine ray`, until all workers have ended well. Each runs the same command again, as one of several:
    here it is only put together."""
    from unstall.config.options import collect_requested, format_arguments
    from unstall.config.sources import resolve
    from unstall.journal.run_folder import name_folder
    from unstall.storage import is_bucket

    if out is None or resume is not None:
        raise InvalidInputError(
            "--engine ray: expected together with --out, a place that every node can reach, and without --resume."
        )
    resolved = resolve(options, config)
    place = out if is_bucket(out) else str(name_folder(out).absolute())
    train(["--no-config", *format_arguments(collect_requested(resolved))], resolved.settings.num_workers, place)
    return {"engine": "ray", "num_workers": resolved.settings.num_workers, "out": place}


def train(arguments: Sequence[str], workers: int, out: str, address: str | None = None, max_restarts: int = MAX_RESTARTS) -> None:
    """Runs `unstall train --resume auto --out OUT …` on so many workers of a Ray cluster, until all have ended well.

    `address` is the cluster's; without it RAY_ADDRESS, or the cluster that this machine is a node of.
    """
    try:
        import ray
        from ray.train import FailureConfig, RunConfig, ScalingConfig
        from ray.train.v2.api.data_parallel_trainer import DataParallelTrainer
        from ray.train.v2.api.exceptions import TrainingFailedError
    except ImportError as error:
        raise MissingDependencyError(f"`--engine ray` needs Ray Train ({error}). Install: pip install 'unstall[ray]'") from None
    if not ray.is_initialized():
        _joined(ray, address)
    has_cards = ray.cluster_resources().get("GPU", 0) >= workers
    beside, name = read_beside(out)
    trainer = DataParallelTrainer(
        run_in_ray_worker,
        train_loop_config={"arguments": ["--resume", "auto", "--out", out, *arguments]},
        scaling_config=ScalingConfig(num_workers=workers, use_gpu=has_cards, placement_strategy="SPREAD"),
        run_config=RunConfig(name=name, storage_path=beside, failure_config=FailureConfig(max_failures=max_restarts)),
    )
    try:
        trainer.fit()
    except TrainingFailedError as error:
        raise RayFailed(f"Ray gave the training up: {_last_line(error)}. See: unstall report {out}") from None


def _joined(ray: Any, address: str | None) -> None:
    try:
        ray.init(address=address or os.environ.get("RAY_ADDRESS") or "auto")
    except (ConnectionError, ValueError, RuntimeError) as error:
        how = "ray start --head on one machine, ray start --address=HEAD:6379 on the others; RAY_ADDRESS names another one"
        raise RayFailed(f"There is no Ray cluster to join ({_last_line(error)}). Start one: {how}.") from None


def read_beside(out: str) -> tuple[str, str]:
    """Where Ray keeps what it must remember: beside the folder of the run, which holds nothing but the run."""
    parent, _, name = out.rstrip("/").rpartition("/")
    return parent if "://" in out else str(Path(parent or ".").absolute()), f"{name}-ray"


def run_in_ray_worker(config: Mapping[str, Any]) -> None:
    """On a node: our command as a process of its own, which ends with this worker."""
    from ray.train import get_context
    from ray.train.collective import broadcast_from_rank_zero
    from ray.util import get_node_ip_address

    from unstall.training.distributed.engines.local import find_free_port

    own = f"{get_node_ip_address()}:{find_free_port()}"
    context = get_context()
    who = ProcessEnv(context.get_world_rank(), context.get_world_size(), broadcast_from_rank_zero(own))
    command = [sys.executable, "-m", __name__, *config["arguments"]]
    done = subprocess.run(command, env={**os.environ, **who.as_environment()}, check=False)
    if done.returncode:
        raise RayFailed(f"{who.words} ended with {done.returncode}")


def exec_command(arguments: Sequence[str]) -> None:
    """`python -m unstall.training.distributed.engines.ray …` is `unstall train …` that saves and ends when whoever started it is
    gone: a worker of Ray's that was killed must leave nobody behind who holds the run."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() == 1:
        sys.exit(f"unstall: the worker of Ray's that started process {os.getpid()} is gone.")
    os.execv(sys.executable, [sys.executable, "-m", "unstall", "train", *arguments])


def _last_line(error: BaseException) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    return lines[-1].strip()[:300].rstrip(".")


if __name__ == "__main__":
    exec_command(sys.argv[1:])
