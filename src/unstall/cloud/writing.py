"""A request as a file: YAML by its ending, else JSON."""

from __future__ import annotations

from typing import Any

from unstall.errors import WrongInput
from unstall.storage import is_bucket, located

YAML = (".yaml", ".yml")


def refuse_unwritable(target: str) -> None:
    """At once, before anything is sent."""
    path = located(target)
    if path.suffix not in {*YAML, ".json"}:
        raise WrongInput(f"--write: expected a name that ends with .yaml or .json. Received: '{target}'")
    if is_bucket(path):
        return  # whether it may be written shows when it is
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise WrongInput(f"--write: expected a file in a folder that is there. Received: '{target}'")


def write(request: dict[str, Any], target: str) -> None:
    path = located(target)
    try:
        path.write_text(as_text(request, path.suffix in YAML), encoding="utf-8")
    except OSError as error:
        raise WrongInput(f"--write: cannot write '{target}': {error.strerror}.") from None


def as_text(request: dict[str, Any], is_yaml: bool) -> str:
    if is_yaml:
        import yaml

        return str(yaml.safe_dump(request, sort_keys=False, allow_unicode=True))
    import json

    return json.dumps(request, indent=1, ensure_ascii=False) + "\n"
