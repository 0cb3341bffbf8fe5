"""Reading plain data that may have holes."""

from __future__ import annotations

from typing import Any


def section(record: dict[str, Any], name: str) -> dict[str, Any]:
    found = record.get(name)
    return found if isinstance(found, dict) else {}


def numbers(values: Any) -> list[float]:
    return [float(each) for each in values if isinstance(each, int | float)] if isinstance(values, list | tuple) else []
