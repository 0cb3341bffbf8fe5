"""Puts a job together from the options of `unstall cloud submit`, the settings file and the surroundings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unstall import settings_file
from unstall.cloud import machines, wishes
from unstall.cloud.wishes import Job
from unstall.scale.arguments import arguments, chosen, refuse_local_paths
from unstall.settings_options import given as settings_given
from unstall.settings_sources import resolve


def job(engine: str, options: Mapping[str, Any], config: str | None) -> Job:
    """`options` are the keywords of the command, the settings among them."""
    resolved = resolve(settings_given(dict(options)), config)
    asked_for = chosen(resolved)
    refuse_local_paths(asked_for)
    in_file = wishes.in_file(*settings_file.read_cloud(config)) if config else {}
    found = wishes.values(engine, options, in_file)
    found["name"] = found["name"] or found["out"].rstrip("/").rpartition("/")[2]
    wishes.refuse_unfit(engine, found)
    machine = _machine(found["machine"], options)
    cards = machine.cards if machine is not None else int(options["cards"] or 0)
    workers = resolved.settings.workers
    out = found["out"].rstrip("/")
    return Job(
        name=found["name"], image=found["image"], arguments=("--go-on", "--out", out, "--no-config", *arguments(asked_for)),
        out=out,
        workers=workers, machines=wishes.machines_for(workers, cards),
        project=found["project"], region=found["region"], machine=machine, service_account=found["service_account"],
        is_spot=options["spot"], disk_gb=options["disk_gb"], disk_type=options["disk_type"], hours=options["hours"],
    )  # fmt: skip


def _machine(name: str, options: Mapping[str, Any]) -> machines.Machine | None:
    """Kubernetes has nodes of its own: there a machine type is no more than a hint at the cards."""
    if not name:
        return None
    return wishes.machine_of(name, machines.table(options["prices"]), options["accelerator"], options["cards"])
