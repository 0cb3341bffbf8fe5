"""Our imports inside the program: the standard library's modules, whatever files of the program's bear their names.

A program may have a `json.py` or a `resource.py` beside its script. An import of ours must neither run that file nor fail by
it; and the program must get its own file when it imports that name, not the module that we have loaded.

Other threads import meanwhile as if nothing were here. Loads nothing that Python has not loaded before the program.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # that of `typing` would load `typing`, which the program may have a file for
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from typing import Any, Optional

LIBRARY = os.path.dirname(os.path.abspath(os.__file__))
FOLDERS = (LIBRARY, os.path.join(LIBRARY, "lib-dynload"))
NOT_NEEDED = ("test", "distutils")  # that we never import, and many a program has: theirs stay where they are


class OwnImports:
    """`with OwnImports(): import json`"""

    def __init__(self) -> None:
        self._thread = 0
        self._before: frozenset[str] = frozenset()
        self._programs: dict[str, Any] = {}  # modules of the program's that bear a name of the standard library's

    def __enter__(self) -> OwnImports:
        self._thread = _this_thread()
        names = _names_of_the_library()
        hiding = {name for name in names & {*sys.modules} if not _is_of_the_library(name, sys.modules[name])}
        if hiding:
            self._programs = {name: module for name, module in [*sys.modules.items()] if name.partition(".")[0] in hiding}
            for name in self._programs:
                del sys.modules[name]
        self._before = frozenset(sys.modules)
        sys.meta_path.insert(0, self)
        return self

    def __exit__(self, *error: object) -> None:
        sys.meta_path[:] = [finder for finder in sys.meta_path if finder is not self]
        fresh = [name for name in [*sys.modules] if name not in self._before]
        tops = {name for name in _names_of_the_library().intersection(fresh) if _is_of_the_library(name, sys.modules[name])}
        hidden = {top for top in tops if top in self._programs or _program_has_its_own(top)}
        for name in fresh:
            if name.partition(".")[0] in hidden:
                sys.modules.pop(name, None)
        sys.modules.update(self._programs)

    def find_spec(self, name: str, path: Optional[Sequence[str]] = None, target: Any = None) -> Optional[ModuleSpec]:
        """Of a module of the standard library that lies in a file. Those that lie in Python itself are found before any file."""
        if path is not None or _this_thread() != self._thread or name not in _names_of_the_library():
            return None
        spec: Optional[ModuleSpec] = _path_finder().find_spec(name, list(FOLDERS))
        return spec


def _this_thread() -> int:
    import _thread  # a part of Python itself

    return _thread.get_ident()


def _path_finder() -> Any:
    import _frozen_importlib_external  # a part of Python itself

    return _frozen_importlib_external.PathFinder


_names: set[str] = set()


def _names_of_the_library() -> set[str]:
    """Of its files; none where they cannot be listed."""
    if not _names:
        import _imp  # a part of Python itself

        for folder in FOLDERS:
            try:
                listed = os.listdir(folder)
            except OSError:
                continue
            _names.update(name.partition(".")[0] for name in listed)
        _names.difference_update([*NOT_NEEDED, *sys.builtin_module_names, *filter(_imp.is_frozen, [*_names])])
    return _names


def _is_of_the_library(name: str, module: Any) -> bool:
    origin = getattr(getattr(module, "__spec__", None), "origin", None)
    if not isinstance(origin, str) or not os.path.isabs(origin):
        return True  # of Python itself, or made by the program: not one that a file of the program's was imported for
    folder, own = os.path.dirname(origin), (*FOLDERS, os.path.join(LIBRARY, name))
    return folder in own or os.path.realpath(folder) in [os.path.realpath(each) for each in own]


def _program_has_its_own(name: str) -> bool:
    """A file that an import of the program's finds before the standard library."""
    before = []
    for folder in sys.path:
        if folder == LIBRARY or os.path.realpath(folder) == os.path.realpath(LIBRARY):
            break
        before.append(folder)
    spec = _path_finder().find_spec(name, before) if before else None
    return spec is not None and spec.loader is not None and spec.origin is not None
