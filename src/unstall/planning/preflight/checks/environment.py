"""Whether variables of the environment would change what the run does.

What is looked at
-----------------
Variables that hide cards (`CUDA_VISIBLE_DEVICES` empty or -1), that let one process take a card whole or fragment it, that
switch compilation or kernels off for debugging, that ask JAX for a device that is not there (`JAX_PLATFORMS`), and numbers of
threads that do not fit the cores.

Why it matters
--------------
They are set once in a profile or an image, for another program, and forgotten. Nothing in a log says that they worked.

When this is wrong
------------------
When they were set for this run on purpose.

What to do
----------
`unset` the variable, or set it as is said.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from unstall.planning.memory.devices import find_device_here
from unstall.planning.preflight.check import CheckError, CheckOk, CheckResult, CheckWarning, Context

NEEDS = ()
IS_QUICK = True
# What harms, by the values that do, and what it does
HARMFUL: dict[str, tuple[tuple[str, ...], str]] = {
    "TF_XLA_FLAGS": (("--tf_xla_auto_jit=-1",), "switches the compiler off"),
    "XLA_PYTHON_CLIENT_ALLOCATOR": (("platform",), "asks the driver for every piece of memory, which is slow"),
    "JAX_DISABLE_JIT": (("1", "true", "True"), "runs every operation by itself: a hundred times slower"),
    "JAX_DEBUG_NANS": (("1", "true", "True"), "stops at the first NaN, and reads every result back"),
    "JAX_ENABLE_X64": (("1", "true", "True"), "computes in float64, at a fraction of the speed"),
    "CUDA_LAUNCH_BLOCKING": (("1",), "waits for every kernel"),
    "TF_CPP_MAX_VLOG_LEVEL": (tuple("123456789"), "writes a line for every operation"),
    "TF_GPU_ALLOCATOR": (("cuda_malloc",), "asks the driver for every piece of memory, which is slow"),
    "PYTORCH_NO_CUDA_MEMORY_CACHING": (("1",), "asks the driver for every piece of memory, which is slow"),
    "TF_ENABLE_ONEDNN_OPTS": (("0",), "switches the fast kernels of CPUs off"),
    "PYTHONDEVMODE": (("1",), "checks everything twice"),
    "PYTHONTRACEMALLOC": (tuple("123456789"), "records every allocation"),
}
REPORTED = ("CUDA_VISIBLE_DEVICES", "KERAS_BACKEND", "JAX_PLATFORMS", "XLA_FLAGS", "LD_LIBRARY_PATH")  # told where they are set
THREADS = ("OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "MKL_NUM_THREADS")


def look(context: Context) -> CheckResult:
    platforms = os.environ.get("JAX_PLATFORMS", "")
    if context.backend == "jax" and platforms and "cpu" not in platforms.split(",") and find_device_here("jax").kind == "cpu":
        reason = f"JAX_PLATFORMS={platforms}, and there is no such device here: JAX would not start"
        return CheckError(reason, "unset JAX_PLATFORMS", {"JAX_PLATFORMS": platforms})
    return judge(os.environ, len(os.sched_getaffinity(0)))


def judge(environment: Mapping[str, str], cores: int) -> CheckResult:
    found = [*_of_cards(environment), *_harmful(environment), *_threads(environment, cores), *_libraries(environment)]
    plain = {name: environment[name] for name in (*HARMFUL, *THREADS, *REPORTED) if name in environment}
    if found:
        return CheckWarning("; ".join(reason for reason, _ in found), "; ".join(fix for _, fix in found), plain)
    return CheckOk(
        ", ".join(f"{name}={value}" for name, value in plain.items()) or "no variable that changes what a training does", plain
    )


Finding = tuple[str, str]  # what is wrong, and the fix


def _of_cards(environment: Mapping[str, str]) -> list[Finding]:
    said = environment.get("CUDA_VISIBLE_DEVICES")
    if said is None or said.strip() not in {"", "-1"}:
        return []
    return [(f"CUDA_VISIBLE_DEVICES is '{said}': every card is hidden from the run", "unset CUDA_VISIBLE_DEVICES")]


def _harmful(environment: Mapping[str, str]) -> list[Finding]:
    return [
        (f"{name}={environment[name]} {what}", f"unset {name}")
        for name, (values, what) in HARMFUL.items()
        if set(values) & {environment.get(name, ""), *environment.get(name, "").split()}
    ]


def _threads(environment: Mapping[str, str], cores: int) -> list[Finding]:
    """More than there are cores, or a single one where there are many."""
    said = {name: int(environment[name]) for name in THREADS if environment.get(name, "").isdecimal()}
    return [
        (f"{name}={count} with {cores} cores", f"unset {name}")
        for name, count in said.items()
        if count > cores or (count == 1 and cores > 2)
    ]


def _libraries(environment: Mapping[str, str]) -> list[Finding]:
    folders = [part for part in environment.get("LD_LIBRARY_PATH", "").split(":") if part]
    missing = [folder for folder in folders if not Path(folder).is_dir()]
    return [(f"LD_LIBRARY_PATH names '{missing[0]}', which is not there", "correct LD_LIBRARY_PATH")] if missing else []
