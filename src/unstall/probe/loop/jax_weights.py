"""Whether the steps of one's own JAX loop change the weights: checksums of what the gradient is computed for, now and then.

Which arguments of a jitted step are the weights is found when the step is traced: they are what the function that JAX computes a
gradient in was given, and these are parts of the step's own arguments, or of the same shapes. Weights are looked at only while
the program gives each step new ones: a program that computes gradients for the same weights over and over may not want to change
them. Where something else of the weights' shapes is carried along and changes, it may be what is computed, unless it belongs to
an optimizer that is known. They are read after a call, when the device has finished them, and never where the program has given
their memory away. Of what the program holds nothing is kept.
"""

from __future__ import annotations

import inspect
import re
import sys
import time
import weakref
import zlib
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, Optional, Tuple, Union

from unstall.journal.events import LoopSeen
from unstall.probe.core.probe import Probe
from unstall.probe.coverage import WEIGHTS, get_coverage
from unstall.probe.model import gradient_cuts

MAX_FRAMES = 150  # above a gradient, in which the function around it is looked for
MAX_PARTS = 10_000  # of an argument
MAX_LEAVES = 2000
MAX_BYTES = 2**25  # of weights that are read at a time, where they lie in host memory
MAX_BYTES_COPIED = 2**22  # where they do not
MAX_TRIES = 100  # calls in a row after which the weights were not there yet
LOOK_EVERY_S = 1.0
ACCUMULATES = "MultiStepsState"  # of Optax: it may gather gradients for as long as the program likes
LOOKS_WHILE_CHANGING = 3  # weights that change need no more looking at
_API = "/jax/_src/api.py"  # the functions that `jax.grad` makes may be jitted themselves
_INTERNAL = "/jax/_src/"
_BOUNDARY = "/jax/_src/pjit.py"  # below its frames is what is traced

Place = Tuple[Union[int, str], int]  # an argument, and a leaf of it
Shape = Tuple[Tuple[int, ...], str]


class Differentiated:
    """What a gradient is computed for: where its parts lie in the arguments of each function around it."""

    def __init__(self, frame: FrameType, is_traced: bool) -> None:
        self.is_eager = not is_traced
        self.arguments: Any = frame.f_locals["dyn_args"] if self.is_eager else None  # to be read at once, and not to be kept
        leaves = _leaves(frame.f_locals["dyn_args"])
        self.shapes: list[Shape] = [_shape(leaf) for leaf in leaves]
        self.places: dict[CodeType, list[Place]] = {}
        self._function = _weakly(frame.f_locals.get("fun"))
        wanted = {id(leaf): number for number, leaf in enumerate(leaves)}
        for around in _list_traced_frames(frame) if is_traced and len(leaves) <= MAX_LEAVES else ():
            found = _find_among_arguments(around, wanted)
            if len(found) == len(wanted):
                self.places[around.f_code] = [found[number] for number in range(len(leaves)) if number in found]

    def find(self, codes: set[CodeType], args: Any, kwargs: Any) -> Optional[list[Place]]:
        """In the arguments of a call; None where they are not among these."""
        for code in codes & {*self.places}:
            for skipped in (0, 1):  # the object of a method
                places = [_as_given(place, code.co_varnames, skipped, args) for place in self.places[code]]
                shapes = [getattr(leaf, "shape", None) for leaf in _read_places(places, args, kwargs)]
                if shapes == [shape for shape, _ in self.shapes]:
                    return places
        if self.is_eager:
            return [(number, leaf) for number, value in enumerate(args) for leaf in range(len(_leaves(value)))]
        found = [
            (key, start + number)
            for key, value in [*enumerate(args), *kwargs.items()]
            for shapes in [[_shape(leaf) for leaf in _leaves(value)]]
            for start in range(len(shapes) - len(self.shapes) + 1)
            if shapes[start : start + len(self.shapes)] == self.shapes
            for number in range(len(self.shapes))
        ]
        return found or None

    def find_cut(self) -> tuple[Optional[str], str]:
        function = self._function()
        return (None, "") if function is None else gradient_cuts.find_cut_in_function(function)


