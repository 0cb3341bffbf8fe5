"""The versions of frameworks that people have, each in an environment of its own: `python -m tests.versions.stacks [NAME ...]`.

An environment is set up once, by pip from pinned names, in `$XDG_CACHE_HOME/unstall/stacks/<name>`, outside the checkout. A stack whose
interpreter or packages are not to be had is listed with the reason, and is never counted as tried.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.interpreters import interpreter
from unstall.base.files import FileLock, get_cache_dir

SETUP_TIMEOUT_S = 1800
SHOWN = ("tensorflow", "tensorflow_cpu", "keras", "torch", "jax", "jaxlib", "numpy")
HOW = (
    "--no-compile",
    "--prefer-binary",
    "--only-binary=numpy,scipy,h5py,grpcio,jaxlib",
)  # what takes long to compile is not compiled
OLD_PROTOBUF = "protobuf==3.20.3"  # the newest one that these versions of TensorFlow can read


@dataclass(frozen=True)
class Stack:
    name: str
    python: str
    packages: tuple[str, ...]
    framework: str  # what its specimens are written for: tensorflow, tensorflow1, torch, jax
    base: str = ""  # the stack whose packages it takes for all that it does not have itself

    @property
    def folder(self) -> Path:
        return cache() / self.name

    @property
    def executable(self) -> Path:
        return self.folder / "bin/python"


def tensorflow(version: str, python: str, *others: str) -> Stack:
    name = f"tensorflow-{'.'.join(version.split('.')[:2])}"
    return Stack(name, python, (f"tensorflow-cpu=={version}", *others), "tensorflow")


def keras(version: str, base: Stack, *others: str) -> Stack:
    """Another version of Keras 3 on the same TensorFlow, with what only it needs."""
    name = f"keras-{'.'.join(version.split('.')[:2])}"
    return Stack(name, base.python, (f"keras=={version}", *others), "tensorflow", base.name)


def torch(version: str, python: str, *others: str) -> Stack:
    return Stack(f"torch-{'.'.join(version.split('.')[:2])}", python, (f"torch=={version}", *others), "torch")


def jax(version: str, python: str, *others: str) -> Stack:
    name = f"jax-{version if version.startswith('0.4') else '.'.join(version.split('.')[:2])}"
    return Stack(name, python, (f"jax=={version}", f"jaxlib=={version}", *others), "jax")


TENSORFLOW_2_16 = tensorflow("2.16.2", "3.12")
TENSORFLOW_2_18 = tensorflow("2.18.1", "3.12")
STACKS = (
    Stack("tensorflow-1.15", "3.7", ("tensorflow==1.15.5", "numpy==1.18.5", "h5py==2.10.0", OLD_PROTOBUF), "tensorflow1"),
    tensorflow("2.4.1", "3.8", OLD_PROTOBUF),
    tensorflow("2.6.5", "3.8", "protobuf==3.19.6"),
    tensorflow("2.8.4", "3.9", "numpy==1.22.4"),
    tensorflow("2.10.1", "3.10", "numpy==1.23.5"),
    tensorflow("2.12.1", "3.10"),
    tensorflow("2.13.1", "3.8"),
    tensorflow("2.15.1", "3.11"),
    TENSORFLOW_2_16,
    TENSORFLOW_2_18,
    tensorflow("2.20.0", "3.13"),
    tensorflow("2.21.0", "3.13"),
    keras("3.0.5", TENSORFLOW_2_16, "dm-tree==0.1.9", "attrs==25.3.0"),
    keras("3.3.3", TENSORFLOW_2_16),
    keras("3.6.0", TENSORFLOW_2_18),
    keras("3.10.0", TENSORFLOW_2_18),
    torch("1.13.1", "3.10", "numpy==1.26.4"),
    torch("2.1.2", "3.11", "numpy==1.26.4"),
    torch("2.6.0", "3.12", "numpy==2.2.6"),
    torch("2.13.0", "3.11", "numpy==2.2.6"),
    jax("0.4.20", "3.9", "numpy==1.26.4", "scipy==1.11.4"),
    jax("0.4.38", "3.11"),
    jax("0.6.2", "3.12"),
    jax("0.10.0", "3.13"),
)
BY_NAME = {stack.name: stack for stack in STACKS}


class NotInstalled(Exception):
    """Why there is no such environment here."""


def cache() -> Path:
    return get_cache_dir() / "stacks"


def ensure(stack: Stack) -> Path:
    """The interpreter of the environment, which is set up if it is not there. Raise NotInstalled with the reason."""
    base = ensure(BY_NAME[stack.base]) if stack.base else None
    cache().mkdir(parents=True, exist_ok=True)
    with FileLock(cache() / f"{stack.name}.lock", create=True) as lock:
        if not lock.acquire(SETUP_TIMEOUT_S):
            raise NotInstalled(f"another process has been setting it up for {SETUP_TIMEOUT_S} s")
        return _ensure(stack, base)


def _ensure(stack: Stack, base: Path | None) -> Path:
    mark = stack.folder / "ready.json"
    wanted = {"python": stack.python, "packages": list(stack.packages), "base": stack.base}
    try:
        if json.loads(mark.read_text()) == wanted:
            return stack.executable
    except (OSError, ValueError):
        pass
    found = interpreter(stack.python)
    if found is None:
        raise NotInstalled(f"no Python {stack.python} on this machine")
    shutil.rmtree(stack.folder, ignore_errors=True)
    _call([found, "-m", "venv", str(stack.folder)], "venv")
    if base is not None:
        (packages,) = stack.folder.glob("lib/python*/site-packages")
        (theirs,) = base.parents[1].glob("lib/python*/site-packages")
        (packages / "base.pth").write_text(f"import site; site.addsitedir({str(theirs)!r})\n")  # with its own .pth files
    options = ["--no-deps"] if base is not None else []
    _call([str(stack.executable), "-m", "pip", "install", *HOW, *options, *stack.packages], "pip")
    mark.write_text(json.dumps(wanted))
    return stack.executable


def is_ready(stack: Stack) -> bool:
    return (stack.folder / "ready.json").exists()


def _call(command: list[str], tool: str) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SETUP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        raise NotInstalled(f"{tool} did not come to an end within {SETUP_TIMEOUT_S} s") from None
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or done.stderr.splitlines()
        raise NotInstalled(f"{tool}: {lines[-1] if lines else f'exit code {done.returncode}'}")


def description(stack: Stack) -> dict[str, str]:
    """Which versions are really there."""
    folder = BY_NAME[stack.base].folder if stack.base else stack.folder
    found = {"python": stack.python}
    for place in (folder, stack.folder):
        for path in sorted(place.glob("lib/python*/site-packages/*.dist-info")):
            name, _, version = path.name.removesuffix(".dist-info").partition("-")
            if name in SHOWN:
                found[name.removesuffix("_cpu")] = version
    return found


def main(names: list[str]) -> int:
    failed = 0
    for name in names or list(BY_NAME):
        try:
            print(f"{name}: {ensure(BY_NAME[name])}", flush=True)
        except NotInstalled as error:
            failed += 1
            print(f"{name}: not installed: {error}", flush=True)
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
