"""Whether a program that no cause explains has been idle for so long that this itself must be said.

Stuck is only what waits inside a framework, in a call of the user's own line: a server that waits for a request, a shell at its
prompt and a notebook's kernel between two cells are idle as well, and nothing is wrong with them.
"""

from __future__ import annotations

import math
import re

from unstall.diagnosis.stacks import main_thread, python_frames, user_frames
from unstall.diagnosis.stalls import Stall, Still
from unstall.diagnosis.standing import standing_s
from unstall.journal.events import IdleSeen, StackSampled, ThreadStack
from unstall.journal.reader import Journal

IDLE_S = 60.0  # a program that has done nothing for so long is called idle, or stuck
IDLE_CORES = 0.05  # what it may use meanwhile: some threads of frameworks look around now and then
_FRAMEWORK = re.compile(r"/(tensorflow|keras|tf_keras|torch|jax|flax|lightning|pytorch_lightning)/")
_SERVES = "/tensorflow/python/training/server_lib.py"  # a server of a cluster waits until it is ended


def idle_state(stall: Stall) -> str | None:
    """'stuck', 'idle', or None for one that has not been idle for long, as far as the kernel tells."""
    cores = stall.cpu_cores
    if stall.seconds < IDLE_S or stall.is_busy or cores is None or cores > IDLE_CORES:
        return None
    standing = [still for still in stall.still() if still.is_main]
    main = next((still for still in standing if _is_main_thread(still)), None)
    stood = standing_s(stall.threads, main.pid, main.thread["id"]) if main is not None else None
    if main is None or stood is None or math.isinf(stood) or stood < IDLE_S:
        return None
    return "stuck" if user_frames(main.thread) and any(map(_waits_in_framework, standing)) else "idle"


def polling_state(journal: Journal) -> str | None:
    """The same of a program that looks for something now and then and does nothing else: a server, or one that waits in vain.
    For how long it has done so is known only as far as it was looked at."""
    idle = journal.last(IdleSeen)
    sample = next((sample for sample in reversed(journal.of(StackSampled)) if sample.main), None)
    main = main_thread(sample) if sample is not None else None
    if idle is None or main is None:
        return None
    is_long = idle.at - idle.since >= IDLE_S
    return "stuck" if is_long and user_frames(main) and _is_in_framework(main) else "idle"


def idle_s(journal: Journal) -> float | None:
    """For how long, at least, such a program has done nothing."""
    idle = journal.last(IdleSeen)
    return idle.at - idle.since if idle is not None else None


def _is_main_thread(still: Still) -> bool:
    main = main_thread(still.samples[-1])
    return main is not None and main["id"] == still.thread["id"]


def _waits_in_framework(still: Still) -> bool:
    return _is_in_framework(still.thread)


def _is_in_framework(thread: ThreadStack) -> bool:
    files = [frame["file"] for frame in python_frames(thread)]
    return any(_FRAMEWORK.search(file) for file in files) and not any(_SERVES in file for file in files)