def find_differentiated(is_traced: bool) -> Optional[Differentiated]:
    """From within the check that JAX makes of a loss; None where JAX has no such frame."""
    frame: Optional[FrameType] = sys._getframe(1)
    for _ in range(12):
        if frame is None:
            break
        if "dyn_args" in frame.f_code.co_varnames:
            return Differentiated(frame, is_traced)
        frame = frame.f_back
    return None


def _list_traced_frames(frame: FrameType) -> list[FrameType]:
    """Of what is traced, and no others: up to Python 3.12 a frame that was looked at keeps its values until it ends, and that of
    the program's own loop ends late."""
    found: list[FrameType] = []
    around: Optional[FrameType] = frame
    for _ in range(MAX_FRAMES):
        if around is None:
            break
        file = around.f_code.co_filename
        if file.endswith(_BOUNDARY):
            return found
        if _INTERNAL not in file or file.endswith(_API):
            found.append(around)
        around = around.f_back
    return []


class StepWeights:
    """Those that one function, or one line, trains."""

    def __init__(self, probe: Probe, differentiated: list[Optional[Differentiated]]) -> None:
        self._probe = probe
        self._differentiated = differentiated
        self._places: list[Place] = []
        self._names: list[str] = []
        self._before: list[Any] = []  # weak references to what the call before was given
        self._given_back: list[Any] = []  # and to what it gave back
        self._first: dict[int, int] = {}
        self._others: dict[Place, int] = {}  # first checksums of what is carried from step to step beside the weights
        self._calls, self._first_at = 0, 0
        self._due, self._tries, self._changing = 0.0, 0, 0
        self._cut: Optional[tuple[Optional[str], str]] = None
        self._is_over = False

    def called(self, codes: Callable[[], set[CodeType]], args: Any, kwargs: Any, result: Any) -> None:
        """The step, a function under jit."""
        self._calls += 1
        if not self._is_over and time.monotonic() >= self._due:
            self._probe.shield.within_budget("weights of JAX", self._look, codes, args, kwargs, result)

    def computed(self) -> None:
        """A gradient, without jit: from within the check that JAX makes of its loss."""
        self._calls += 1
        if not self._is_over and time.monotonic() >= self._due:
            self._probe.shield.within_budget("weights of JAX", self._look_at_gradient)

    def _look_at_gradient(self) -> None:
        differentiated = find_differentiated(is_traced=False)
        if differentiated is None:
            self._is_over = True
            return
        args, differentiated.arguments = differentiated.arguments, None
        self._differentiated = [differentiated]
        self._look(set, args, {}, ())

    def _look(self, codes: Callable[[], set[CodeType]], args: Any, kwargs: Any, result: Any) -> None:
        if not self._places:
            found = [each and each.find(codes(), args, kwargs) for each in self._differentiated]
            self._places = sorted({place for each in found for place in each or ()}, key=str)
            if None in found or not 0 < len(self._places) <= MAX_LEAVES:
                self._is_over = True
                self._report_blind()
                return
            self._names = [_name(place, args, kwargs) for place in self._places]
        leaves = _read_places(self._places, args, kwargs)
        before, back = self._before, self._given_back
        self._before = [_weakly(leaf) for leaf in leaves]
        self._given_back = [_weakly(leaf) for leaf in _leaves(result)[: 4 * MAX_LEAVES]]
        if not before:
            return  # the next call shows which of them are new in each step
        new = [number for number, leaf in enumerate(leaves) if _is_array(leaf) and before[number]() is not leaf]
        values: dict[int, Any] = {}
        for number in new:
            values[number] = leaves[number]
            if leaves[number].is_deleted():  # the program has given it away: what it became has its place in what is given back
                place = next((index for index, each in enumerate(back) if each() is leaves[number]), None)
                values[number] = None if place is None else self._given_back[place]()
        readable = {number: value for number, value in values.items() if _is_array(value) and not value.is_deleted()}
        self._read(readable, len(new), lambda: self._find_carried(args, kwargs, result, back))

    def _find_carried(self, args: Any, kwargs: Any, result: Any, back: list[Any]) -> dict[Place, Any]:
        """Other values of the weights' shapes that the call before gave back, and what has become of them."""
        if any(_holds_known_optimizer(value) for value in (*args, *kwargs.values())):
            return {}
        shapes = {tuple(leaf.shape) for leaf in _read_places(self._places, args, kwargs)}
        kernels = {shape for shape in shapes if len(shape) > 1} or shapes
        given = {id(each()): index for index, each in enumerate(back) if each() is not None}
        returned, weights = _leaves(result), {*self._places}
        found: dict[Place, Any] = {}
        for key, value in [*enumerate(args), *kwargs.items()]:
            for index, leaf in enumerate(_leaves(value)):
                if _is_array(leaf) and tuple(leaf.shape) in kernels and id(leaf) in given and (key, index) not in weights:
                    found[key, index] = returned[given[id(leaf)]] if leaf.is_deleted() else leaf
        return found

    def _read(self, values: dict[int, Any], count: int, find_carried: Callable[[], dict[Place, Any]]) -> None:
        if not all(value.is_ready() for value in values.values()):
            self._tries += 1
            if self._tries < MAX_TRIES:
                return
            values = {}
        self._before, self._given_back, self._tries = [], [], 0
        self._due = time.monotonic() + LOOK_EVERY_S
        sums = _checksums(values)
        fresh = [number for number in sums if number not in self._first]
        if not self._first:
            self._first_at = self._calls
        for number in fresh:
            self._first[number] = sums[number]
        changed = [number for number in sums if self._first[number] != sums[number]]
        is_complete = bool(sums) and len(sums) == count  # what was not read may be what changes
        if changed or (is_complete and not self._do_others_change(find_carried()) and not fresh):
            self._report(changed, [number for number in sums if number not in changed])
        elif count and not is_complete:
            self._report_blind()

    def _report_blind(self) -> None:
        coverage = get_coverage(self._probe)
        coverage.hook_is_blind((WEIGHTS,), ("jax",))
        coverage.report()

    def _do_others_change(self, others: dict[Place, Any]) -> bool:
        if any(value.is_deleted() or not value.is_ready() for value in others.values()):
            return True  # not known
        sums = _checksums(others)
        return len(sums) < len(others) or any(self._others.setdefault(place, found) != found for place, found in sums.items())

    def _report(self, changed: list[int], unchanged: list[int]) -> None:
        coverage = get_coverage(self._probe)
        coverage.hook_installed("jax", (WEIGHTS,))
        coverage.report()
        self._changing += bool(changed)
        self._is_over = self._changing >= LOOKS_WHILE_CHANGING
        if self._cut is None and not changed:
            cuts = [each.find_cut() for each in self._differentiated if each is not None]
            self._cut = next((cut for cut in cuts if cut[0] is not None), (None, ""))
        cut_at, cut_by = self._cut or (None, "")
        facts = {
            "kind": "weights",
            "step": self._calls - self._first_at,
            "changed": [self._names[number] for number in changed],
            "unchanged": [self._names[number] for number in unchanged],
            "learning_rate": None,
            "learning_rate_at": None,
            "optimizers": 0,
            "applied": True,  # what is given to the next step is new each time
            "applied_to_these": True,
            "applied_at": None,
            "asked_at": None,
            "in_fit": False,
            "asked_in_fit": False,
            "cut_at": cut_at,
            "cut_by": cut_by,
        }
        self._probe.emit(LoopSeen(at=time.time(), facts=facts))


