"""Whether there are cores for what reads and computes.

What is looked at
-----------------
The cores that this process may use (its affinity), the quota of CPU time that its control group has, how busy they are, and
the number of `num_input_workers` that will read and decode.

Why it matters
--------------
A container often shows all cores of its host and gives the time of a few. Threads are then started for cores that are not there,
take turns on those that are, and each of them is stopped for a part of every tenth of a second.

When this is wrong
------------------
The load is that of the last minute. A neighbour that has just ended still counts; one that is about to begin does not.

What to do
----------
Set `num_input_workers` to the cores that there really are; give the container more CPU time; wait for the neighbour, or end it.
"""

from __future__ import annotations

import os

from unstall.planning.preflight.check import CheckOk, CheckResult, CheckWarning, Context
from unstall.sensors import cgroup

NEEDS = ()
IS_QUICK = True
MAX_THREADS_PER_CORE = 4  # more than these only take turns, even where they wait for storage
BUSY_SHARE = 0.75  # of the cores; with more of them in use by others, little is left


def look(context: Context) -> CheckResult:
    return judge(
        os.cpu_count() or 1,
        len(os.sched_getaffinity(0)),
        cgroup.read_cores(os.getpid()),
        os.getloadavg()[0],
        context.num_input_workers,
    )


def judge(machine: int, allowed: int, quota: float | None, load: float, threads: int) -> CheckResult:
    usable = min(float(allowed), quota) if quota is not None else float(allowed)
    facts = {"machine": machine, "allowed": allowed, "quota": quota, "load": round(load, 2), "num_input_workers": threads}
    said = f"{usable:g} of {machine} cores, load {load:.1f}"
    if quota is not None and quota < allowed and threads > max(1, quota):
        return CheckWarning(
            f"the control group gives the time of {quota:g} cores, {allowed} are visible, and {threads} threads would share it",
            f"--num-input-workers {max(1, int(quota))}",
            facts,
        )
    if threads > MAX_THREADS_PER_CORE * usable:
        return CheckWarning(
            f"{threads} threads on {said}: they would only take turns", f"--num-input-workers {max(1, int(usable))}", facts
        )
    if load > BUSY_SHARE * machine:
        return CheckWarning(f"{said}: other programs keep them busy", "wait for them, or expect the run to take longer", facts)
    return CheckOk(said, facts)
