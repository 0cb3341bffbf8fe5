"""The program's own source: its script, what that imports from the same project, and small text files named on the command line.

It is read from the files, without the program's help: as soon as it is started, and for a program of any kind. What is imported
in ways that the text does not show is added when the program has told what it loaded. Secrets in it are masked.
"""

from __future__ import annotations

import ast
import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from unstall.base.redact.environment import redact_source

MAX_FILES = 200
MAX_BYTES = 2 * 2**20  # of all together
LARGEST_FILE_BYTES = 2**19
LARGEST_NAMED_BYTES = 2**18  # of a file that the command line names
TEXTS = frozenset({
    ".cfg", ".conf", ".config", ".gin", ".hocon", ".ini", ".json", ".json5", ".jsonnet", ".pbtxt", ".properties", ".prototxt",
    ".py", ".sh", ".textproto", ".toml", ".txt", ".yaml", ".yml",
})  # fmt: skip
MAX_HASHED_FILES = 20  # that the command line names and whose text is not kept
HASHED_BYTES = 4 * 2**20  # at the begin and at the end of each
MAX_PATH_LETTERS = 4096
INSTALLED = ("/site-packages/", "/dist-packages/", "/lib/python3")
OWN = str(Path(__file__).parents[1]) + "/"


@dataclass
class Sources:
    """Files by their names relative to the folder of the script; absolute where they lie elsewhere."""

    folder: str
    script: str = ""  # its name
    files: dict[str, dict[str, Any]] = field(default_factory=dict)  # sha256, lines, text
    size_bytes: int = 0
    left_out: int = 0
    named_files: dict[str, dict[str, Any]] = field(default_factory=dict)  # others that the command line names: sha256, size_bytes

    def add(self, path: Path, max_bytes: int = LARGEST_FILE_BYTES) -> str | None:
        """The text, if the file is new, can be read and there is room for it."""
        name = self._name(path)
        if name in self.files:
            return None
        try:
            size = path.stat().st_size
            if len(self.files) >= MAX_FILES or size > max_bytes or self.size_bytes + size > MAX_BYTES:
                self.left_out += 1
                return None
            data = path.read_bytes()
        except OSError:
            self.left_out += 1
            return None
        text = data.decode("utf-8", "replace")
        self.size_bytes += len(data)
        self.files[name] = {
            "sha256": hashlib.sha256(data).hexdigest(),
            "lines": text.count("\n") + 1,
            "text": redact_source(text),
        }
        return text

    def knows(self, path: Path) -> bool:
        return self._name(path) in self.files

    def add_hash(self, path: Path) -> None:
        """Of a large file its size, its begin and its end: reading all of it would take too long."""
        try:
            size = path.stat().st_size
            digest = hashlib.sha256(str(size).encode())
            with path.open("rb") as file:
                digest.update(file.read(HASHED_BYTES))
                if size > HASHED_BYTES:
                    file.seek(max(HASHED_BYTES, size - HASHED_BYTES))
                    digest.update(file.read(HASHED_BYTES))
        except OSError:
            return
        self.named_files[self._name(path)] = {"sha256": digest.hexdigest(), "size_bytes": size}

    def _name(self, path: Path) -> str:
        whole = str(path)
        prefix = self.folder.rstrip("/") + "/"
        return whole[len(prefix) :] if whole.startswith(prefix) else whole


def read(script: str, command: Sequence[str], folder: str, search: Sequence[str] = ()) -> Sources:
    """`search`: further folders that the program imports from, those of PYTHONPATH say."""
    path = Path(script)
    sources = Sources(str(path.parent) if script else folder)
    if script and is_own(script):
        follow(sources, [path], [sources.folder, folder, *search])
        sources.script = next(iter(sources.files), "")
    for named in _named(command, folder):
        is_text = named.suffix.lower() in TEXTS and (named.suffix != ".py" or is_own(str(named)))
        if is_text and (sources.add(named, LARGEST_NAMED_BYTES) is not None or sources.knows(named)):
            continue
        if len(sources.named_files) < MAX_HASHED_FILES and named.suffix and is_own(str(named)):
            sources.add_hash(named)
    return sources


def _named(command: Sequence[str], folder: str) -> list[Path]:
    """Files after the program itself, each once."""
    parts = [part for argument in command[1:] for part in (argument, argument.partition("=")[2]) if part and "\0" not in part]
    paths = [Path(folder, part) for part in parts if len(part) <= MAX_PATH_LETTERS]
    return list(dict.fromkeys(path.resolve() for path in paths if _is_file(path)))


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        return False


def follow(sources: Sources, paths: Sequence[Path], search: Sequence[str]) -> None:
    """Adds these files, and what they import from the folders of the search."""
    folders = [Path(folder) for folder in dict.fromkeys(search) if folder and is_own(f"{folder}/")]
    waiting = list(paths)
    while waiting:
        path = waiting.pop(0)
        text = sources.add(path)
        if text is not None and path.suffix == ".py":
            waiting += [found for found in _imported(path, text, folders) if is_own(str(found))]


def is_own(path: str) -> bool:
    """Whether a file is the user's, not one of a package that is installed, nor Unstall's."""
    return not any(part in path for part in INSTALLED) and not path.startswith(OWN)


def _imported(path: Path, text: str, folders: Sequence[Path]) -> Iterator[Path]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _files(alias.name.split("."), folders)
        elif isinstance(node, ast.ImportFrom):
            base = (node.module or "").split(".") if node.module else []
            around = [path.parents[node.level - 1]] if 0 < node.level <= len(path.parents) else folders
            for alias in node.names:
                yield from _files([*base, alias.name], around)


def _files(parts: Sequence[str], folders: Sequence[Path]) -> Iterator[Path]:
    """Those that the import of a dotted name runs: of each package on the way, and of the module."""
    for folder in folders:
        found = list(_files_in(parts, folder))
        if found:
            yield from found
            return


def _files_in(parts: Sequence[str], folder: Path) -> Iterator[Path]:
    for part in parts:
        package = folder / part / "__init__.py"
        module = folder / f"{part}.py"
        if package.is_file():
            yield Path(os.path.realpath(package))
        elif module.is_file():
            yield Path(os.path.realpath(module))
            return
        elif not (folder / part).is_dir():
            return
        folder = folder / part
