"""Where the way of gradients through the user's lines is cut, or comes back to where it began, by the statements themselves.

A call such as `.detach()` gives a result without gradients. A value that a loop computes from itself carries the graph of all its
passes. A function of NumPy knows no gradients, and mostly has a counterpart of the same name that does.
"""

from __future__ import annotations

import ast
import textwrap
from typing import Any

from unstall.diagnosis.errors.evidence import as_maker
from unstall.diagnosis.errors.failures import Failure, Maker, Value
from unstall.diagnosis.errors.line_changes import replace_functions
from unstall.diagnosis.verdict import LineChange
from unstall.journal.stack_frames import format_place

# Calls whose result has no gradients, whatever they are given.
CUTS = {
    "torch.tensor": "copies values into a new tensor without gradients",
    "torch.from_numpy": "makes a tensor without gradients",
    "item": "gives a plain number without gradients",
    "tolist": "gives plain numbers without gradients",
    "numpy": "gives an array without gradients",
    "detach": "cuts the tensor off from its gradients",
    "argmax": "gives indices, which have no gradients",
    "argsort": "gives indices, which have no gradients",
}
# Functions that NumPy, PyTorch and keras.ops call alike, with the same first arguments.
_SAME_NAMES = frozenset(
    ("log", "exp", "sqrt", "abs", "square", "maximum", "minimum", "tanh", "sin", "cos", "log1p", "expm1", "sign", "where", "clip")
)


def find_cuts(failure: Failure) -> list[tuple[Maker, Value, str]]:
    """The statements above that made what the loss is computed from by a call that never keeps gradients, the nearest first."""
    raised = failure.raised
    found: dict[str | None, tuple[Maker, Value, str]] = {}
    for value in (*raised.values, *raised.origins) if raised is not None else ():
        if raised is None or value.facts.get("requires_grad") or value.facts.get("replaced"):
            continue
        made = raised.find_maker(value)
        for maker in [*([made] if made is not None else []), *_list_insides(value)]:
            call = _cutting_call(maker)
            if call is not None:
                found.setdefault(maker.where, (maker, value, call))
    return list(found.values())[:3]


def _list_insides(value: Value) -> list[Maker]:
    """The lines of the function that returned it, of those that make it."""
    rows = []
    for line in value.facts.get("made_in") or ():
        file, _, number = line["where"].rpartition(":")
        place = format_place(file, int(number), value.folder)
        rows.append(Maker("value", value.name, place, (line["source"],), int(number), {}, value.folder))
    return rows


def _cutting_call(maker: Maker) -> str | None:
    """The outermost call of the statement, where it is one of those; calls inside others may concern another value."""
    try:
        statement = ast.parse(textwrap.dedent("\n".join(maker.source))).body[0]
    except (SyntaxError, IndexError):
        return None
    node = getattr(statement, "value", None)
    while isinstance(node, ast.Call):
        name = ast.unparse(node.func)
        last = name.rpartition(".")[2]
        if name in CUTS:
            return name
        if last in CUTS and isinstance(node.func, ast.Attribute):
            return last
        node = node.func.value if isinstance(node.func, ast.Attribute) else None
    return None


def find_whole_numbers(failure: Failure) -> tuple[Value, Maker | None] | None:
    """What is differentiated and holds whole numbers: in the first argument of a call in the line, params['step'], and the line
    that made it."""
    raised = failure.raised
    if raised is None or "argnums" in raised.code:
        return None
    try:
        tree = ast.parse(textwrap.dedent("\n".join(raised.source)))
    except SyntaxError:
        return None
    first = {ast.unparse(node.args[0]) for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args}
    for value in raised.values:
        leaf = _find_whole_leaf(value.name, value.facts) if value.name in first else None
        if leaf is not None:
            outer = [line for line in failure.own_lines if (same := line.value(value.name)) is not None and line.find_maker(same)]
            found = outer[0].value(value.name) if outer else None
            return leaf, outer[0].find_maker(found) if found is not None else None
    return None


def _find_whole_leaf(name: str, facts: dict[str, Any]) -> Value | None:
    if str(facts.get("dtype", "")).startswith(("int", "uint", "bool")) and "shape" in facts:
        return Value(name, facts)
    for key, item in zip(facts.get("keys") or (), facts.get("items") or (), strict=False):
        found = _find_whole_leaf(f"{name}[{key!r}]", item)
        if found is not None:
            return found
    return None


def find_carried(failure: Failure) -> tuple[str, Value | None]:
    """A value with gradients that a statement of the loop computes from itself, and that statement's line."""
    raised = failure.raised
    if raised is None or not raised.loops:
        return "", None
    known = {value.name: value for value in (*raised.origins, *raised.values)}
    for value in known.values():
        maker = raised.find_maker(value)
        for name in _computed_from_itself(maker) if maker is not None and maker.first > raised.loops[-1]["line"] else ():
            facts = known[name].facts if name in known else {}
            now = facts.get("now") or facts
            if maker is not None and any(part.get("grad_fn") for part in (now, *(now.get("items") or []))):
                return maker.where or "", Value(name, now)
    return "", None


def _computed_from_itself(maker: Maker) -> list[str]:
    """`state` of `logits, state = model(x, state)`."""
    try:
        statement = ast.parse(textwrap.dedent("\n".join(maker.source))).body[0]
    except (SyntaxError, IndexError):
        return []
    targets = list(getattr(statement, "targets", ())) or [getattr(statement, "target", None)]
    given = {each.id for target in targets if target is not None for each in ast.walk(target) if isinstance(each, ast.Name)}
    value = getattr(statement, "value", None)
    used = {each.id for each in ast.walk(value) if isinstance(each, ast.Name)} if value is not None else set()
    return sorted(given if isinstance(statement, ast.AugAssign) else given & used)


def write_without_numpy(failure: Failure, names: set[str], library: str) -> LineChange | None:
    """The same line with the functions of PyTorch or Keras that are called as those of NumPy."""
    raised = failure.raised
    if raised is None or not names:
        return None
    when = "if its gradient is needed" if library == "torch" else ""
    return replace_functions(as_maker(raised), ("np", "numpy"), library, _SAME_NAMES, names, when)
