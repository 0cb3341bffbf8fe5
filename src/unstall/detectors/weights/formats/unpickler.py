"""Reads the pickle inside a checkpoint without running anything that it names.

A pickle is a program for a small machine with a stack. Python's own machine imports and calls whatever the program says. This one
knows the few steps that a dictionary of tensors needs, imports nothing, and turns the few names that PyTorch and NumPy write into
descriptions. Whatever else a script saved beside the weights (its arguments, single numbers of NumPy) is passed over: it is
neither made nor called, and only its name is kept. What would run a command is refused by its name. Keys are text or whole
numbers only: nothing is hashed that could be nested.
"""

from __future__ import annotations

import math
import pickletools
from collections.abc import Callable
from typing import IO, Any, NamedTuple, Protocol, cast

import numpy as np

from unstall.detectors.weights.tensors import (
    MAX_TENSORS,
    SIZES,
    Array,
    StoredTensor,
    Unreadable,
    format_value,
    from_bytes,
    parse_shape,
)

# Arrays of NumPy as a pickle describes them: no NumPy is asked to make anything of them but a row of numbers. A pickle calls
# `_reconstruct` for an empty array and then gives it its state: shape, kind of numbers, order and bytes. Here both are written
# down, and checked before the bytes are read as numbers.

CODES = {
    "f8": "float64", "f4": "float32", "f2": "float16", "i8": "int64", "i4": "int32", "i2": "int16", "i1": "int8", "u1": "uint8",
    "b1": "bool",
}  # fmt: skip


class Kind:
    """Of numbers: `numpy.dtype('f4')`, and then the order of its bytes."""

    def __init__(self, code: Any = None, *_: Any) -> None:
        self.code = code
        self.is_little = True

    def build(self, state: Any) -> None:
        self.is_little = not (isinstance(state, tuple) and len(state) > 1 and state[1] == ">")

    @property
    def name(self) -> str:
        code = self.code.decode("latin-1") if isinstance(self.code, bytes) else self.code
        bare = code.lstrip("<>|=") if isinstance(code, str) else ""
        if bare not in CODES:
            raise Unreadable(f"It has an array of the kind '{format_value(code)}'. Expected one of: {', '.join(CODES)}.")
        return CODES[bare]


class Plain:
    """An array, written out in the pickle itself."""

    def __init__(self) -> None:
        self.shape: tuple[int, ...] = ()
        self._kind, self._raw, self._is_fortran = Kind(), b"", False

    def build(self, state: Any) -> None:
        if not isinstance(state, tuple) or len(state) != 5:
            raise Unreadable("An array is not described as NumPy does: expected version, shape, kind, order and bytes.")
        _, shape, kind, is_fortran, raw = state
        self._fill(shape, kind, is_fortran is True, raw)

    def _fill(self, shape: Any, kind: Any, is_fortran: bool, raw: Any) -> None:
        self.shape = parse_shape(shape, "an array's shape")
        if not isinstance(kind, Kind) or not isinstance(raw, bytes | bytearray):
            raise Unreadable("An array is not described as NumPy does: expected its numbers as bytes, of a kind of numbers.")
        expected = math.prod(self.shape) * SIZES[kind.name]
        if len(raw) != expected:
            raise Unreadable(f"An array of shape {format_value(self.shape)} has {len(raw):,} bytes; expected {expected:,}.")
        self._kind, self._raw, self._is_fortran = kind, bytes(raw), is_fortran

    def stored(self) -> StoredTensor:
        return StoredTensor(self.shape, self._kind.name, self._read)

    def _read(self) -> Array:
        row = from_bytes(self._raw, self._kind.name, self._kind.is_little)
        return np.ascontiguousarray(row.reshape(self.shape, order="F" if self._is_fortran else "C"))


def reconstruct(*_: Any) -> Plain:
    """Empty: its state comes behind it."""
    return Plain()


def from_buffer(raw: Any = b"", kind: Any = None, shape: Any = (), order: Any = "C", *_: Any) -> Plain:
    """As protocol 5 writes it, all at once."""
    array = Plain()
    array._fill(shape, kind, order == "F", raw)
    return array


