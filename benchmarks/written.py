"""Results as a file that says which command made them."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from unstall.journal.writer import replace_not_finite


def command(earlier: Mapping[str, Any] | None = None) -> str:
    """As it can be typed again. Where a file keeps rows of earlier runs: their commands first, each once."""
    module = sys.modules["__main__"].__spec__
    name = module.name.removesuffix(".__main__") if module is not None else Path(sys.argv[0]).stem
    typed = shlex.join(["python", "-m", name, *sys.argv[1:]])
    known = str((earlier or {}).get("command", "")).split("; ")
    return "; ".join(dict.fromkeys([*filter(None, known), typed]))


def write(target: Path | str, summary: Mapping[str, Any], earlier: Mapping[str, Any] | None = None) -> None:
    """Aside and renamed, so that a benchmark that is broken off leaves what was there. What is not finite becomes null."""
    target = Path(target)
    aside = target.with_suffix(".new")
    plain = {"command": command(earlier), **{key: value for key, value in summary.items() if key != "command"}}
    aside.write_text(
        json.dumps(replace_not_finite(plain), indent=1, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8"
    )
    aside.replace(target)


def kept(target: Path) -> dict[str, Any]:
    """What is there from earlier runs; empty where there is nothing."""
    found: dict[str, Any] = json.loads(target.read_text(encoding="utf-8")) if target.exists() else {}
    return found
