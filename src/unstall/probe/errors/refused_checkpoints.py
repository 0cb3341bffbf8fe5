"""Which entry of a checkpoint PyTorch refuses to read, and the line of the program that puts it there.

The file is looked at while `torch.load` fails: a temporary one may be gone when the error ends the program. Its pickle is read
operation by operation, and not run.
"""

from __future__ import annotations

import os
import pickle
import pickletools
import re
import zipfile
from collections.abc import Callable
from types import ModuleType, TracebackType
from typing import Any, Optional

from unstall.probe.core.patches import wrap
from unstall.probe.core.probe import Probe
from unstall.probe.errors import returned_parts
from unstall.probe.errors.unseen_lines import list_files

MAX_PICKLE_BYTES = 16_000_000
_REFUSED = re.compile(r"Weights only load failed.*?(?:GLOBAL|global|class) (?P<class>[A-Za-z_][\w.]*\.[\w.]*\w)", re.DOTALL)
_KEPT = "refused entry"


def install(module: ModuleType, probe: Probe) -> None:
    """torch.serialization."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def load(*args: Any, **kwargs: Any) -> Any:
            try:
                return original(*args, **kwargs)
            except pickle.UnpicklingError as error:
                if probe.active:
                    probe.shield.within_budget("refused checkpoint", note, error, args[0] if args else kwargs.get("f"))
                raise

        return load

    def note(error: Exception, file: Any) -> None:
        key = read_refused_key(str(error), file)
        probe.extras[_KEPT] = (str(error), key) if key else None

    wrap(module, "load", make)


def find_entry(probe: Probe, error: Any, traceback: Optional[TracebackType]) -> list[dict[str, Any]]:
    """Where the entry was not seen: what the program saves besides the state of models."""
    if _REFUSED.search(str(error)) is None:
        return []
    message, key = probe.extras.get(_KEPT) or ("", "")
    key = key if message == str(error) else ""
    if key:
        return [{"what": "entry", "name": key, "where": returned_parts.find_key(key, list_files(traceback))}]
    place, names = returned_parts.find_saved(list_files(traceback))
    return [{"what": "saved", "names": names, "where": place}] if names else []


def read_refused_key(message: str, path: Any) -> str:
    """The key in the file under which the refused class stands first; empty where that is not known."""
    match = _REFUSED.search(message)
    if match is None or not isinstance(path, (str, os.PathLike)) or not zipfile.is_zipfile(path):
        return ""
    with zipfile.ZipFile(path) as archive:
        held = [entry for entry in archive.infolist() if entry.filename.endswith("data.pkl")]
        content = archive.read(held[0]) if held and held[0].file_size <= MAX_PICKLE_BYTES else b""
    return _key_before(content, match["class"])


def _key_before(content: bytes, wanted: str) -> str:
    texts: list[str] = []
    for operation, argument, _ in pickletools.genops(content) if content else ():
        if "UNICODE" in operation.name:
            texts.append(str(argument))
        named = str(argument).replace(" ", ".") if operation.name == "GLOBAL" else ".".join(texts[-2:])
        if operation.name in ("GLOBAL", "STACK_GLOBAL") and named == wanted:
            before = texts if operation.name == "GLOBAL" else texts[:-2]
            return before[-1] if before else ""
    return ""