def encode_latin1(text: Any = "", coding: Any = "", *_: Any) -> bytes:
    """Bytes as protocol 2 writes them: as text of the first 256 characters."""
    if not isinstance(text, str) or coding not in {"latin1", "latin-1"}:
        raise Unreadable("It has bytes that are written as no version of Python does.")
    return text.encode("latin-1")


MAX_STEPS = 100 * MAX_TENSORS
STORAGES = {
    "DoubleStorage": "float64", "FloatStorage": "float32", "HalfStorage": "float16", "BFloat16Storage": "bfloat16",
    "LongStorage": "int64", "IntStorage": "int32", "ShortStorage": "int16", "CharStorage": "int8", "ByteStorage": "uint8",
    "BoolStorage": "bool",
}  # fmt: skip


class Name(NamedTuple):
    """Something that a pickle refers to by its module and its name, as in 'os.system'."""

    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"[:120]


class Storage(NamedTuple):
    """The numbers of one or several tensors, in a row."""

    kind: str
    key: str
    length: int


class OpaqueObject(NamedTuple):
    """Something that a script saved beside the weights, and that is not made here."""

    name: Name


class TensorView(NamedTuple):
    """A tensor: where in its storage it lies."""

    storage: Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


def _rebuilt(storage: Any, offset: Any, shape: Any, strides: Any, *_: Any) -> TensorView:
    shape, strides = parse_shape(shape, "a tensor's size"), parse_shape(strides, "a tensor's strides")
    if not isinstance(storage, Storage) or type(offset) is not int or offset < 0 or len(shape) != len(strides):
        raise Unreadable("A tensor is not described as PyTorch does: expected storage, offset, size and strides.")
    return TensorView(storage, offset, shape, strides)


def _parameter(data: Any, *_: Any) -> Any:
    return data


def _dictionary(pairs: Any = (), *_: Any) -> dict[Any, Any]:
    result: dict[Any, Any] = {}
    for pair in pairs if isinstance(pairs, list | tuple) else ():
        if isinstance(pair, list | tuple) and len(pair) == 2:
            _put(result, pair[0], pair[1])
    return result


# What a pickle may call, and what is done instead. Anything else becomes a `OpaqueObject`.
CALLS: dict[Name, Callable[..., Any]] = {
    Name("torch._utils", "_rebuild_tensor_v2"): _rebuilt,
    Name("torch._utils", "_rebuild_tensor"): _rebuilt,
    Name("torch._utils", "_rebuild_parameter"): _parameter,
    Name("torch.nn.parameter", "Parameter"): _parameter,
    Name("collections", "OrderedDict"): _dictionary,
    Name("collections", "defaultdict"): lambda *_: {},
    Name("torch", "Size"): lambda sides=(), *_: sides,
    Name("torch", "device"): lambda *_: None,
    Name("numpy", "dtype"): Kind,
    Name("_codecs", "encode"): encode_latin1,
}
for core in ("core", "_core"):  # before NumPy 2, and since
    CALLS[Name(f"numpy.{core}.multiarray", "_reconstruct")] = reconstruct
    CALLS[Name(f"numpy.{core}.numeric", "_frombuffer")] = from_buffer
MENTIONED = {Name("torch", kind) for kind in STORAGES} | {Name("numpy", "ndarray")}  # never called
MENTIONED |= {Name("torch", kind) for kind in ("float64", "float32", "float16", "bfloat16", "int64", "int32", "uint8", "bool")}
# No script saves these beside its weights: a file that names them means harm.
HARMFUL_MODULES = frozenset({"os", "posix", "nt", "subprocess", "sys", "pty", "runpy", "importlib", "socket", "shutil", "ctypes"})
HARMFUL = frozenset(
    Name(module, name)
    for module in ("builtins", "__builtin__")
    for name in ("eval", "exec", "compile", "open", "apply", "getattr", "__import__", "execfile")
)


class Source(Protocol):
    def read(self, count: int, /) -> bytes: ...

    def readline(self) -> bytes: ...

    def tell(self) -> int: ...


