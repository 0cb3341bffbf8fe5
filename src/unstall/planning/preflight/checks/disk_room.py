"""Whether the disk has room for the checkpoints, and can be written.

What is looked at
-----------------
The free room where the run folder will lie, against the checkpoints that are kept and the one that is being written (weights,
what the optimizer keeps of each, the moving average), the weights files `best` and `last`, and pictures and logs. Likewise
for `cache_dir`.

Why it matters
--------------
On a full disk a training goes on without checkpoints: a fault then costs all that was learned since the last one.

When this is wrong
------------------
A quota of the file system is seen only when it is met. Others may fill the disk later.

What to do
----------
Another folder (`--out`), fewer `max_checkpoints`, or make room.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from unstall.base.formatting import format_size
from unstall.planning.preflight.check import CheckError, CheckOk, CheckResult, CheckWarning, Context

NEEDS = ("data_set",)
IS_QUICK = True
LOGS_BYTES = 64 * 2**20  # journals, history, TensorBoard, pictures
NEAR = 2  # times the need: less is soon gone


def look(context: Context) -> CheckResult:
    settings = context.settings
    checkpoints = context.checkpoint_bytes * (
        settings.max_checkpoints + 2
    )  # beside the newest: the best, and the one being written
    need = checkpoints + 3 * context.weights_bytes + LOGS_BYTES
    least = context.checkpoint_bytes + LOGS_BYTES  # of a run that goes on: it writes before it deletes
    answer = judge(_there(context.folder), max(least, need - _held(context.folder)))
    if isinstance(answer, CheckError) or settings.cache_dir is None or not settings.cache_bytes:
        return answer
    cache = judge(_there(Path(settings.cache_dir)), settings.cache_bytes)
    return cache if isinstance(cache, CheckError) else answer


def judge(folder: Path, need: int) -> CheckResult:
    free = shutil.disk_usage(folder).free
    facts = {"folder": str(folder), "needed_bytes": need, "free_bytes": free}
    if not os.access(folder, os.W_OK | os.X_OK):
        return CheckError(f"'{folder}' cannot be written", "another folder: --out FOLDER", facts)
    said = f"{format_size(need)} of {format_size(free)} that are free in {folder}"
    if need > free:
        return CheckError(f"needs {said}", "make room, or --out FOLDER on another disk, or fewer --max-checkpoints", facts)
    if need * NEAR > free:
        return CheckWarning(f"needs {said}", "make room, or --out FOLDER on another disk", facts)
    return CheckOk(f"needs {said}", facts)


def _held(folder: Path) -> int:
    """By a run that goes on: what it has written, and will replace."""
    written = [*folder.glob("checkpoints/*/*"), *folder.glob("*.safetensors")]
    return sum(path.stat().st_size for path in written if path.is_file())


def _there(folder: Path) -> Path:
    """The nearest folder that exists."""
    folder = folder.absolute()
    return next(each for each in (folder, *folder.parents) if each.is_dir())
