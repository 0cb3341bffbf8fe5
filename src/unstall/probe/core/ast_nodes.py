"""Nodes of parsed source, read alike in every Python: 3.7 knows no last line of a node, and has other classes for constants."""

from __future__ import annotations

import ast
from typing import Any, Optional

_HOLDS = {
    "Constant": "value",
    "NameConstant": "value",
    "Num": "n",
    "Str": "s",
    "Bytes": "s",
}  # up to Python 3.7 but the first


def is_constant(node: Optional[ast.AST]) -> bool:
    return type(node).__name__ in _HOLDS


def constant(node: Optional[ast.AST]) -> Any:
    """The value that is written there; None where the node is no constant."""
    return getattr(node, _HOLDS[type(node).__name__]) if is_constant(node) else None


def last_line(node: ast.AST) -> int:
    """Of the node; in Python 3.7 that of the last part which has one."""
    end: Optional[int] = getattr(node, "end_lineno", None)
    return end if end is not None else max(getattr(part, "lineno", 0) for part in ast.walk(node))
