"""Hand a training to an engine that runs it elsewhere: unstall cloud submit --machine g2-standard-8 --out gs://NAME/runs/first …

Takes the settings of `unstall train`; data and weights must lie in buckets. vertex: a custom job of Vertex AI, made and sent by
Google's own client library. kubeflow: a TrainJob of Kubeflow Trainer, written for `kubectl apply -f`. The job runs `unstall train
--go-on`: an engine that restarts it, on another machine say, goes on from the last checkpoint. --dry-run sends nothing and shows
the request; --write keeps it as a file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from unstall.cli import answer, json_option
from unstall.config.options import GroupedCommand, setting_options

if TYPE_CHECKING:
    from unstall.cloud.job import Job

DISKS = click.Choice(["pd-ssd", "pd-standard", "hyperdisk-balanced"])


@click.command("submit", cls=GroupedCommand, help=__doc__)
@click.option("--engine", type=click.Choice(["vertex", "kubeflow"]), default="vertex", show_default=True, help="Who runs it.")
@click.option("--project", metavar="ID", help="That pays; else GOOGLE_CLOUD_PROJECT, or this machine's.")
@click.option("--region", metavar="NAME", help="Where it runs: that of the bucket; else GOOGLE_CLOUD_REGION, or this machine's.")
@click.option("--image", metavar="URI", help="The container image; else UNSTALL_IMAGE.")
@click.option("--machine", metavar="TYPE", help="Of each machine, as in g2-standard-8; `unstall cloud plan` names the cheapest.")
@click.option("--out", metavar="PLACE", help="gs://BUCKET/FOLDER for the run.")
@click.option(
    "--service-account", metavar="EMAIL", help="That the job acts as; else UNSTALL_SERVICE_ACCOUNT, or the engine's own."
)
@click.option("--name", metavar="NAME", help="Of the job; else the last part of --out.")
@click.option("--spot", is_flag=True, help="On machines that may be taken away; the run goes on where it was.")
@click.option("--disk-gb", type=click.IntRange(100, 64_000), default=100, show_default=True, help="Of each machine's disk.")
@click.option("--disk-type", type=DISKS, default="pd-ssd", show_default=True, help="Of Vertex AI's machines.")
@click.option("--hours", type=click.FloatRange(0, 24 * 365, min_open=True), metavar="X", help="The longest that it may run.")
@click.option("--cards", type=click.IntRange(0, 64), metavar="N", help="Of a machine that the table does not know, or of a pod.")
@click.option("--accelerator", metavar="NAME", help="What Vertex AI calls that card, as in NVIDIA_L4.")
@click.option("--prices", metavar="FILE", help="Another table of machines, as `unstall cloud plan` takes it.")
@click.option("--namespace", metavar="NAME", default="default", show_default=True, help="Of Kubernetes.")
@click.option("--runtime", metavar="NAME", default="jax-distributed", show_default=True, help="The training runtime of Kubeflow.")
@click.option("--endpoint", metavar="URL", help="Another address of Vertex AI's service, a private one say.")
@click.option("--dry-run", is_flag=True, help="Send nothing; show the request.")
@click.option("--write", "target", metavar="FILE", help="Keep the request there, as YAML (.yaml) or JSON.")
@json_option("the request, and what became of it")
@setting_options
def command(
    json_target: str | None, config: str | None, no_config: bool, engine: str, dry_run: bool, target: str | None, **given: Any
) -> None:
    from unstall.cloud import submission
    from unstall.cloud.terminal import show_job
    from unstall.config.options import config_used
    from unstall.report import json

    json.refuse_unwritable(json_target)
    if target is not None:
        submission.refuse_unwritable(target)
    job = submission.create_job(engine, given, config_used(config, no_config))
    request = _request(engine, job, given)
    if target is not None:
        submission.write(request, target)
    plain: dict[str, Any] = {"engine": engine, "is_sent": False, "request": request, "written_to": target, "job": None}
    if engine == "vertex" and not dry_run:
        plain |= {"is_sent": True, **_sent(job, given["endpoint"])}
    answer({**plain, **_told(job)}, json_target, show_job)


def _request(engine: str, job: Job, given: dict[str, Any]) -> dict[str, Any]:
    if engine == "kubeflow":
        from unstall.cloud import kubeflow

        cards = given["cards"] if given["cards"] is not None else (job.machine.cards if job.machine else 0)
        return kubeflow.train_job(job, given["namespace"], given["runtime"], cards)
    from unstall.cloud import vertex

    return vertex.as_plain(vertex.custom_job(job))


def _sent(job: Job, endpoint: str | None) -> dict[str, Any]:
    from unstall.cloud import vertex

    found = vertex.send_job(job, vertex.custom_job(job), endpoint)
    return {**found, "page": vertex.console_page(job, found["job"])}


def _told(job: Job) -> dict[str, Any]:
    return {
        "name": job.name,
        "out": job.out,
        "project": job.project,
        "region": job.region,
        "machines": job.machines,
        "workers": job.workers,
    }
