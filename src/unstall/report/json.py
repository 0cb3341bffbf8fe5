"""The story as JSON, to a file or to standard output."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from unstall.errors import WrongInput


def write(story: dict[str, Any], target: str) -> None:
    """`-` is standard output."""
    text = json.dumps(story, indent=2, default=str)
    if target == "-":
        sys.stdout.write(text + "\n")
        sys.stdout.flush()
        return
    try:
        Path(target).write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise WrongInput(f"Cannot write the JSON to '{target}': {error.strerror}.") from None
