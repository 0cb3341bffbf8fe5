"""Programs that end, really run and watched, and what is told of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.programs import UNSTALL, write


def ended(folder: Path, source: str, options: tuple[str, ...] = (), **env: str) -> dict[str, Any]:
    """The story of `train.py` in this folder, once it has ended."""
    write(folder, source, "train.py")
    text = folder / "story.json"
    command = [*UNSTALL, "run", "--quiet", *options, "--json", str(text), "--", sys.executable, "train.py"]
    home = {"UNSTALL_HOME": str(folder / "runs")}
    subprocess.run(command, cwd=folder, env={**os.environ, **home, **env}, capture_output=True, check=False, timeout=240)
    story: dict[str, Any] = json.loads(text.read_text())
    return story
