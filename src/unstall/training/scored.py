"""The score of the epoch that was scored last: a run that goes on right from the end of that epoch does not score it again.

A checkpoint at the end of an epoch is written before the epoch is scored: else a score that fails would cost the epoch. So
the score stands in a file of its own, with the sums of the epoch that it belongs to; their times no two lives have in common.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from unstall.private_files import write_whole
from unstall.training.position import Position


@dataclass(frozen=True)
class Scored:
    figures: dict[str, float | None]  # none where the epoch was none to be scored
    seconds: float


def remember(path: Path, at: Position, scored: Scored) -> None:
    """Of the epoch that this position ends. A disk that refuses is an OSError."""
    write_whole(path, json.dumps({"of": _epoch(at), **asdict(scored)}) + "\n")


def recall(path: Path, at: Position) -> Scored | None:
    """None where the position does not end the very epoch that was scored last."""
    if at.step_in_epoch < at.steps_per_epoch:
        return None
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        is_the_same = kept["of"] == json.loads(json.dumps(_epoch(at)))
        return Scored(kept["figures"], kept["seconds"]) if is_the_same else None
    except (OSError, ValueError, TypeError, KeyError):  # absent, or not ours: then it is scored again
        return None


def forget(path: Path) -> None:
    """Before the next is scored: what is the best so far may change from here on."""
    path.unlink(missing_ok=True)


def _epoch(at: Position) -> dict[str, Any]:
    return {"epoch": at.epoch, "step": at.step, "sums": asdict(at.now)}