# --- what JAX holds ---


def _leaves(tree: Any) -> list[Any]:
    found: list[Any] = sys.modules["jax"].tree_util.tree_leaves(tree)
    return found


def _shape(leaf: Any) -> Shape:
    return tuple(getattr(leaf, "shape", ())), str(getattr(leaf, "dtype", type(leaf)))


def _weakly(value: Any) -> Any:
    try:
        return weakref.ref(value)
    except TypeError:
        return lambda: None


def _is_array(leaf: Any) -> bool:
    """One with numbers of JAX's own: not a key, not NumPy's."""
    tells = callable(getattr(leaf, "is_ready", None)) and callable(getattr(leaf, "is_deleted", None))
    return tells and "float" in str(getattr(leaf, "dtype", ""))


def _is_in_host_memory(value: Any) -> bool:
    return all(device.platform == "cpu" for device in value.devices())


def _checksums(values: dict[Any, Any]) -> dict[Any, int]:
    """Of the smallest first, as far as they may be read."""
    sums: dict[Any, int] = {}
    left = MAX_BYTES if all(_is_in_host_memory(value) for value in values.values()) else MAX_BYTES_COPIED
    for key, value in sorted(values.items(), key=lambda pair: int(pair[1].nbytes)):
        left -= int(value.nbytes)
        if left < 0 or not value.is_fully_addressable:
            break
        sums[key] = _checksum(value)
    return sums


