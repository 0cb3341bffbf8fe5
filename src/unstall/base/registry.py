"""A package as a registry: every module in it is an entry, named like its file, and its docstring is the entry's page.

    CAUSES = Registry("unstall.diagnosis.causes", "cause")
    CAUSES.names()                    # the files, sorted
    CAUSES.module("input_starved")    # imported when asked for
    CAUSES.summary("input_starved")   # the first line of its page, without importing it

An entry that is named like a keyword of Python has a file with an underscore appended: `import_.py`. With `hyphens`, names have
hyphens where the files have underscores: `lr-find` is `lr_find.py`.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import keyword
import pkgutil
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from types import ModuleType

from unstall.base.errors import InvalidInputError
from unstall.base.formatting import suggest_closest


class Registry:
    def __init__(self, package: str, kind: str, exclude: Iterable[str] = (), listing: str = "", hyphens: bool = False) -> None:
        """`kind` is what an error message calls an entry. `exclude` are modules of the package that are no entries. `listing` is
        a sentence that says where the entries, `{count}` of them, are listed; without it, an error message names them all."""
        self.package = package
        self.kind = kind
        self._exclude = frozenset(exclude)
        self._listing = listing
        self._hyphens = hyphens

    def names(self) -> tuple[str, ...]:
        return self._names

    @cached_property
    def folder(self) -> Path:
        """Of the package, which is not imported for it."""
        spec = importlib.util.find_spec(self.package)
        if spec is None or not spec.submodule_search_locations:
            raise TypeError(f"{self.package}: expected a package.")
        return Path(spec.submodule_search_locations[0])

    @cached_property
    def _names(self) -> tuple[str, ...]:
        found = {info.name for info in pkgutil.iter_modules([str(self.folder)])} - self._exclude
        names = (stem.removesuffix("_") for stem in found)
        return tuple(sorted(name.replace("_", "-") if self._hyphens else name for name in names))

    def refuse_unknown(self, name: str, within: str = "") -> None:
        """InvalidInputError with the most similar name there is. `within` is put before the name: 'data' of 'data check'."""
        if name not in self.names():
            listing = self._listing.format(count=len(self.names())) or f"{self.kind.capitalize()}s: {', '.join(self.names())}."
            raise InvalidInputError(
                f"There is no {self.kind} '{f'{within} {name}'.strip()}'.{suggest_closest(name, self.names())} {listing}"
            )

    def module(self, name: str) -> ModuleType:
        self.refuse_unknown(name)
        return importlib.import_module(self.module_name(name))

    def module_name(self, name: str) -> str:
        return f"{self.package}.{self._file_stem(name)}"

    def source_file(self, name: str) -> Path:
        path = self.folder / self._file_stem(name)
        return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")

    def _file_stem(self, name: str) -> str:
        stem = name.replace("-", "_") if self._hyphens else name
        return f"{stem}_" if keyword.iskeyword(stem) else stem

    # --- pages ---

    def page(self, name: str) -> str:
        """The docstring of the module, read without importing it: an entry may need packages that are slow or not installed."""
        self.refuse_unknown(name)
        return ast.get_docstring(ast.parse(self.source_file(name).read_text(encoding="utf-8"))) or ""

    def summary(self, name: str) -> str:
        """The first line of the page."""
        return self.page(name).partition("\n")[0]

    def summaries(self) -> dict[str, str]:
        return {name: self.summary(name) for name in self.names()}
