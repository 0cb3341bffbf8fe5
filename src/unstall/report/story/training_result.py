"""How a training went, as plain data: its score, its files, its story."""

from __future__ import annotations

import json
from typing import Any

from unstall.base.exit_codes import ExitCode
from unstall.config.aliases import current_names
from unstall.journal.run_folder import RunFolder


def describe_training(run: RunFolder, exit_code: int, preflight: dict[str, Any]) -> dict[str, Any]:
    titles = {exit_code_kind.value: exit_code_kind.title for exit_code_kind in ExitCode}
    return {
        "run": run.name,
        "folder": str(run.path),
        "exit_code": exit_code,
        "ending": titles.get(exit_code, "failed"),
        "score": _stored(run),
        "files": _files(run),
        "settings": current_names(run.read_settings()),
        "preflight": preflight,
        "story": run.read_story(),
    }


def _stored(run: RunFolder) -> dict[str, Any] | None:
    """None where nothing was scored yet."""
    try:
        score: dict[str, Any] = json.loads(run.score_path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return score


def _files(run: RunFolder) -> dict[str, str]:
    """Those that there are."""
    paths = {
        "best_weights": run.best_weights_path,
        "last_weights": run.last_weights_path,
        "history": run.history_path,
        "predictions": run.predictions_path,
        "tensorboard": run.tensorboard_path,
        "checkpoints": run.checkpoints_path,
        "report": run.report_path,
    }
    return {name: str(path) for name, path in paths.items() if path.exists()}
