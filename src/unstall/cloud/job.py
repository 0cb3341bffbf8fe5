"""A job that is wished for: where, on what, with which image. Each value from the option, the settings file, or the surroundings.

    [cloud]                                   of the settings file that --config names; `unstall train` passes it over
    project = "project-1"
    region = "us-central1"
    image = "us-central1-docker.pkg.dev/project-1/images/unstall:latest"

What is missing is named, all of it at once, with where it could be said.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from unstall.base.errors import InvalidInputError
from unstall.cloud import machines, metadata
from unstall.cloud.machines import Machine, Table
from unstall.config import toml_file
from unstall.config.options import collect_explicit_settings, collect_requested, format_arguments, refuse_local_paths
from unstall.config.sources import resolve
from unstall.storage import is_bucket, resolve_path
from unstall.storage.urls import get_scheme, refuse_unset, split_url

COMMAND = ("unstall", "train")  # of the container, whatever its image would run by itself
VARIABLES = {
    "project": ("GOOGLE_CLOUD_PROJECT", "CLOUDSDK_CORE_PROJECT"),
    "region": ("GOOGLE_CLOUD_REGION", "CLOUDSDK_AI_REGION", "CLOUDSDK_COMPUTE_REGION"),
    "image": ("UNSTALL_IMAGE",),
    "service_account": ("UNSTALL_SERVICE_ACCOUNT",),
    "machine": (),
    "out": (),
    "name": (),
}
IN_FILE = tuple(VARIABLES)
NEEDED = {  # by the engine; the others have something that holds without them
    "vertex": ("project", "region", "image", "machine", "out"),
    "kubeflow": ("image", "out"),
}
EXPLAINED = {
    "project": "the project that pays",
    "region": "where it runs, as in us-central1: that of the bucket",
    "image": "the container image, see docs/cloud.md",
    "machine": "the machine type, see `unstall cloud plan`",
    "out": "gs://BUCKET/FOLDER for the run",
}
_NAME = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")  # what both Vertex AI's labels and Kubernetes take
_REGION = re.compile(r"[a-z]+(-[a-z0-9]+)+")


@dataclass(frozen=True)
class Job:
    """All that an engine must be told."""

    name: str
    image: str
    arguments: tuple[str, ...]  # of `unstall train`
    out: str  # gs://…, the folder of the run
    workers: int  # training processes in all
    machines: int
    project: str = ""
    region: str = ""
    machine: Machine | None = None
    service_account: str = ""
    is_spot: bool = False
    disk_gb: int = 100
    disk_type: str = "pd-ssd"
    hours: float | None = None  # the longest that it may run

    @property
    def workers_each(self) -> int:
        """Of one machine."""
        return self.workers // self.machines


def resolve_values(engine: str, options: Mapping[str, str | None], in_file: Mapping[str, str]) -> dict[str, str]:
    """Each by the first who says it; all that are missing are named."""
    is_asked = engine == "vertex" and not all(_said(name, options, in_file) for name in ("project", "region"))
    here = metadata.read_machine() if is_asked else None
    found = {}
    for name in VARIABLES:
        of_machine = {"project": here.value("project"), "region": here.region}.get(name) if here else None
        found[name] = _said(name, options, in_file) or of_machine or ""
    missing = [name for name in NEEDED[engine] if not found[name]]
    if missing:
        raise InvalidInputError("unstall cloud submit needs: " + "; ".join(_asked_for(name) for name in missing) + ".")
    return found


def _said(name: str, options: Mapping[str, str | None], in_file: Mapping[str, str]) -> str:
    variables = [os.environ.get(variable, "").strip() for variable in VARIABLES[name]]
    return next((each for each in (options.get(name), in_file.get(name), *variables) if each), "")


def _asked_for(name: str) -> str:
    variables = "".join(f", {variable}" for variable in VARIABLES[name][:1])
    return f"--{name} ({EXPLAINED[name]}; or {name} in [cloud] of the settings file{variables})"


def refuse_unfit(engine: str, found: Mapping[str, str]) -> None:
    if not _NAME.fullmatch(found["name"]):
        raise InvalidInputError(
            "--name (without it, the last part of --out): expected small letters, digits and dashes, at most 63 of them. "
            f"Received: {found['name']!r}"
        )
    if found["region"] and not _REGION.fullmatch(found["region"]):
        raise InvalidInputError(f"--region: expected a region, as in us-central1. Received: {found['region']!r}")
    refuse_unset(found["out"])
    if not is_bucket(found["out"]) or (engine == "vertex" and get_scheme(found["out"]) != "gs"):
        raise InvalidInputError(f"--out: expected gs://BUCKET/FOLDER, which outlives the machine. Received: {found['out']!r}")
    _, folder = split_url(found["out"])
    if not folder:
        raise InvalidInputError(
            f"--out: expected a folder in the bucket, as in {found['out'].rstrip('/')}/runs/first. Received: the bucket."
        )


def choose_machine(name: str, table: Table, accelerator: str | None, cards: int | None) -> Machine:
    """Of the table; of one that it does not know, the cards must be said."""
    known = table.named(name)
    if known is not None and accelerator is None and cards is None:
        return known
    if known is not None and cards is None:
        cards = known.cards
    if cards is None or (cards > 0 and accelerator is None and known is None):
        raise InvalidInputError(
            f"--machine: the table of machines does not know '{name}'. Say its accelerators: --num-accelerators 0, or "
            "--num-accelerators 1 --accelerator NVIDIA_L4; or give a table that knows it: --prices FILE."
        )
    own = known or Machine(name, 1, 1, None, 0, None, None, None)
    return Machine(
        name, own.vcpus, own.memory_gib, own.card, cards, (accelerator or own.accelerator) if cards else None, None, None
    )


def list_machines_for(workers: int, cards: int) -> int:
    """So many that each worker has a card, or a machine without one; each machine has as many workers as the others."""
    count = math.ceil(workers / max(1, cards))
    if workers % count:
        even = [str(each) for each in range(1, workers + cards) if each % math.ceil(each / max(1, cards)) == 0]
        raise InvalidInputError(
            f"workers: {workers} cannot be shared evenly by machines of {cards} cards. Expected one of {', '.join(even)}."
        )
    return count


def read_from_file(stored: Mapping[str, Any], where: str) -> dict[str, str]:
    """The table [cloud] of a settings file, each value checked."""
    for name, value in stored.items():
        if name not in IN_FILE:
            raise InvalidInputError(f"{where}: [cloud]: there is no '{name}'. Expected some of: {', '.join(IN_FILE)}.")
        if not isinstance(value, str) or not value.strip():
            raise InvalidInputError(f"{where}: [cloud] {name}: expected text. Received: {value!r}")
    return {name: str(value).strip() for name, value in stored.items()}


def create_job(engine: str, options: Mapping[str, Any], config: str | None) -> Job:
    """`options` are the keywords of the command, the settings among them."""
    resolved = resolve(collect_explicit_settings(dict(options)), config)
    asked_for = collect_requested(resolved)
    refuse_local_paths(asked_for)
    stored = read_from_file(*toml_file.read_cloud(config)) if config else {}
    found = resolve_values(engine, options, stored)
    found["name"] = found["name"] or found["out"].rstrip("/").rpartition("/")[2]
    refuse_unfit(engine, found)
    machine = _machine_asked_for(found["machine"], options)
    cards = machine.cards if machine is not None else int(options["num_accelerators"] or 0)
    workers = resolved.settings.num_workers
    out = found["out"].rstrip("/")
    return Job(
        name=found["name"], image=found["image"],
        arguments=("--resume", "auto", "--out", out, "--no-config", *format_arguments(asked_for)), out=out,
        workers=workers, machines=list_machines_for(workers, cards),
        project=found["project"], region=found["region"], machine=machine, service_account=found["service_account"],
        is_spot=options["spot"], disk_gb=options["disk_gb"], disk_type=options["disk_type"], hours=options["max_hours"],
    )  # fmt: skip


def _machine_asked_for(name: str, options: Mapping[str, Any]) -> Machine | None:
    """Kubernetes has nodes of its own: there a machine type is no more than a hint at the cards."""
    if not name:
        return None
    return choose_machine(name, machines.load_table(options["prices"]), options["accelerator"], options["num_accelerators"])


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


def write_request(request: dict[str, Any], target: str) -> None:
    path = resolve_path(target)
    try:
        path.write_text(format_request(request, path.suffix in YAML), encoding="utf-8")
    except OSError as error:
        raise InvalidInputError(f"--write: cannot write '{target}': {error.strerror}.") from None


def format_request(request: dict[str, Any], is_yaml: bool) -> str:
    if is_yaml:
        import yaml

        return str(yaml.safe_dump(request, sort_keys=False, allow_unicode=True))
    import json

    return json.dumps(request, indent=1, ensure_ascii=False) + "\n"
