"""Keeps decoded images in memory, so that later epochs need not read and decode them again.

What it changes
---------------
`cache_bytes` becomes 0.4 of the host memory that is free. Only where reading and decoding take most of the input threads'
time, and at least one whole epoch is left. It is done when an epoch ends, or with the next repair.

What it costs
-------------
The memory, and a start of the worker, half a minute or so. The first epoch after it is as slow as before.

How we see that it helped
-------------------------
A step waits for its input for less than 0.8 of the time that it waited before, once an epoch has filled the cache.

How to undo it
--------------
Set `cache_bytes` to 0.
"""

from __future__ import annotations

from unstall.base.formatting import format_size
from unstall.config.settings import MIB
from unstall.diagnosis.host_memory import measure_room
from unstall.diagnosis.verdict import Safety
from unstall.journal.events import HostSampled, InputMeasured, StepsEnded, TrainingBegan
from unstall.remedies.plan import (
    LESS,
    RECENT_GROUPS,
    Fault,
    Kind,
    Plan,
    Sign,
    Verb,
    find_step_reached,
    measure_wait_each_s,
    plan_for,
)

TREATS = {Kind.STARVED: 2}
SAFETY = Safety.AUTO
UNDO_IF_INEFFECTIVE = True
DECODING_SHARE = 0.5  # of the input threads' time, with reading: what a cache saves
FREE_SHARE = 0.4  # of the memory that is free
MIN_BYTES = 64 * MIB  # below this it holds too little


def plan(found: Fault) -> Plan | None:
    measured, began, host = (found.journal.last(kind) for kind in (InputMeasured, TrainingBegan, HostSampled))
    waited_s = measure_wait_each_s([group for group in found.journal.of(StepsEnded) if group.phase == "train"][-RECENT_GROUPS:])
    if not isinstance(measured, InputMeasured) or not isinstance(began, TrainingBegan) or not isinstance(host, HostSampled):
        return None
    work = measured.read_s + measured.decode_s + measured.augment_s
    saved = (measured.read_s + measured.decode_s) / work if work else 0.0
    epochs_left = began.epochs - find_step_reached(found.journal) / max(1, began.steps_per_epoch)
    left = measure_room(host)
    if found.settings.cache_bytes or waited_s is None or saved < DECODING_SHARE or epochs_left <= 1 or left is None:
        return None
    most = int(left.left_bytes * FREE_SHARE)
    if most < MIN_BYTES:
        return None
    why = (
        f"{saved:.0%} of the input threads' time goes into reading and decoding: {format_size(most)} of decoded images are kept."
    )
    sign = Sign(past_step=find_step_reached(found.journal) + began.steps_per_epoch, wait_below_s=LESS * waited_s)
    return plan_for(found, __name__, Verb.CHANGE, {"cache_bytes": most}, why, sign)
