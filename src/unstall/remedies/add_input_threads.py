"""Reads and decodes with more threads.

What it changes
---------------
`num_input_workers`: twice as many, where they mostly wait for the storage; as many as there are cores, where they compute and
cores are idle. It is done when an epoch ends, or with the next repair: the worker is asked to end, saves, and goes on from there.

What it costs
-------------
A start of the worker, half a minute or so; memory for the images that are decoded at the same time.

How we see that it helped
-------------------------
A step waits for its input for less than 0.8 of the time that it waited before.

How to undo it
--------------
Set `num_input_workers` back to what `settings-given.json` says; 0 is one for each core.
"""

from __future__ import annotations

from unstall.diagnosis.verdict import Safety
from unstall.journal.events import HostSampled, InputMeasured, StepsEnded
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

TREATS = {Kind.STARVED: 1}
SAFETY = Safety.AUTO
UNDO_IF_INEFFECTIVE = True
READING_SHARE = 0.5  # of the threads' time: more of it, and they wait for the storage rather than compute
MAX_FOR_EACH_CORE = 8  # threads that wait for the storage
IDLE_SHARE = 0.3  # of the cores that must be idle for more threads to compute
LOOKED_AT = 10  # samples of the host
STEPS_TO_JUDGE = 50  # after the restart


def plan(found: Fault) -> Plan | None:
    measured = found.journal.last(InputMeasured)
    waited_s = measure_wait_each_s([group for group in found.journal.of(StepsEnded) if group.phase == "train"][-RECENT_GROUPS:])
    if measured is None or not measured.workers or waited_s is None:
        return None
    work = measured.read_s + measured.decode_s + measured.augment_s
    reading = measured.read_s / work if work else 0.0
    now = measured.workers
    if reading >= READING_SHARE:
        wanted = min(now * 2, MAX_FOR_EACH_CORE * found.cores)
        why = (
            f"{reading:.0%} of the threads' time goes into reading, where they wait: {wanted} instead of {now} now read at once."
        )
    else:
        idle = 1 - measure_busy_cores(found) / found.cores
        wanted = found.cores if idle >= IDLE_SHARE else now
        why = f"Decoding takes most of the threads' time, and {idle:.0%} of the cores are idle: {wanted} instead of {now} decode."
    if wanted <= now:
        return None
    sign = Sign(past_step=find_step_reached(found.journal) + STEPS_TO_JUDGE, wait_below_s=LESS * waited_s)
    return plan_for(found, __name__, Verb.CHANGE, {"num_input_workers": wanted}, why, sign)


def measure_busy_cores(found: Fault) -> float:
    recent = [host for host in found.journal.of(HostSampled)[-LOOKED_AT:] if host.interval_s > 0]
    return sum(host.cpu_cores for host in recent) / len(recent) if recent else float(found.cores)
