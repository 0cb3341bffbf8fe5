"""What a supervised training survives: real faults at random moments of real, tiny runs.

    python -m benchmarks.recovery [--count 200] [--kinds kill,stop,…] [--backends jax,torch,tensorflow] [--out FILE]

A run trains a tiny detector on embedded shapes of 64 pixels, and has several faults, one after the other, each some steps after
the recovery from that before. Told for each fault: whether the run survived it, the seconds from the fault to the end of the next
good step, and how many steps had to be made again. For each run: whether its last weights are, bit by bit, those of the run that
nothing befell (where exactness is promised), and its score beside that one's. Results are appended to the file after each
run: a call that is broken off goes on with what is missing.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.recovery_faults import KINDS
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
    from unstall.data.shapes import Shapes
    from unstall.data.shapes_files import write_shapes

    write_shapes(folder / "shapes", Shapes(SHAPES, 64, 64, 0), "coco", splits={})
    return folder / "shapes"


def measure(backends: list[str], kinds: list[str], count: int, out: Path, seed: int) -> dict[str, Any]:
    results = _read(out)
    chance = random.Random(seed + len(results["runs"]))
    with tempfile.TemporaryDirectory(prefix="unstall-recovery-data-") as folder:
        data = shapes(Path(folder))
        while sum(fault["kind"] in kinds for fault in results["faults"]) < count:
            backend = backends[len(results["runs"]) % len(backends)]
            if not any(each["backend"] == backend for each in results["undisturbed"]):
                results["undisturbed"].append(undisturbed(backend, EPOCHS, data))
                _write(out, results)
            chosen = _chosen(results, kinds, chance)
            if KINDS[chosen[0]].settings:
                ended, faults = wrong_from_the_start(backend, EPOCHS, data, chosen[0])
            else:
                ended, faults = disturbed(backend, EPOCHS, data, chosen, chance.randrange(2**31))
            whole = next(each for each in results["undisturbed"] if each["backend"] == backend)
            ended["is_exact"] = ended["weights"] == whole["weights"] if all(KINDS[kind].is_exact for kind in chosen) else None
            results["runs"].append(ended)
            results["faults"] += faults
            _write(out, results)
            print(_line(ended, faults), flush=True)
    return results


def _chosen(results: dict[str, Any], kinds: list[str], chance: random.Random) -> list[str]:
    """Exact ones and others are not mixed in a run; those that have been rarest come first."""
    counts = {kind: sum(fault["kind"] == kind for fault in results["faults"]) for kind in kinds}
    first = min(kinds, key=lambda kind: (counts[kind], chance.random()))
    if KINDS[first].settings:
        return [first]
    group = [kind for kind in kinds if KINDS[kind].is_exact == KINDS[first].is_exact and not KINDS[kind].settings]
    return [first, *chance.choices(group, k=FAULTS_IN_A_RUN - 1)]


def _read(out: Path) -> dict[str, Any]:
    empty: dict[str, Any] = {"checkpoint_every_steps": CHECKPOINT_EVERY_STEPS, "undisturbed": [], "runs": [], "faults": []}
    return {**empty, **json.loads(out.read_text())} if out.exists() else empty


def _write(out: Path, results: dict[str, Any]) -> None:
    aside = out.with_suffix(".new")
    aside.write_text(json.dumps({**results, "table": table(results)}, indent=1) + "\n")
    aside.replace(out)


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
            "worst_difference_of_AP": max((_away(run, results, "AP") for run in runs), default=None),
            "worst_difference_of_loss": max((_away(run, results, "loss") for run in runs), default=None),
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


def _away(run: dict[str, Any], results: dict[str, Any], figure: str) -> float:
    whole = next(each for each in results["undisturbed"] if each["backend"] == run["backend"])
    return round(abs(float(run[figure] or 0.0) - float(whole[figure] or 0.0)), 6)


def _line(run: dict[str, Any], faults: list[dict[str, Any]]) -> str:
    told = ", ".join(f"{fault['kind']} {fault['recovered_s']} s, {fault['lost_steps']} lost" for fault in faults)
    exact = {True: "exact", False: "NOT EXACT", None: "exactness not promised"}[run["is_exact"]]
    return f"{run['backend']}: exit {run['exit_code']}, {exact}, AP {run['AP']}: {told}"


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
        console.print({name: value for name, value in row.items() if name.startswith(("runs", "worst"))})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200, help="faults, those in the file included")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--backends", "--backend", default="torch,jax,tensorflow")
    parser.add_argument("--out", type=Path, default=OUT)
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
    os.environ.update({name: value for name, value in ENVIRONMENT.items() if name not in os.environ})
    results = measure(arguments.backends.split(","), kinds, arguments.count, arguments.out, arguments.seed)
    show({name: value for name, value in results.items() if name != "table"})


if __name__ == "__main__":
    main()
