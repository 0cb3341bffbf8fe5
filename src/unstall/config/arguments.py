"""Settings as the options of a command line: `unstall train` on another machine reads them as they were meant here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from unstall.base.errors import InvalidInputError
from unstall.config import toml_file
from unstall.config.settings import kind_of
from unstall.config.sources import PATHS
from unstall.storage import is_bucket

if TYPE_CHECKING:
    from unstall.config.sources import ResolvedSettings

OF_THE_OTHER_MACHINE = ("cache_dir",)  # a folder there, not here


def chosen(resolved: ResolvedSettings) -> dict[str, Any]:
    """What somebody has asked for. The recipe of the model is the same on the other machine."""
    return {
        name: getattr(resolved.settings, name) for name, source in resolved.sources.items() if not source.startswith("recipe of")
    }


def arguments(values: Mapping[str, Any]) -> list[str]:
    """By the names of settings; `settings_options.given` gives the same values again."""
    return [word for name, value in values.items() for word in _option(name, value)]


def _option(name: str, value: Any) -> list[str]:
    dashed = name.replace("_", "-")
    if value is None:
        return []
    if kind_of(name)[0] is bool:
        return [f"--{dashed}" if value else f"--no-{dashed}"]
    if isinstance(value, Mapping):
        return [word for key, each in value.items() for word in (f"--{dashed}", f"{key}={toml_file.as_toml(each)}")]
    if isinstance(value, list | tuple):
        return [f"--{dashed}", ",".join(map(str, value))]
    return [f"--{dashed}", repr(value) if isinstance(value, float) else str(value)]


def refuse_local_paths(values: Mapping[str, Any]) -> None:
    """The job runs on a machine that has none of our files."""
    for name in PATHS:
        place = values.get(name)
        if name not in OF_THE_OTHER_MACHINE and isinstance(place, str) and not is_bucket(place):
            raise InvalidInputError(
                f"--{name.replace('_', '-')}: expected a place in a bucket, gs://BUCKET/NAME, as the job does not see "
                f"the files of this machine. Received: '{place}'. Copy it there: gcloud storage cp --recursive '{place}' gs://BUCKET/"
            )
