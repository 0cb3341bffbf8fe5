"""What the program has imported when its training begins: its own files, the packages, and the variables as they are by then.

Told once, by names alone: versions and texts are read from the disk by the watcher. It takes a millisecond or two.
"""

from __future__ import annotations

import os
import sys
import time
from types import ModuleType
from typing import Any, Optional

from unstall.base.redact.environment import select_variables
from unstall.journal.events import ModulesLoaded
from unstall.probe.core.probe import Probe
from unstall.probe.core.user_code import is_user_path

MAX_FILES = 400
MAX_PACKAGES = 600
_REPORTED = "modules told"


def install(probe: Probe) -> None:
    def report_modules(model: Any) -> None:
        report_once(probe)

    probe.on_fit.append(report_modules)


def report_once(probe: Probe) -> None:
    """When a training begins; or when an error or the end comes before one."""
    if probe.extras.get(_REPORTED):
        return
    probe.extras[_REPORTED] = True
    files, packages = list_modules(dict(sys.modules))
    variables = select_variables(os.environ)
    probe.emit(ModulesLoaded(at=time.time(), pid=probe.pid, files=files, packages=packages, variables=variables))


def list_modules(modules: dict[str, Any]) -> tuple[list[str], dict[str, str]]:
    """The user's own files, the script first; and the installed packages with the folder of each."""
    own_tops: set[str] = set()
    packages: dict[str, str] = {}
    for name, module in modules.items():
        top, _, rest = name.partition(".")
        if rest and not _is_namespace(modules.get(top)):
            continue
        if rest.count(".") or name == "unstall":
            continue
        place = find_place(module)
        if place is None:
            continue
        if is_user_path(place):
            own_tops.add(top)
        else:
            folder = find_package(place)
            if folder is not None and len(packages) < MAX_PACKAGES:
                packages[name] = folder
    own = [find_place(module) for name, module in modules.items() if name.partition(".")[0] in own_tops]
    files = [os.path.abspath(place) for place in own if place is not None and is_user_path(place) and place.endswith(".py")]
    return list(dict.fromkeys(files))[:MAX_FILES], packages


def find_place(module: Any) -> Optional[str]:
    """The file of a module, read without asking the module itself: some load much when an attribute is asked for."""
    if not isinstance(module, ModuleType):
        return None
    place = object.__getattribute__(module, "__dict__").get("__file__")
    return place if isinstance(place, str) else None


def _is_namespace(module: Any) -> bool:
    """A folder that several packages share, `google` say: what lies in it is told."""
    return (
        isinstance(module, ModuleType)
        and find_place(module) is None
        and "__path__" in object.__getattribute__(module, "__dict__")
    )


def find_package(place: str) -> Optional[str]:
    for part in ("/site-packages/", "/dist-packages/"):
        before, found, _ = place.rpartition(part)
        if found:
            return before + part.rstrip("/")
    return None
