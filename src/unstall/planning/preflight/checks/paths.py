"""Whether the paths of the run lead somewhere.

What is looked at
-----------------
`data`, `label_map`, `val_data`, `weights` and `cache_dir`: that each is there and may be read or written, and that no
variable in it is left unset.

Why it matters
--------------
In a queue or a container a mount is missing or a variable is empty, and `$DATA/coco` becomes `/coco`.

When this is wrong
------------------
A folder that is mounted when it is first used looks empty before.

What to do
----------
Set the variable, mount the folder, or correct the path.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from unstall.base.errors import UnstallError
from unstall.config.sources import PATHS
from unstall.planning.preflight.check import CheckError, CheckOk, CheckResult, Context
from unstall.storage import is_bucket, resolve_path

NEEDS = ()
IS_QUICK = True


def look(context: Context) -> CheckResult:
    given = {name: value for name in PATHS if (value := getattr(context.settings, name))}
    wrong = [found for name, value in given.items() if (found := _wrong(name, value)) is not None]
    if wrong:
        return CheckError("; ".join(each.reason for each in wrong), "; ".join(each.fix for each in wrong), dict(given))
    said = ", ".join(f"{name} {value}" for name, value in given.items())
    return CheckOk(f"{said}" if said else "none is asked for: the embedded shapes are drawn", dict(given))


def _wrong(name: str, value: str) -> CheckError | None:
    unset = re.search(r"\$\{?(\w+)\}?", value)
    if unset:
        return CheckError(
            f"{name}: '{value}' has the variable {unset[1]}, which is not set", f"export {unset[1]}=…, or write the path out"
        )
    if is_bucket(value):
        return _wrong_in_bucket(name, value)
    path = Path(value)
    if name == "cache_dir":
        there = next(each for each in (path, *path.parents) if each.is_dir())
        return None if os.access(there, os.W_OK) else CheckError(f"{name}: '{there}' cannot be written", "another folder")
    if not path.exists():
        last = next(each for each in path.parents if each.exists())
        return CheckError(f"{name}: '{path}' is not there; '{last}' is", "correct the path, or mount what should lie there")
    return None if os.access(path, os.R_OK) else CheckError(f"{name}: '{path}' may not be read", f"chmod -R u+rX '{path}'")


def _wrong_in_bucket(name: str, value: str) -> CheckError | None:
    if name == "cache_dir":
        return CheckError(f"{name}: '{value}' is a bucket", "a folder on a disk: a cache is to be nearer than the data")
    try:
        if resolve_path(value).exists():
            return None
    except UnstallError as error:
        return CheckError(f"{name}: {error}", "see that this machine reaches the bucket and may read it")
    return CheckError(f"{name}: '{value}' is not there", "correct the path")
