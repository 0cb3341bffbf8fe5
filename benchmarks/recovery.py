"""What a supervised training survives: real faults at random moments of real, tiny runs.

    python -m benchmarks.recovery [--count 200] [--kinds kill,stop,…] [--backends jax,torch,tensorflow] [--on-card] [--out FILE]

A run trains a tiny detector on embedded shapes of 64 pixels, and has several faults, one after the other, each some steps after
the recovery from that before. Told for each fault: whether the run survived it, the seconds from the fault to the end of the next
good step, and how many steps had to be made again. For each run: whether its last weights are, bit by bit, those of the run that
nothing befell (where exactness is promised), and how far weights, score and loss are from that one's. What breaks a promise is
named at the end, and the exit code is 1. Results are appended to the file after each run: a call that is broken off goes on
with what is missing.

A starved input is one whose images open late: the kernel asks before each open (fanotify), and is answered 0.4 s later. Memory is
scarce by a real control group (version 1 or 2, as the machine has it), or by a limit on the address space.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks import written
from benchmarks.recovery_faults import KINDS
from benchmarks.recovery_results import kept_weights
from benchmarks.recovery_runs import CHECKPOINT_EVERY_STEPS, disturbed, undisturbed, wrong_from_the_start

FAULTS_IN_A_RUN = 8
EPOCHS = 12
SHAPES = 200  # of which a tenth is scored on: 22 steps an epoch
OUT = Path("benchmarks/results/recovery.json")
# One thread: several wait for each other on a crowded machine. What was compiled is kept, since every worker is the same.
ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "JAX_COMPILATION_CACHE_DIR": str(Path(tempfile.gettempdir()) / "unstall-recovery-compiled"),
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.2",
}


def shapes(folder: Path) -> Path:
    from unstall.data.synthetic.shapes import Shapes, write_shapes

    write_shapes(folder / "shapes", Shapes(SHAPES, 64, 64, 0), "coco", splits={})
    return folder / "shapes"


def measure(backends: list[str], kinds: list[str], count: int, out: Path, seed: int) -> dict[str, Any]:
    results = _read(out)
    rng = random.Random(seed + len(results["runs"]))
    with tempfile.TemporaryDirectory(prefix="unstall-recovery-data-") as folder:
        data = shapes(Path(folder))
        while sum(fault["kind"] in kinds for fault in results["faults"]) < count:
            backend = backends[len(results["runs"]) % len(backends)]
            if not kept_weights(backend).exists() or not _whole(results, backend):
                results["undisturbed"] = [each for each in results["undisturbed"] if each["backend"] != backend]
                results["undisturbed"].append(undisturbed(backend, EPOCHS, data))
                _write(out, results)
            chosen = _chosen(results, kinds, rng)
            if KINDS[chosen[0]].settings:
                ended, faults = wrong_from_the_start(backend, EPOCHS, data, chosen[0])
            else:
                ended, faults = disturbed(backend, EPOCHS, data, chosen, rng.randrange(2**31))
            whole = _whole(results, backend)
            ended["is_exact"] = ended["weights"] == whole["weights"] if all(KINDS[kind].is_exact for kind in chosen) else None
            ended |= {f"{figure}_away": _away(ended, whole, figure) for figure in ("AP", "loss")}
            results["runs"].append(ended)
            results["faults"] += faults
            _write(out, results)
            print(_line(ended, faults), flush=True)
    return results


def _chosen(results: dict[str, Any], kinds: list[str], rng: random.Random) -> list[str]:
    """Exact ones and others are not mixed in a run; those that have been rarest come first."""
    counts = {kind: sum(fault["kind"] == kind for fault in results["faults"]) for kind in kinds}
    first = min(kinds, key=lambda kind: (counts[kind], rng.random()))
    if KINDS[first].settings or KINDS[first].is_alone:
        return [first]
    others = [kind for kind in kinds if not (KINDS[kind].settings or KINDS[kind].is_alone)]
    group = [kind for kind in others if KINDS[kind].is_exact == KINDS[first].is_exact]
    return [first, *rng.choices(group, k=FAULTS_IN_A_RUN - 1)]


def _read(out: Path) -> dict[str, Any]:
    empty: dict[str, Any] = {"checkpoint_interval_steps": CHECKPOINT_EVERY_STEPS, "undisturbed": [], "runs": [], "faults": []}
    return {**empty, **written.kept(out)}


def _write(out: Path, results: dict[str, Any]) -> None:
    written.write(out, {**results, "table": table(results)}, results)


# --- telling ---


def table(results: dict[str, Any]) -> list[dict[str, Any]]:
    """One row for each kind, and one for all."""
    faults = results["faults"]
    named = [(kind, [fault for fault in faults if fault["kind"] == kind]) for kind in KINDS]
    rows = [_row(kind, of) for kind, of in named if of]
    if faults:
        rows.append(_row("all", faults))
        runs = results["runs"]
        promised = [run["is_exact"] for run in runs if run["is_exact"] is not None]
        rows[-1] |= {
            "runs": len(runs),
            "runs_to_the_end": sum(run["exit_code"] == 0 for run in runs),
            "runs_exact_where_promised": f"{sum(promised)} of {len(promised)}",
            "most_away_where_promised": _max_away([run for run in runs if run["is_exact"] is not None]),
            "most_away_elsewhere": _max_away([run for run in runs if run["is_exact"] is None]),
            "promises_broken": broken_promises(results),
        }
    return rows


def _row(kind: str, faults: list[dict[str, Any]]) -> dict[str, Any]:
    seconds = [fault["recovered_s"] for fault in faults if fault["recovered_s"] is not None]
    lost = [fault["lost_steps"] for fault in faults if fault["lost_steps"] is not None]
    return {
        "kind": kind,
        "faults": len(faults),
        "survived": sum(fault["survived"] for fault in faults),
        "recovered_s_median": round(statistics.median(seconds), 1) if seconds else None,
        "recovered_s_most": max(seconds, default=None),
        "lost_steps_median": statistics.median(lost) if lost else None,
        "lost_steps_most": max(lost, default=None),
    }


def _whole(results: dict[str, Any], backend: str) -> dict[str, Any]:
    """The run that nothing befell; empty where there was none yet."""
    return next((each for each in results["undisturbed"] if each["backend"] == backend), {})


def _away(run: dict[str, Any], whole: dict[str, Any], figure: str) -> float:
    return round(abs(float(run[figure] or 0.0) - float(whole[figure] or 0.0)), 6)


def _max_away(runs: list[dict[str, Any]]) -> dict[str, float | None]:
    names = ("weights_away", "AP_away", "loss_away")
    return {name: max((run[name] for run in runs if run.get(name) is not None), default=None) for name in names}


def broken_promises(results: dict[str, Any]) -> list[str]:
    """Whatever was not survived, not ended, not exact where that is promised, or lost more steps than it may."""
    found = [
        f"{run['kinds']} on {run['backend']}: ended with {run['exit_code']}" for run in results["runs"] if run["exit_code"] != 0
    ]
    found += [f"{run['kinds']} on {run['backend']}: not the same weights" for run in results["runs"] if run["is_exact"] is False]
    for fault in results["faults"]:
        may = KINDS[fault["kind"]].may_lose
        called = f"{fault['kind']} on {fault['backend']} in step {fault['step']}"
        if not fault["survived"]:
            found.append(f"{called}: not survived")
        if may is not None and (fault["lost_steps"] or 0) > may * CHECKPOINT_EVERY_STEPS:
            found.append(f"{called}: {fault['lost_steps']} steps lost, {may * CHECKPOINT_EVERY_STEPS} are allowed")
    return found


def _line(run: dict[str, Any], faults: list[dict[str, Any]]) -> str:
    text = ", ".join(f"{fault['kind']} {fault['recovered_s']} s, {fault['lost_steps']} lost" for fault in faults)
    exact = {True: "exact", False: "NOT EXACT", None: "exactness not promised"}[run["is_exact"]]
    away = f"weights {run['weights_away']}, AP {run['AP_away']}, loss {run['loss_away']} away"
    return f"{run['backend']}: exit {run['exit_code']}, {exact}, {away}: {text}"


def show(results: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    shown = Table("fault", "count", "survived", "seconds to next step", "most", "steps lost", "most")
    for row in results["table"] if "table" in results else table(results):
        cells = ("kind", "faults", "survived", "recovered_s_median", "recovered_s_most", "lost_steps_median", "lost_steps_most")
        shown.add_row(*("–" if row[name] is None else str(row[name]) for name in cells))
    console = Console(width=None if sys.stdout.isatty() else 120)
    console.print(shown)
    for row in table(results)[-1:]:
        console.print({name: value for name, value in row.items() if name.startswith(("runs", "most", "promises"))})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200, help="faults, those in the file included")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--backends", "--backend", default="torch,jax,tensorflow")
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument(
        "--on-card", action="store_true", help="with kernels that give the same bits each time; else the processor"
    )
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    kinds = arguments.kinds.split(",")
    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown:
        parser.error(f"--kinds: expected some of {', '.join(KINDS)}. Received: {', '.join(unknown)}")
    if os.geteuid() != 0:
        left_out = [kind for kind in kinds if KINDS[kind].needs_root]
        kinds = [kind for kind in kinds if kind not in left_out]
        print(f"not root: left out {', '.join(left_out)}" if left_out else "", file=sys.stderr)
    os.environ.update({"XLA_PYTHON_CLIENT_PREALLOCATE": "false"} if arguments.on_card else {"CUDA_VISIBLE_DEVICES": ""})
    os.environ.update({name: value for name, value in ENVIRONMENT.items() if name not in os.environ})
    results = measure(arguments.backends.split(","), kinds, arguments.count, arguments.out, arguments.seed)
    show({name: value for name, value in results.items() if name != "table"})
    sys.exit(1 if broken_promises(results) else 0)


if __name__ == "__main__":
    main()
