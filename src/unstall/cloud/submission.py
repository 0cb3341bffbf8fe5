"""Puts a job together from the options of `unstall cloud submit`, the settings file and the surroundings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unstall.base.errors import InvalidInputError
from unstall.cloud import job, machines
from unstall.cloud.job import Job
from unstall.config import toml_file
from unstall.config.options import arguments, chosen, explicit_settings, refuse_local_paths
from unstall.config.sources import resolve
from unstall.storage import is_bucket, resolve_path


def create_job(engine: str, options: Mapping[str, Any], config: str | None) -> Job:
    """`options` are the keywords of the command, the settings among them."""
    resolved = resolve(explicit_settings(dict(options)), config)
    asked_for = chosen(resolved)
    refuse_local_paths(asked_for)
    in_file = job.in_file(*toml_file.read_cloud(config)) if config else {}
    found = job.values(engine, options, in_file)
    found["name"] = found["name"] or found["out"].rstrip("/").rpartition("/")[2]
    job.refuse_unfit(engine, found)
    machine = _machine(found["machine"], options)
    cards = machine.cards if machine is not None else int(options["num_accelerators"] or 0)
    workers = resolved.settings.num_workers
    out = found["out"].rstrip("/")
    return Job(
        name=found["name"], image=found["image"],
        arguments=("--resume", "auto", "--out", out, "--no-config", *arguments(asked_for)), out=out,
        workers=workers, machines=job.machines_for(workers, cards),
        project=found["project"], region=found["region"], machine=machine, service_account=found["service_account"],
        is_spot=options["spot"], disk_gb=options["disk_gb"], disk_type=options["disk_type"], hours=options["max_hours"],
    )  # fmt: skip


def _machine(name: str, options: Mapping[str, Any]) -> machines.Machine | None:
    """Kubernetes has nodes of its own: there a machine type is no more than a hint at the cards."""
    if not name:
        return None
    return job.machine_of(name, machines.table(options["prices"]), options["accelerator"], options["num_accelerators"])


# A request as a file: YAML by its ending, else JSON.


YAML = (".yaml", ".yml")


def refuse_unwritable(target: str) -> None:
    """At once, before anything is sent."""
    path = resolve_path(target)
    if path.suffix not in {*YAML, ".json"}:
        raise InvalidInputError(f"--write: expected a name that ends with .yaml or .json. Received: '{target}'")
    if is_bucket(path):
        return  # whether it may be written shows when it is
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise InvalidInputError(f"--write: expected a file in a folder that is there. Received: '{target}'")


def write(request: dict[str, Any], target: str) -> None:
    path = resolve_path(target)
    try:
        path.write_text(as_text(request, path.suffix in YAML), encoding="utf-8")
    except OSError as error:
        raise InvalidInputError(f"--write: cannot write '{target}': {error.strerror}.") from None


def as_text(request: dict[str, Any], is_yaml: bool) -> str:
    if is_yaml:
        import yaml

        return str(yaml.safe_dump(request, sort_keys=False, allow_unicode=True))
    import json

    return json.dumps(request, indent=1, ensure_ascii=False) + "\n"
