"""Hand a training to an engine that runs it elsewhere: unstall cloud submit --machine g2-standard-8 --out gs://NAME/runs/first …

Takes the settings of `unstall train`; data and weights must lie in buckets. vertex: a custom job of Vertex AI, made and sent by
Google's own client library. kubeflow: a TrainJob of Kubeflow Trainer, written for `kubectl apply -f`. The job runs `unstall train
--resume auto`: an engine that restarts it, on another machine say, goes on from the last checkpoint. --dry-run sends nothing and
shows the request; --write keeps it as a file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from unstall.cli import json_option, write_answer
from unstall.config.options import GroupedCommand, add_setting_options

if TYPE_CHECKING:
    from unstall.cloud.job import Job

DISKS = click.Choice(["pd-ssd", "pd-standard", "hyperdisk-balanced"])


@click.command("submit", cls=GroupedCommand, help=__doc__)
@click.option(
    "--engine", type=click.Choice(["vertex", "kubeflow"]), default="vertex", show_default=True, help="Engine that runs the job."
)
@click.option(
    "--project", metavar="ID", help="Google Cloud project to bill. Defaults to GOOGLE_CLOUD_PROJECT, or this machine's."
)
@click.option(
    "--region",
    metavar="NAME",
    help="Region to run in; take that of the bucket. Defaults to GOOGLE_CLOUD_REGION, or this machine's.",
)
@click.option("--image", metavar="URI", help="Container image. Defaults to UNSTALL_IMAGE.")
@click.option("--machine", metavar="TYPE", help="Machine type, such as g2-standard-8; `unstall cloud plan` names the cheapest.")
@click.option("--out", metavar="PLACE", help="Where the run is kept: gs://BUCKET/FOLDER.")
@click.option(
    "--service-account",
    metavar="EMAIL",
    help="Service account of the job. Defaults to UNSTALL_SERVICE_ACCOUNT, or the engine's own.",
)
@click.option("--name", metavar="NAME", help="Name of the job. Defaults to the last part of --out.")
@click.option("--spot", is_flag=True, help="Use preemptible (spot) machines; the run resumes from its last checkpoint.")
@click.option("--disk-gb", type=click.IntRange(100, 64_000), default=100, show_default=True, help="Disk size of each machine.")
@click.option("--disk-type", type=DISKS, default="pd-ssd", show_default=True, help="Disk type of Vertex AI's machines.")
@click.option("--max-hours", type=click.FloatRange(0, 24 * 365, min_open=True), metavar="X", help="Time limit of the job.")
@click.option(
    "--num-accelerators", type=click.IntRange(0, 64), metavar="N",
    help="Accelerators of each machine, if the table does not know it, or of each pod.",
)  # fmt: skip
@click.option("--accelerator", metavar="NAME", help="Vertex AI's name of the accelerator, such as NVIDIA_L4.")
@click.option("--prices", metavar="FILE", help="Another table of machines, as `unstall cloud plan` takes it.")
@click.option("--namespace", metavar="NAME", default="default", show_default=True, help="Kubernetes namespace.")
@click.option("--runtime", metavar="NAME", default="jax-distributed", show_default=True, help="Kubeflow training runtime.")
@click.option("--endpoint", metavar="URL", help="Address of Vertex AI's service, if it is not the public one.")
@click.option("--dry-run", is_flag=True, help="Show the request without sending it.")
@click.option("--write", "target", metavar="FILE", help="Write the request to this file, as YAML (.yaml) or JSON.")
@json_option("the request, and what became of it")
@add_setting_options
def command(
    json_target: str | None, config: str | None, no_config: bool, engine: str, dry_run: bool, target: str | None, **given: Any
) -> None:
    from unstall.cloud.job import create_job, refuse_unwritable, write_request
    from unstall.cloud.terminal import show_job
    from unstall.config.options import find_config
    from unstall.report import json

    json.refuse_unwritable(json_target)
    if target is not None:
        refuse_unwritable(target)
    job = create_job(engine, given, find_config(config, no_config))
    request = _request(engine, job, given)
    if target is not None:
        write_request(request, target)
    plain: dict[str, Any] = {"engine": engine, "is_sent": False, "request": request, "written_to": target, "job": None}
    if engine == "vertex" and not dry_run:
        plain |= {"is_sent": True, **_sent(job, given["endpoint"])}
    write_answer({**plain, **_describe_job(job)}, json_target, show_job)


def _request(engine: str, job: Job, given: dict[str, Any]) -> dict[str, Any]:
    if engine == "kubeflow":
        from unstall.cloud import kubeflow

        cards = given["num_accelerators"] if given["num_accelerators"] is not None else (job.machine.cards if job.machine else 0)
        return kubeflow.train_job(job, given["namespace"], given["runtime"], cards)
    from unstall.cloud import vertex

    return vertex.as_plain(vertex.build_custom_job(job))


def _sent(job: Job, endpoint: str | None) -> dict[str, Any]:
    from unstall.cloud import vertex

    found = vertex.send_job(job, vertex.build_custom_job(job), endpoint)
    return {**found, "page": vertex.build_console_url(job, found["job"])}


def _describe_job(job: Job) -> dict[str, Any]:
    return {
        "name": job.name,
        "out": job.out,
        "project": job.project,
        "region": job.region,
        "machines": job.machines,
        "workers": job.workers,
    }
