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


def _is_main_thread(still: Still) -> bool:
    main = main_thread(still.samples[-1])
    return main is not None and main["id"] == still.thread["id"]


def _waits_in_framework(still: Still) -> bool:
    files = [frame["file"] for frame in python_frames(still.thread)]
    return any(_FRAMEWORK.search(file) for file in files) and not any(_SERVES in file for file in files)
