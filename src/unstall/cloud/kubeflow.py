"""A TrainJob of Kubeflow Trainer v2 (its JAX runtime), as plain data: `kubectl apply -f job.yaml` sends it.

It is plain data of few fields, so nothing need be installed to write it; the tests hold it against the models of Kubeflow's own
client (`kubeflow-trainer-api`).
"""

from __future__ import annotations

from typing import Any

from unstall.cloud.job import COMMAND, Job
from unstall.training.distributed.engines.vertex import WORKERS_EACH

VERSION, KIND = "trainer.kubeflow.org/v1alpha1", "TrainJob"
RUNTIME = "jax-distributed"  # that comes with Kubeflow Trainer
NODES = "node"  # what the runtime calls the job of its pods
GRACE_S = 30  # between SIGTERM and the end of a pod: a checkpoint takes 10 at most


def train_job(job: Job, namespace: str, runtime: str = RUNTIME, cards: int = 0) -> dict[str, Any]:
    trainer: dict[str, Any] = {
        "image": job.image,
        "command": list(COMMAND),
        "args": list(job.arguments),
        "numNodes": job.machines,
    }
    if job.workers_each > 1:
        trainer["env"] = [{"name": WORKERS_EACH, "value": str(job.workers_each)}]
    if cards:
        trainer["resourcesPerNode"] = {each: {"nvidia.com/gpu": str(cards)} for each in ("limits", "requests")}
    spec: dict[str, Any] = {"runtimeRef": {"name": runtime}, "trainer": trainer, "runtimePatches": [_patch(job)]}
    if job.hours is not None:
        spec["activeDeadlineSeconds"] = int(job.hours * 3600)
    return {"apiVersion": VERSION, "kind": KIND, "metadata": {"name": job.name, "namespace": namespace}, "spec": spec}


def _patch(job: Job) -> dict[str, Any]:
    """Of the runtime's pods: time for a checkpoint; the account; spot machines of GKE, which are marked and must be tolerated."""
    pod: dict[str, Any] = {"terminationGracePeriodSeconds": GRACE_S}
    if job.service_account:
        pod["serviceAccountName"] = job.service_account
    if job.is_spot:
        pod["nodeSelector"] = {"cloud.google.com/gke-spot": "true"}
        pod["tolerations"] = [{"key": "cloud.google.com/gke-spot", "operator": "Equal", "value": "true", "effect": "NoSchedule"}]
    jobs = [{"name": NODES, "template": {"spec": {"template": {"spec": pod}}}}]
    return {"manager": "unstall/submit", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": jobs}}}}
