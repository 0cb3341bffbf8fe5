"""What a run of benchmarks/recovery has come to in the end, beside the run that nothing befell."""

from __future__ import annotations

import csv
import hashlib
import json
import shutil
import struct
import tempfile
from pathlib import Path
from typing import Any

from unstall.journal.run_folder import RunFolder


def result(run: RunFolder, backend: str, is_whole: bool = False) -> dict[str, Any]:
    """The checksum of the last weights, how far they are from those of the run that nothing befell, the score and the loss."""
    kept = kept_weights(backend)
    if is_whole:
        shutil.copyfile(run.last_weights_path, kept)
    newest = max(run.checkpoints_path.glob("step-*"), default=None)
    score = json.loads(run.score_path.read_text()) if run.score_path.exists() else {}
    return {
        "last_checkpoint": int(newest.name[5:]) if newest else 0,
        "weights": _checksum(run.last_weights_path),
        "weights_away": weights_away(run.last_weights_path, kept),
        "AP": score.get("figures", {}).get("AP"),
        "loss": _last_loss(run),
    }


def _checksum(path: Path) -> str:
    """Of the numbers of a weights file (safetensors): what stands before them tells where they came from."""
    if not path.exists():
        return ""
    with path.open("rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        file.seek(8 + length)
        return hashlib.sha256(file.read()).hexdigest()


def kept_weights(backend: str) -> Path:
    """Where the weights of the run that nothing befell lie while this is measured."""
    return Path(tempfile.gettempdir()) / f"unstall-recovery-{backend}.safetensors"


def weights_away(path: Path, other: Path) -> float | None:
    """The length of the difference of all weights, against that of the others; None where one of the files is not there."""
    import numpy as np

    from unstall.detectors.weights.formats import safetensors_files

    if not (path.exists() and other.exists()):
        return None
    (ours, _), (theirs, _) = (safetensors_files.read(each) for each in (path, other))
    numbers = [(ours[name].read().astype(np.float64), theirs[name].read().astype(np.float64)) for name in theirs]
    distance = sum(float(np.square(one - two).sum()) for one, two in numbers)
    return float(np.sqrt(distance / sum(float(np.square(two).sum()) for _, two in numbers)))


def _last_loss(run: RunFolder) -> float | None:
    """Of the last epoch, its mean."""
    if not run.history_path.exists():
        return None
    with run.history_path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    return float(rows[-1]["loss"]) if rows and rows[-1].get("loss") else None