def _holds_known_optimizer(value: Any) -> bool:
    """By the names of what Optax keeps for its optimizers: they are not found among the values alone."""
    optax = sys.modules.get("optax")
    if optax is None:
        return False
    structure = str(sys.modules["jax"].tree_util.tree_structure(value))
    names = re.findall(r"namedtuple\[(\w+State)\]", structure)
    return ACCUMULATES not in names and any(hasattr(optax, name) for name in names)


def _checksum(value: Any) -> int:
    numpy = sys.modules["numpy"]
    had = getattr(value, "_npy_value", None)
    if _is_in_host_memory(value):
        array = numpy.asarray(value)
    else:
        with sys.modules["jax"].transfer_guard_device_to_host("allow"):  # whatever the program forbids itself
            array = numpy.asarray(value)
    found = zlib.crc32(array.tobytes())
    if had is None and getattr(value, "_npy_value", None) is not None:
        del array
        value._npy_value = None  # else JAX would keep the copy as long as the program keeps the value
    return found


def _find_among_arguments(frame: FrameType, wanted: dict[int, int]) -> dict[int, Place]:
    """By the number of the part."""
    code, values = frame.f_code, frame.f_locals
    names = code.co_varnames
    count = code.co_argcount
    given: list[tuple[Union[int, str], Any]] = list(enumerate(values.get(name) for name in names[:count]))
    given += [(name, values.get(name)) for name in names[count : count + code.co_kwonlyargcount]]
    next_name = count + code.co_kwonlyargcount
    if code.co_flags & inspect.CO_VARARGS:
        rest = values.get(names[next_name])
        given += list(enumerate(rest, count)) if isinstance(rest, tuple) else []  # else it is something else by now
        next_name += 1
    if code.co_flags & inspect.CO_VARKEYWORDS:
        named = values.get(names[next_name])
        given += list(named.items()) if isinstance(named, dict) else []
    found: dict[int, Place] = {}
    for key, value in given:
        if isinstance(value, (list, tuple, dict)) and len(value) > MAX_PARTS:
            continue
        for index, leaf in enumerate(_leaves(value)):
            if id(leaf) in wanted:
                found.setdefault(wanted[id(leaf)], (key, index))
    return found


def _as_given(place: Place, names: tuple[str, ...], skipped: int, args: Any) -> Place:
    """An argument that has a position may be given by its name."""
    key, leaf = place
    if not isinstance(key, int):
        return place
    return (key - skipped, leaf) if key - skipped < len(args) or key >= len(names) else (names[key], leaf)


def _read_places(places: list[Place], args: Any, kwargs: Any) -> list[Any]:
    trees: dict[Union[int, str], list[Any]] = {}
    found = []
    for key, leaf in places:
        if key not in trees:
            is_there = 0 <= key < len(args) if isinstance(key, int) else key in kwargs
            trees[key] = _leaves(args[key] if isinstance(key, int) else kwargs[key]) if is_there else []
        found.append(trees[key][leaf] if leaf < len(trees[key]) else None)
    return found


def _name(place: Place, args: Any, kwargs: Any) -> str:
    key, leaf = place
    value = args[key] if isinstance(key, int) else kwargs[key]
    tree = sys.modules["jax"].tree_util
    head = f"argument {key + 1}" if isinstance(key, int) else key
    if not hasattr(tree, "tree_flatten_with_path"):
        return f"{head}, part {leaf + 1}"
    path = tree.tree_flatten_with_path(value)[0][leaf][0]
    return f"{head} {tree.keystr(path)}".strip()
