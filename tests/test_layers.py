"""The law of layers: a room imports only from the rooms before it, and a folder holds what one can look through.

Imports inside functions and under `if TYPE_CHECKING` count. What a room is for, and why this order, stands in ARCHITECTURE.md.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "unstall"
ROOMS = (
    "base", "journal", "storage", "diagnosis", "backends", "probe", "data", "sensors", "config", "remedies", "detectors", "training",
    "tfod", "planning", "compare", "report", "board", "supervisor", "cloud", "cli",
)  # fmt: skip
MAX_FILES = 20  # in a folder
# Folders in which each file is one of a kind, found by its name.
REGISTRIES = frozenset({"diagnosis/causes", "data/check/problems", "planning/preflight/checks", "remedies", "cli"})

REGISTERED = (*REGISTRIES, "data/formats", "training/distributed/engines", "journal/events")
MIN_LINES_ALONE = 90  # of a module that only one other imports
# Shorter ones that somebody would look for by name.
LOOKED_FOR_BY_NAME = frozenset({
    "probe/errors/traced_lines",
    "cloud/kubeflow", "data/pipeline/pipeline", "diagnosis/errors/handled_element",
    "diagnosis/errors/jax_transformations", "diagnosis/errors/last_batches", "planning/preflight/data_check_cache",
    "probe/core/traceback_filter", "probe/host/signals", "probe/input/endless_generator",
    "probe/watch", "report/story/workers", "report/terminal/compare", "supervisor/train/preemption", "tfod/augmentations",
})  # fmt: skip


def modules() -> list[Path]:
    return sorted(path for path in SOURCE.rglob("*.py") if path.parent != SOURCE)


def imported(path: Path) -> Iterator[tuple[int, str]]:
    """Lines, and the names of our modules that are imported there."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names if alias.name.startswith("unstall."))
        elif isinstance(node, ast.ImportFrom) and node.module == "unstall":
            yield from ((node.lineno, f"unstall.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("unstall."):
            yield node.lineno, node.module or ""
        elif isinstance(node, ast.ImportFrom) and node.level:
            yield node.lineno, f"a relative import of {node.module or ''}"


def backward(path: Path) -> Iterator[str]:
    own = ROOMS.index(path.relative_to(SOURCE).parts[0])
    for line, name in imported(path):
        room = name.split(".")[1] if name.startswith("unstall.") else name
        if room in ROOMS and ROOMS.index(room) > own:
            yield f"{path.relative_to(ROOT)}:{line} imports {name}"
        elif room not in ROOMS and not room.startswith("__"):
            yield f"{path.relative_to(ROOT)}:{line} imports {name}, which is in no room"


def test_every_folder_at_the_top_is_a_room() -> None:
    folders = {path.name for path in SOURCE.iterdir() if path.is_dir() and any(path.glob("*.py"))}
    assert folders == set(ROOMS), "A new room needs a place in ROOMS and a section in ARCHITECTURE.md."
    assert {path.name for path in SOURCE.glob("*.py")} == {"__init__.py", "__main__.py"}


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_from_the_rooms_before_it(room: str) -> None:
    wrong = [each for path in modules() if path.relative_to(SOURCE).parts[0] == room for each in backward(path)]
    assert not wrong, f"{room} comes before these: pass the thing in, or move it down.\n" + "\n".join(wrong)


def test_folders_can_be_looked_through() -> None:
    folders = {path.parent for path in modules()}
    full = {
        folder.relative_to(SOURCE).as_posix(): count
        for folder in folders
        if (count := sum(path.name != "__init__.py" for path in folder.glob("*.py"))) > MAX_FILES
    }
    assert not {name: count for name, count in full.items() if name not in REGISTRIES}, f"Divide these: {full}"


def importers() -> dict[str, set[str]]:
    """Which modules import each module, by their paths below src/unstall without the ending."""
    paths = {path.relative_to(SOURCE).with_suffix("").as_posix(): path for path in SOURCE.rglob("*.py")}
    found: dict[str, set[str]] = {name: set() for name in paths}
    for importer, path in paths.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("unstall"):
                names = [node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)]
            else:
                names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            for name in names:
                below = name.removeprefix("unstall.").replace(".", "/")
                if below in found and below != importer:
                    found[below].add(importer)
    return found


def test_a_small_module_with_one_importer_joins_it() -> None:
    lonely = {
        name
        for name, by in importers().items()
        if len(by) == 1 and not name.endswith("__") and not name.startswith(REGISTERED)
        if len((SOURCE / f"{name}.py").read_text(encoding="utf-8").splitlines()) < MIN_LINES_ALONE
    }
    unlisted = ", ".join(sorted(lonely - LOOKED_FOR_BY_NAME))
    assert not unlisted, f"Join these to the module that imports them, or add them to LOOKED_FOR_BY_NAME: {unlisted}"
    gone = ", ".join(sorted(LOOKED_FOR_BY_NAME - lonely))
    assert not gone, f"Take these out of LOOKED_FOR_BY_NAME, as they are longer now, gone, or imported by others: {gone}"


def test_every_room_has_its_tests() -> None:
    lacking = [room for room in ROOMS if not any((ROOT / "tests" / room).rglob("test_*.py"))]
    assert not lacking, f"Add tests/{lacking[0]}/test_….py: tests mirror the source."
