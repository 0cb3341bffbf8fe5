"""What scan, while_loop, fori_loop and vmap of JAX refuse by the shapes and dtypes of what they are given."""

from __future__ import annotations

import re

from unstall.diagnosis.errors.evidence import Explanation
from unstall.diagnosis.errors.failures import Failure, Value, parse_shapes

_CARRY = re.compile(
    r"(?P<call>scan|while_loop|fori_loop)[^\n]*carry.*?The input carry(?: component)? (?P<path>\S+)[^\n]*? has type "
    r"(?P<before>\w+\[[^\]]*\])"
    r" but the corresponding output carry component has type (?P<after>\w+\[[^\]]*\])",
    re.DOTALL,
)
_VMAP = re.compile(r"vmap got inconsistent sizes for array axes to be mapped:(?P<rows>.*)", re.DOTALL)
_AXIS = re.compile(
    r"size (?P<size>\d+)[:,](?: e\.g\.)? (?:axis \d+ of argument )(?P<name>\S+) of type (?P<type>\S+?)[;\n]*$", re.MULTILINE
)


def explain_transformation(failure: Failure) -> Explanation | None:
    carry, mapped = _CARRY.search(failure.error.message), _VMAP.search(failure.error.message)
    if carry is not None:
        return _of_carry(failure, carry)
    return _of_vmap(failure, mapped["rows"]) if mapped is not None else None


def _of_carry(failure: Failure, match: re.Match[str]) -> Explanation:
    before, after, call = match["before"], match["after"], match["call"]
    raised = failure.raised
    sides = parse_shapes(f"[{before.partition('[')[2]}")
    values = raised.values if raised is not None else ()
    part = match["path"].partition("[")[2].rstrip("]")  # c[1]
    name, fitting = f"[{part}]" if part else "", [value for value in values if sides and value.shape == sides[0]]
    if part.isdigit():
        fitting = [value for value in values if _has_part(value, int(part), before)]
    maker = raised.find_maker(fitting[0]) if raised is not None and len(fitting) == 1 else None
    first = f"`{fitting[0].name}{name if part.isdigit() else ''}`" if len(fitting) == 1 else "the initial value of the carry"
    at = f", given its value at {maker.where}" if maker is not None else ""
    who = f" Its part {match['path']} begins" if part else " It begins"
    dtype = before.partition("[")[0] != after.partition("[")[0]
    return Explanation(
        f"The carry of {call} must keep its shape and dtype from step to step.{who} as {before}, and the body returns {after}.",
        (
            f"make {first}{at} as the body returns it: {after}",
            "or let the body return it as it was given, where that loses nothing: "
            + (f"with .astype({before.partition('[')[0]})" if dtype else before),
        ),
        where=maker.where if maker is not None else None,
    )


def _has_part(value: Value, at: int, written: str) -> bool:
    """Whether it is a tuple or list with an array of this type, int32[3], at a place."""
    items = value.facts.get("items") or []
    if value.facts.get("type") not in ("tuple", "list") or at >= len(items) or "shape" not in items[at]:
        return False
    return f"{items[at].get('dtype')}[{','.join(map(str, items[at]['shape']))}]" == written


def _of_vmap(failure: Failure, rows: str) -> Explanation:
    axes = [f"`{each['name']}` ({each['type'].rstrip(';,')}): {each['size']}" for each in _AXIS.finditer(rows)]
    listed = "; ".join(axes) if axes else " ".join(rows.split())
    return Explanation(
        f"vmap was given arrays whose mapped axes do not have the same size: {listed}.",
        ("give all of them as many rows", "or pass in_axes=None for an argument that is the same for all rows"),
    )
