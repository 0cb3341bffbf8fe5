"""A preflight from its beginning to its end, as plain data."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from unstall.preflight.answers import summed_up
from unstall.preflight.asking import ask
from unstall.report.progress import Progress
from unstall.settings import Settings


def preflight(settings: Settings, folder: Path, is_quick: bool = False, progress: Progress | None = None) -> dict[str, Any]:
    """`answer` is the gravest of the checks' own; one that is not known makes no refusal, and is never counted as fitting."""
    began = time.perf_counter()
    checks = ask(settings, folder, is_quick, progress)
    counts = summed_up(checks)
    return {
        "answer": next(kind for kind, count in counts.items() if count),
        "model": settings.model,
        "data": settings.data,
        "is_quick": is_quick,
        "counts": counts,
        "seconds": round(time.perf_counter() - began, 3),
        "checks": checks,
    }