def load(file: Source, met: dict[str, Storage] | None = None, passed: list[Name] | None = None) -> Any:
    """What the next pickle of the file describes; the file then stands right behind it. `met` gets the storages it mentions,
    `passed` the names of what is not made."""
    machine = _Machine({} if met is None else met, [] if passed is None else passed)
    try:
        for steps, (opcode, argument, _) in enumerate(pickletools.genops(cast(IO[bytes], file))):
            if steps > MAX_STEPS:
                raise Unreadable(f"The pickle has more than {MAX_STEPS:,} steps; a checkpoint has a few thousand.")
            machine.step(opcode.name, argument)
    except (ValueError, IndexError, KeyError, TypeError, UnicodeError, OverflowError, MemoryError) as error:
        raise Unreadable(f"Its pickle is damaged or cut off: {str(error)[:120]}.") from None
    return machine.result()


def describe_refusal(name: Name) -> Unreadable:
    return Unreadable(
        f"It refers to '{name}', which is no part of a dictionary of tensors. Nothing of it was run. "
        "Save the weights alone: torch.save(model.state_dict(), path)"
    )


class _Machine:
    def __init__(self, met: dict[str, Storage], passed: list[Name]) -> None:
        self.met = met
        self.passed = passed
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}

    def result(self) -> Any:
        if len(self.stack) != 1:
            raise Unreadable("Its pickle is damaged: it describes no single thing.")
        return self.stack[0]

    def step(self, name: str, argument: Any) -> None:
        if name in PUSHED:
            self.stack.append(argument)
        elif name in CONSTANTS:
            self.stack.append(CONSTANTS[name])
        elif name in STEPS:
            STEPS[name](self, argument)
        elif name not in IGNORED:
            raise Unreadable(f"Its pickle has the step {name}, which no dictionary of tensors needs. Nothing of it was run.")

    def since_mark(self) -> list[Any]:
        begin = self.marks.pop()
        values = self.stack[begin:]
        del self.stack[begin:]
        return values

    def pop(self) -> Any:
        if self.marks and len(self.stack) <= self.marks[-1]:
            raise IndexError("the stack is empty")
        return self.stack.pop()

    def name(self, module: Any, name: Any) -> None:
        if not isinstance(module, str) or not isinstance(name, str):
            raise TypeError("a name that is no text")
        named = Name(module, name)
        if module.partition(".")[0] in HARMFUL_MODULES or named in HARMFUL:
            raise describe_refusal(named)
        if named not in CALLS and named not in MENTIONED:
            self.passed.append(named)
        self.stack.append(named)

    def reduce(self) -> None:
        """Also for an object made anew of its class and arguments: neither is done."""
        arguments, called = self.pop(), self.pop()
        if not isinstance(called, Name) or called in MENTIONED or not isinstance(arguments, tuple):
            raise Unreadable(f"It calls '{format_value(called)}', which is nothing that may be called. Nothing of it was run.")
        self.stack.append(CALLS[called](*arguments) if called in CALLS else OpaqueObject(called))

    def reduce_named(self) -> None:
        self.pop()  # arguments by name
        self.reduce()

    def build(self) -> None:
        """The state of a thing: what is in an array; metadata of a dictionary, which is not needed; or of what is passed over."""
        state = self.pop()
        if isinstance(self.stack[-1], Plain | Kind):
            self.stack[-1].build(state)
        elif not isinstance(self.stack[-1], dict | OpaqueObject):
            raise Unreadable("It gives a state to something that is no dictionary. Nothing of it was run.")

    def persistent(self) -> None:
        described = self.pop()
        if not isinstance(described, tuple) or len(described) < 5 or described[0] != "storage":
            raise Unreadable("It refers to something outside the pickle that is no storage of a tensor.")
        _, kind, key, _, count = described[:5]
        if not isinstance(kind, Name) or kind.name not in STORAGES or not isinstance(key, str | int):
            said = str(kind) if isinstance(kind, Name) else format_value(kind)
            raise Unreadable(f"It has a storage of the kind '{said}'. Expected one of: {', '.join(STORAGES)}.")
        if type(count) is not int or count < 0:
            raise Unreadable(f"A storage has '{format_value(count)}' numbers. Expected a whole number.")
        if len(described) > 5 and described[5] is not None:
            raise Unreadable(
                "A storage is a view of another, as files of PyTorch 0.3 have it. Save it again with a later version."
            )
        storage = Storage(STORAGES[kind.name], str(key), count)
        if self.met.setdefault(storage.key, storage) != storage:
            raise Unreadable(f"The storage '{format_value(storage.key)}' is described in two ways.")
        self.stack.append(storage)

    def drop(self) -> None:
        self.pop()

    def tuple_of(self, count: int) -> None:
        values = [self.pop() for _ in range(count)]
        self.stack.append(tuple(reversed(values)))

    def extend(self, values: list[Any]) -> None:
        if isinstance(self.stack[-1], OpaqueObject):
            return
        if not isinstance(self.stack[-1], list):
            raise TypeError("values for a list that is none")
        self.stack[-1].extend(values)

    def set_items(self, values: list[Any]) -> None:
        if isinstance(self.stack[-1], OpaqueObject):
            return
        for key, value in zip(values[::2], values[1::2], strict=True):
            _put(self.stack[-1], key, value)

    def mark(self, _: Any) -> None:
        self.marks.append(len(self.stack))


