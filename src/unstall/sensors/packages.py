"""The versions of installed packages, from what lies beside them on the disk: the program itself is asked for nothing.

A package that is imported by another name than it is installed by (cv2, PIL) is found in the lists of files beside it.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from unstall.journal.events import LibrariesSeen

MAX_PACKAGES = 600
LARGEST_LIST_BYTES = 8 * 2**20
_IN_MEMORY = re.compile(r"(?P<folder>/\S*/(?:site|dist)-packages)/(?P<name>[A-Za-z0-9_]+)")


def read_versions(packages: Mapping[str, str]) -> dict[str, str]:
    """By the name of the distribution. `packages`: names as they are imported (cv2, google.protobuf), each with its folder."""
    found: dict[str, str] = {}
    for folder in dict.fromkeys(packages.values()):
        wanted = [name for name, place in packages.items() if place == folder][:MAX_PACKAGES]
        found.update(_versions_in(Path(folder), wanted))
    return dict(sorted(found.items()))


def _versions_in(folder: Path, wanted: list[str]) -> dict[str, str]:
    installed = {_plain(name): (name, version, path) for name, version, path in _installed(folder)}
    found: dict[str, str] = {}
    by_another_name = []
    for name in wanted:
        known = installed.get(_plain(name))
        if known is None:
            by_another_name.append(name)
        else:
            found[known[0]] = known[1]
    if by_another_name:
        for name, version, path in installed.values():
            if name not in found and _holds(path, by_another_name):
                found[name] = version
    return found


def _installed(folder: Path) -> Iterator[tuple[str, str, Path]]:
    """Name, version and folder of what is written about each distribution."""
    try:
        paths = sorted(folder.iterdir())
    except OSError:
        return
    for path in paths:
        if path.suffix in {".dist-info", ".egg-info"}:
            name, _, version = path.stem.partition("-")
            if version:
                yield name.replace("_", "-"), version.split("-")[0], path


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _holds(path: Path, names: list[str]) -> bool:
    """Whether a distribution has put one of these there, by its list of files."""
    beginnings = tuple(f"{name.replace('.', '/')}{sign}" for name in names for sign in ("/", "."))
    for listing in ("top_level.txt", "RECORD"):
        try:
            if (path / listing).stat().st_size > LARGEST_LIST_BYTES:
                continue
            text = (path / listing).read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        lines = text.splitlines()
        if listing == "top_level.txt" and set(lines) & set(names):
            return True
        if listing == "RECORD" and any(line.startswith(beginnings) for line in lines):
            return True
    return False


def read_loaded(pid: int) -> dict[str, str]:
    """Packages of which a process has mapped compiled files, each with its folder: for one that tells nothing itself."""
    try:
        maps = Path(f"/proc/{pid}/maps").read_text(errors="replace")
    except OSError:
        return {}
    return {found["name"]: found["folder"] for found in _IN_MEMORY.finditer(maps) if not found["name"].endswith("libs")}


# Which frameworks a process has loaded: by the files mapped into its memory, without its help.


_NAMES = {
    "tensorflow": re.compile(r"/(libtensorflow|_pywrap_tensorflow|tensorflow/python/)"),
    "jax": re.compile(r"/jaxlib/"),
    "torch": re.compile(r"/libtorch(_cpu|_python|_cuda)?\.so"),
}


def sample(pid: int) -> LibrariesSeen | None:
    """None where it may not be read, or the process is gone."""
    try:
        maps = Path(f"/proc/{pid}/maps").read_text(errors="replace")
    except OSError:
        return None
    return LibrariesSeen(at=time.time(), pid=pid, names=[name for name, pattern in _NAMES.items() if pattern.search(maps)])
