"""Data that a program names, on its command line or in its source, or holds open: for one that shows nothing from inside.

A folder counts only if data lies in it, and if its name does not speak of what programs write. That a path is named does not show
that it is read: so this is asked only where nothing else tells where the data lies.
"""

from __future__ import annotations

import glob
import os
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from unstall.base.formatting import find_closest_names
from unstall.diagnosis.errors.error_messages import find_missing_path
from unstall.diagnosis.errors.fatal_error import format_texts
from unstall.journal.events import ErrorRaised, PathLooked
from unstall.sensors.data_files import find_kind
from unstall.sensors.label_files import is_annotation

MAX_CANDIDATES = 3000
MAX_NAMED = 40
ENTRIES_LOOKED_AT = 300
WRITTEN = frozenset({
    "checkpoint", "checkpoints", "ckpt", "ckpts", "figures", "log", "logs", "mlruns", "models", "out", "output", "outputs",
    "plots", "predictions", "preds", "results", "runs", "save", "saved", "tb", "tensorboard", "wandb", "weights",
})  # fmt: skip
_OF_RECORDS = re.compile(r"\.(tf)?rec(ord)?s?", re.IGNORECASE)
_QUOTED = re.compile(r"""['"]([^'"\n]{2,400})['"]""")
_UNQUOTED = re.compile(r"""[:=]\s*([\w./~-]{3,400})\s*$""", re.MULTILINE)  # as a settings file has it


def find_named_paths(texts: Iterable[str], command: Sequence[str], folders: Sequence[str]) -> list[str]:
    """Paths that exist and hold data. `folders`: what relative ones can be meant from."""
    found: dict[str, None] = {}
    for candidate in _candidates(texts, command):
        for folder in folders:
            path = os.path.normpath(Path(folder, candidate).expanduser())
            if path not in found and _holds_data(path, folders):
                found[path] = None
        if len(found) >= MAX_NAMED:
            break
    return list(found)


def _candidates(texts: Iterable[str], command: Sequence[str]) -> Iterator[str]:
    names: set[str] = set()
    arguments = [part for argument in command[1:] for part in (argument, argument.partition("=")[2]) if part]
    quoted = (text for source in texts for pattern in (_QUOTED, _UNQUOTED) for text in pattern.findall(source))
    for text in (*arguments, *quoted):
        if text not in names and ("/" in text or "." in text or text.isidentifier()) and "://" not in text and "\0" not in text:
            names.add(text)
            yield text
        if len(names) >= MAX_CANDIDATES:
            return


def _holds_data(path: str, folders: Sequence[str]) -> bool:
    if any(folder == path or folder.startswith(path.rstrip("/") + "/") for folder in folders) or path.count("/") < 2:
        return False  # the program's own folder, or one around it
    if WRITTEN.intersection(part.lower() for part in Path(path).parts[-2:]):
        return False
    try:
        if not Path(path).is_dir():
            kind = find_kind(path) if Path(path).is_file() else None
            return is_annotation(path) if kind == "labels" else kind in {"images", "records", "arrays"}
        return any(find_kind(entry) in {"images", "records", "arrays"} for entry in _entries(path))
    except OSError:
        return False


def _entries(folder: str) -> Iterator[str]:
    """Files in it, and in its first folders."""
    with os.scandir(folder) as entries:
        some = [entry for entry, _ in zip(entries, range(ENTRIES_LOOKED_AT), strict=False)]
    for entry in some:
        if entry.is_file():
            yield entry.path
    for entry in [entry for entry in some if entry.is_dir()][:4]:
        with os.scandir(entry.path) as inner:
            yield from (each.path for each, _ in zip(inner, range(ENTRIES_LOOKED_AT), strict=False) if each.is_file())


