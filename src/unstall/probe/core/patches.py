"""Puts a wrapper around a method or function of a framework, once, keeping its name, signature and identity marks."""

from __future__ import annotations

import functools
import importlib.machinery
import inspect
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, Optional

from unstall.probe.core.tracebacks import hide_own_frames

if TYPE_CHECKING:
    Hook = Callable[[ModuleType], None]

MARK = "_unstall_original"
HOOK = "_unstall_hook"
_wrapped = [0]  # in this process


def wrap(owner: Any, name: str, make: Callable[[Callable[..., Any]], Callable[..., Any]]) -> bool:
    """Replaces owner.name by make(original). False if there is no such name, or this hook is on it already; or no owner: what
    another version of a framework does not have.

    Several hooks may lie around one method, the newest outermost.
    """
    if owner is None:
        return False
    original = owner.__dict__.get(name) if isinstance(owner, type) else getattr(owner, name, None)
    hook = f"{make.__module__}.{make.__qualname__}"
    if original is None or isinstance(original, (staticmethod, classmethod, property)) or hook in _hooks_on(original):
        return False
    named = functools.wraps(original)  # both: an error about arguments names the function that was called
    wrapper = named(hide_own_frames(named(make(original))))
    _keep_signature(wrapper, original)
    setattr(wrapper, MARK, original)
    setattr(wrapper, HOOK, hook)
    setattr(owner, name, wrapper)
    _wrapped[0] += 1
    return True


def _keep_signature(wrapper: Any, original: Any) -> None:
    """Also for `inspect.getfullargspec`, by which Keras asks what the `__init__` of a layer takes, and which does not follow
    `__wrapped__`: it sees nothing of what an original has wrapped, nor does it here."""
    if hasattr(original, "__wrapped__"):
        return
    try:
        wrapper.__signature__ = inspect.signature(original)
    except (TypeError, ValueError, AttributeError):  # one without a signature, or with annotations that cannot be read
        return


def count_wrapped() -> int:
    """How many methods and functions have been wrapped: whoever asks before and after knows whether a hook found its place."""
    return _wrapped[0]


def _hooks_on(function: Any) -> list[str]:
    hooks = []
    while hasattr(function, MARK):
        hooks.append(getattr(function, HOOK, ""))
        function = getattr(function, MARK)
    return hooks


def unwrap(owner: Any, name: str) -> None:
    wrapper = owner.__dict__.get(name) if isinstance(owner, type) else getattr(owner, name, None)
    original = getattr(wrapper, MARK, None)
    if original is not None:
        setattr(owner, name, original)


# Calls a hook right after the program itself has imported a module: nothing is imported on our account.
#
# A finder in front of the import system looks only at the names it was told; for those it lets the other finders find the
# module, and runs the hook when its code has run. Afterwards nothing is left on the module to see.


class _HookedLoader:
    """Stands in for a loader until the module has run, then takes itself away."""

    def __init__(self, loader: Any, run_hooks: Callable[[ModuleType], None]) -> None:
        self._loader = loader
        self._run_hooks = run_hooks

    @hide_own_frames
    def create_module(self, spec: importlib.machinery.ModuleSpec) -> Optional[ModuleType]:
        module: Optional[ModuleType] = self._loader.create_module(spec)
        return module

    @hide_own_frames
    def exec_module(self, module: ModuleType) -> None:
        spec = module.__spec__
        if spec is not None:
            spec.loader = self._loader
        module.__loader__ = self._loader
        self._loader.exec_module(module)
        self._run_hooks(module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)


class AfterImport:
    """A meta path finder."""

    def __init__(self) -> None:
        self._hooks: dict[str, list[Hook]] = {}
        self._finding: set[str] = set()

    def add(self, name: str, hook: Hook) -> None:
        """Runs the hook now if the module is there already, else right after its import."""
        module = sys.modules.get(name)
        spec = getattr(module, "__spec__", None)
        if module is not None and not getattr(spec, "_initializing", False):
            hook(module)
        else:
            self._hooks.setdefault(name, []).append(hook)

    def install(self) -> None:
        if self not in sys.meta_path:
            sys.meta_path.insert(0, self)

    @hide_own_frames
    def find_spec(
        self, name: str, path: Optional[Sequence[str]] = None, target: Optional[ModuleType] = None
    ) -> Optional[importlib.machinery.ModuleSpec]:
        if name not in self._hooks or name in self._finding:
            return None
        self._finding.add(name)
        try:
            spec = self._find_without_us(name, path, target)
        finally:
            self._finding.discard(name)
        if spec is not None and hasattr(spec.loader, "exec_module"):
            spec.loader = _HookedLoader(spec.loader, self._run_hooks)  # type: ignore[assignment]
        return spec

    def _find_without_us(
        self, name: str, path: Optional[Sequence[str]], target: Optional[ModuleType]
    ) -> Optional[importlib.machinery.ModuleSpec]:
        for finder in list(sys.meta_path):
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                return spec
        return None

    def _run_hooks(self, module: ModuleType) -> None:
        for hook in self._hooks.pop(module.__name__, []):
            hook(module)
