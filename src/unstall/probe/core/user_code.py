"""Which of the user's own lines is running: a walk up the stack from a hook to the first file that is theirs."""

from __future__ import annotations

import ast
import linecache
import sys
import sysconfig
from types import CodeType, FrameType, TracebackType
from typing import Any, Optional

from unstall.journal.events import Frame
from unstall.probe.core import tracebacks
from unstall.probe.core.tracebacks import OWN

_STDLIB = sysconfig.get_paths()["stdlib"] + "/"
_AROUND_HOOKS = tracebacks.__file__
_INSTALLED = (
    "/site-packages/",
    "/dist-packages/",
    "/keras/src/",  # the frameworks, wherever they lie
    "/keras/engine/",
    "/tensorflow/python/",
    "/tensorflow_core/python/",
    "/jax/_src/",
    "/torch/nn/",
    "/torch/utils/",
    "/torch/optim/",
    "/__autograph_generated_file",
)  # the last: TensorFlow's rewriting of user code
MAX_FRAMES = 60
MAX_DECORATOR_LINES = 30
PARSE_ATTEMPTS = 5

_is_user_code: dict[CodeType, bool] = {}


def is_user_code(code: CodeType) -> bool:
    known = _is_user_code.get(code)
    if known is None:
        known = is_user_path(code.co_filename)
        _is_user_code[code] = known
    return known


def is_own_file(file: str) -> bool:
    """Whether it is Unstall's."""
    return file.startswith(OWN)


def is_user_path(file: str) -> bool:
    installed = any(part in file for part in _INSTALLED)
    return not (installed or file.startswith(("<frozen", OWN, _STDLIB)) or file == "<string>")


def find_calling_code(depth: int) -> CodeType:
    """Of the frame so far above the one that asks; what lies around every hook of ours (`probe/core/tracebacks.py`) is none."""
    frame = sys._getframe(depth + 1)
    while frame.f_back is not None and frame.f_code.co_filename == _AROUND_HOOKS:
        frame = frame.f_back
    return frame.f_code


def find_user_place(depth: int = 1) -> Optional[str]:
    """file:line of the innermost user frame above the caller, or None."""
    frame = find_user_frame(depth + 1)
    return None if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"


def find_user_frame(depth: int = 1) -> Optional[FrameType]:
    """The innermost user frame above the caller, or None."""
    frame: Optional[FrameType] = sys._getframe(depth)
    for _ in range(MAX_FRAMES):
        if frame is None or is_user_code(frame.f_code):
            return frame
        frame = frame.f_back
    return None


def find_code_place(function: Any) -> Optional[str]:
    """file:line of where a function was defined, through wrappers."""
    for _ in range(10):
        code = getattr(function, "__code__", None)
        if code is not None and is_user_code(code):
            return f"{code.co_filename}:{_definition_line(code)}"
        function = (
            getattr(function, "__wrapped__", None)
            or getattr(function, "func", None)
            or getattr(function, "python_function", None)
        )
        if function is None:
            return None
    return None


def _definition_line(code: CodeType) -> int:
    """The line of `def`: the code of a decorated function begins at its decorator."""
    if code.co_name == "<lambda>":
        return code.co_firstlineno
    for line in range(code.co_firstlineno, code.co_firstlineno + MAX_DECORATOR_LINES):
        text = linecache.getline(code.co_filename, line).lstrip()
        if text.startswith(("def ", "async def ", "class ")) or not text:
            return line if text else code.co_firstlineno
    return code.co_firstlineno


def list_traceback_frames(traceback: Optional[TracebackType]) -> list[Frame]:
    """Innermost first, without ours."""
    frames: list[Frame] = []
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if not code.co_filename.startswith(OWN):
            frames.append({"function": code.co_name, "file": code.co_filename, "line": traceback.tb_lineno, "module": ""})
        traceback = traceback.tb_next
    frames.reverse()
    return frames[:MAX_FRAMES]


# Whether a class or a function is Keras's own, by the package that it comes from: Keras 2 has lived in several.


ROOTS = ("keras", "tf_keras")
INSIDE_TENSORFLOW = ("tensorflow.python.keras", "tensorflow_core.python.keras")  # up to TensorFlow 2.5, and up to 2.1


def is_of_keras(kind: Any) -> bool:
    module = str(getattr(kind, "__module__", ""))
    return module.split(".", maxsplit=1)[0] in ROOTS or ".".join(module.split(".")[:3]) in INSIDE_TENSORFLOW


# Nodes of parsed source, read alike in every Python: 3.7 knows no last line of a node, and has other classes for constants.


_HOLDS = {
    "Constant": "value",
    "NameConstant": "value",
    "Num": "n",
    "Str": "s",
    "Bytes": "s",
}  # up to Python 3.7 but the first


def parse_source(source: str) -> Optional[ast.Module]:
    """None of what is no Python, or is too deep for the parser.

    Before Python 3.13 all threads share the count of how deep the parser is. Where another thread parses meanwhile, as
    TensorFlow's AutoGraph does, it ends with a SystemError for no reason of its own, and is asked again.
    """
    for _ in range(PARSE_ATTEMPTS):
        try:
            return ast.parse(source)
        except SystemError:
            continue
        except (SyntaxError, ValueError, RecursionError, MemoryError):  # the last is what older parsers say of too deep a source
            return None
    return None


def is_constant(node: Optional[ast.AST]) -> bool:
    return type(node).__name__ in _HOLDS


def read_constant(node: Optional[ast.AST]) -> Any:
    """The value that is written there; None where the node is no constant."""
    return getattr(node, _HOLDS[type(node).__name__]) if is_constant(node) else None


def find_last_line(node: ast.AST) -> int:
    """Of the node; in Python 3.7 that of the last part which has one."""
    end: Optional[int] = getattr(node, "end_lineno", None)
    return end if end is not None else max(getattr(part, "lineno", 0) for part in ast.walk(node))