def find_open_files(pid: int) -> list[str]:
    """Files of arrays that a process has open for reading right now; of records, those of the same ending beside them, too: which
    of them is open is chance."""
    found = []
    try:
        links = list(Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        return []
    for link in links:
        try:
            path = str(link.readlink())
            if find_kind(path) in {"records", "arrays"} and path.startswith("/") and _is_read(pid, link.name):
                found.append(_with_its_like(path))
        except OSError:
            continue
    return found


def _with_its_like(path: str) -> str:
    suffix = _OF_RECORDS.search(Path(path).name)
    return f"{glob.escape(str(Path(path).parent))}/*{suffix[0]}*" if suffix is not None else path


def _is_read(pid: int, number: str) -> bool:
    for line in Path(f"/proc/{pid}/fdinfo/{number}").read_text().splitlines():
        if line.startswith("flags:"):
            return int(line.split()[1], 8) & os.O_ACCMODE == os.O_RDONLY
    return False


def find_labels(paths: Iterable[str]) -> list[str]:
    return [path for path in paths if find_kind(path) == "labels"]


def is_written(path: str) -> bool:
    """Whether it lies where programs write, by the names of its folders."""
    return bool(WRITTEN.intersection(part.lower() for part in Path(path).parts[-3:]))


# Looks at a path that a program could not find: how far it exists, what lies there under a similar name.


MAX_ENTRIES = 5000
_PROGRAMS = frozenset({".py", ".sh", ".ipynb"})
_VARIABLE = re.compile(r"""(?:environ\.get|getenv)\(\s*f?['"](?P<a>\w+)['"]|environ\[\s*['"](?P<b>\w+)['"]\s*\](?!\s*=[^=])""")


def look(
    error: ErrorRaised,
    folder: str,
    environment: dict[str, str],
    command: Sequence[str] = (),
    unmatched: Sequence[str] = (),
    unread: str | None = None,
) -> PathLooked | None:
    """None if the error is about no missing path. `unmatched`: patterns that matched no file shortly before; `unread`: an image
    that was read just before, and is not there."""
    path = next((path for text in format_texts(error) if (path := find_missing_path(text)) is not None), None)
    path = path or unread or next((pattern for pattern in unmatched if pattern in error.message), None)
    if path is None:
        return None
    whole = Path(folder, path) if folder else Path(path)
    parent, part = _exists_up_to(whole)
    return PathLooked(
        at=time.time(),
        path=path,
        exists_up_to=str(parent),
        near=_names_like(part, parent, "*" in path) if part else [],
        unset_variables=[name for name in _variables(error) if not environment.get(name)],
        named_at=find_line_that_names(path, command, folder),
        is_there=_is_there(whole, parent),
    )


LARGEST_TEXT_BYTES = 20_000_000
MAX_TEXTS = 20


def find_line_that_names(path: str, command: Sequence[str], folder: str) -> str:
    """file:line of the file on the command line in which a path stands: a configuration, a list of images. Empty if in none."""
    for file, text in read_texts(command, folder):
        lines = text.splitlines()
        for name in dict.fromkeys((path, os.path.relpath(path, Path(file).parent) if path.startswith("/") else path)):
            number = next((number for number, line in enumerate(lines, 1) if name in line), None)
            if number is not None:
                return f"{file}:{number}"
    return ""


def read_texts(command: Sequence[str], folder: str) -> Iterator[tuple[str, str]]:
    """The text files on a command line that are no programs: (path, text)."""
    arguments = [part for argument in command[1:] for part in (argument, argument.partition("=")[2]) if part]
    files = dict.fromkeys(os.path.normpath(Path(folder, argument)) for argument in arguments if "\0" not in argument)
    for file in [each for each in files if Path(each).suffix.lower() not in _PROGRAMS][:MAX_TEXTS]:
        text = read_text(file)
        if text is not None:
            yield file, text


def read_text(path: str) -> str | None:
    try:
        is_small = Path(path).is_file() and Path(path).stat().st_size <= LARGEST_TEXT_BYTES
        return Path(path).read_text(encoding="utf-8") if is_small else None
    except (OSError, ValueError):
        return None


def _is_there(path: Path, parent: Path) -> bool:
    """A path, or something that matches it as a pattern; also where that cannot be seen."""
    try:
        return os.path.lexists(path) or any(parent.glob(str(path.relative_to(parent))))
    except (OSError, ValueError, NotImplementedError):
        return True


def _exists_up_to(path: Path) -> tuple[Path, str]:
    """The deepest folder that exists, and the part that does not in it; of a pattern, what stands before its first wildcard."""
    for parent in path.parents:
        if parent.is_dir():
            rest = path.relative_to(parent).parts
            return parent, rest[0].partition("*")[0] if rest else ""
    return Path("/"), ""


def _names_like(part: str, folder: Path, is_beginning: bool) -> list[str]:
    """`is_beginning`: only how a name begins is known, since a wildcard follows."""
    if not is_beginning:
        names = _names(folder)
        same = [name for name in names if _is_same_but_for_case(name, part)]
        return list(dict.fromkeys([*same, *find_closest_names(part, names, 3, cutoff=0.75)]))[:3]
    by_beginning = {name[: len(part)]: name for name in sorted(_names(folder), reverse=True)}
    return [by_beginning[beginning] for beginning in find_closest_names(part, list(by_beginning), 3, cutoff=0.6)]


def _is_same_but_for_case(name: str, other: str) -> bool:
    """Or for the ending: of image_7.jpg, image_7.JPG and image_7.png are such names, and image_8.jpg is not."""
    return Path(name).stem.lower() == Path(other).stem.lower()


def _names(folder: Path) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return [entry.name for entry, _ in zip(entries, range(MAX_ENTRIES), strict=False)]
    except OSError:
        return []


def _variables(error: ErrorRaised) -> list[str]:
    """Environment variables that the user's files in the traceback ask for."""
    found: dict[str, None] = {}
    for frame in error.frames:
        if "site-packages" in frame["file"] or "/lib/python" in frame["file"]:
            continue
        try:
            source = Path(frame["file"]).read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        for match in _VARIABLE.finditer(source):
            found[match["a"] or match["b"]] = None
    return list(found)
