"""Whether what the run needs is installed.

What is looked at
-----------------
The backend that was asked for, or that is there; Keras; what reads data. With versions, by what the installation says,
nothing being loaded.

Why it matters
--------------
A package that is missing ends a run in its first second at best, and at the first evaluation at worst.

When this is wrong
------------------
A package that is installed and broken counts as there.

What to do
----------
The command that is named.
"""

from __future__ import annotations

import importlib.metadata

from unstall import backends
from unstall.planning.preflight.check import CheckError, CheckOk, CheckResult, Context

NEEDS = ()
IS_QUICK = True
READS_DATA = ("numpy", "cv2", "PIL", "simplejpeg", "msgspec", "yaml", "google.protobuf")


def look(context: Context) -> CheckResult:
    backend = context.backend
    if not backend:
        return CheckError("Keras needs a backend, and none is installed", "pip install 'unstall[tensorflow]'")
    if backend not in backends.BACKENDS:
        expected = f"expected one of {', '.join(backends.BACKENDS)}. Received: {backend!r}"
        return CheckError(f"KERAS_BACKEND: {expected}", f"KERAS_BACKEND={backends.BACKENDS[0]}, or --backend")
    for package in (backend, "keras"):
        if not backends.is_installed(package):
            return CheckError(f"the backend {backend} needs the package '{package}'", f"pip install 'unstall[{backend}]'")
    missing = [package for package in READS_DATA if not backends.is_installed(package)]
    if missing:
        return CheckError(
            f"what reads data is missing: {', '.join(missing)}", "pip install 'unstall[data]'", {"missing": missing}
        )
    versions = {name: found for name in ("keras", *backends.list_distributions(backend), "numpy") if (found := _version(name))}
    return CheckOk(
        ", ".join(f"{name} {version}" for name, version in versions.items()), {"backend": backend, "versions": versions}
    )


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""