def _put(target: Any, key: Any, value: Any) -> None:
    if not isinstance(target, dict):
        raise TypeError("items for a dictionary that is none")
    if not isinstance(key, str | int):
        raise Unreadable(f"A dictionary has a key of the kind {type(key).__name__}. Expected names of tensors.")
    target[key] = value


PUSHED = frozenset({
    "BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "BINSTRING",
    "SHORT_BINSTRING", "SHORT_BINBYTES", "BINBYTES", "INT", "UNICODE", "LONG", "LONG4", "FLOAT", "BINBYTES8", "STRING",
    "BYTEARRAY8",
})  # fmt: skip
CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False, "EMPTY_TUPLE": ()}
IGNORED = frozenset({"PROTO", "FRAME", "STOP"})
STEPS: dict[str, Callable[[_Machine, Any], None]] = {
    "MARK": _Machine.mark,
    "EMPTY_DICT": lambda machine, _: machine.stack.append({}),
    "EMPTY_LIST": lambda machine, _: machine.stack.append([]),
    "DICT": lambda machine, _: machine.stack.append(_dictionary(list(_pairs(machine.since_mark())))),
    "LIST": lambda machine, _: machine.stack.append(machine.since_mark()),
    "TUPLE": lambda machine, _: machine.stack.append(tuple(machine.since_mark())),
    "TUPLE1": lambda machine, _: machine.tuple_of(1),
    "TUPLE2": lambda machine, _: machine.tuple_of(2),
    "TUPLE3": lambda machine, _: machine.tuple_of(3),
    "APPEND": lambda machine, _: machine.extend([machine.pop()]),
    "APPENDS": lambda machine, _: machine.extend(machine.since_mark()),
    "SETITEM": lambda machine, _: machine.set_items([*reversed([machine.pop(), machine.pop()])]),
    "SETITEMS": lambda machine, _: machine.set_items(machine.since_mark()),
    "BINPUT": lambda machine, place: machine.memo.__setitem__(place, machine.stack[-1]),
    "LONG_BINPUT": lambda machine, place: machine.memo.__setitem__(place, machine.stack[-1]),
    "MEMOIZE": lambda machine, _: machine.memo.__setitem__(len(machine.memo), machine.stack[-1]),
    "BINGET": lambda machine, place: machine.stack.append(machine.memo[place]),
    "LONG_BINGET": lambda machine, place: machine.stack.append(machine.memo[place]),
    "GLOBAL": lambda machine, words: machine.name(*words.split(" ", 1)),
    "STACK_GLOBAL": lambda machine, _: machine.name(*reversed([machine.pop(), machine.pop()])),
    "REDUCE": lambda machine, _: machine.reduce(),
    "NEWOBJ": lambda machine, _: machine.reduce(),
    "NEWOBJ_EX": lambda machine, _: machine.reduce_named(),
    "EMPTY_SET": lambda machine, _: machine.stack.append(OpaqueObject(Name("builtins", "set"))),
    "ADDITEMS": lambda machine, _: machine.extend(machine.since_mark()),
    "POP": lambda machine, _: machine.drop(),
    "BUILD": lambda machine, _: machine.build(),
    "BINPERSID": lambda machine, _: machine.persistent(),
}


def _pairs(values: list[Any]) -> zip[tuple[Any, Any]]:
    return zip(values[::2], values[1::2], strict=True)
