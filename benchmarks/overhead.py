"""What watching costs: `fit` guarded and bare, in turns, in one process per backend; and what the watcher itself uses.

    python -m benchmarks.overhead [--pairs 24] [--backends tensorflow,jax,torch] [--out benchmarks/results/overhead.json]

A pair is two short fits of the same model on the same data, one with the probe on and the watcher running, one with the
probe off and the watcher stopped (SIGSTOP), the first of them first in every other pair. The overhead of a pair is the ratio
of their times; the table shows the median over all pairs and its 95 % interval, by the clock and by the CPU time of the process.
The framework computes in one thread: with as many threads as cores, whatever else the machine does is measured too.

Two fits differ by some per cent for reasons of the machine's own, so the cost of a step is also measured within one fit, where
the probe is switched on and off every few steps, hundreds of times: the sharper figure, without what a fit costs once.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks import written

STEP_MS = (5, 50)
MAX_TRIES = 12  # to find a model whose step takes about so long
ENVIRONMENT = {"XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false", "OMP_NUM_THREADS": "1"}
SEGMENTS = 240  # of one fit, with the probe on and off by turns
SEGMENT_S = 0.1
FIT_S = 5.0  # how long one fit of a pair lasts, about: short ones weigh what a fit costs once


def measure(backend: str, pairs: int) -> list[dict[str, Any]]:
    """Runs in a process of its own, with the backend chosen."""
    import keras
    import numpy as np

    import unstall
    from unstall.probe.core import probe

    _compute_in_one_thread(backend)

    unstall.Guard(quiet=True)
    current = probe.get_current()
    assert current is not None
    time.sleep(1.0)
    watcher = _watcher_pid(str(current.run.path))
    rows = []
    for step_ms in STEP_MS:
        model, data, steps = _calibrated(keras, np, step_ms)
        watcher_cpu, watcher_wall, ratios, cpu_ratios, bare_ms = 0.0, 0.0, [], [], []
        for number in range(pairs):
            seconds: dict[str, float] = {}
            own_s: dict[str, float] = {}
            for kind in ("bare", "guarded") if number % 2 else ("guarded", "bare"):
                current.active = kind == "guarded"
                os.kill(watcher, signal.SIGCONT if current.active else signal.SIGSTOP)
                cpu, own, began = _cpu_s(watcher), time.process_time(), time.perf_counter()
                model.fit(data(), steps_per_epoch=steps, epochs=1, verbose=0)
                seconds[kind] = time.perf_counter() - began
                own_s[kind] = time.process_time() - own
                if current.active:
                    watcher_cpu += _cpu_s(watcher) - cpu
                    watcher_wall += seconds[kind]
            ratios.append(seconds["guarded"] / seconds["bare"])
            cpu_ratios.append(own_s["guarded"] / own_s["bare"])
            bare_ms.append(1000 * seconds["bare"] / steps)
        os.kill(watcher, signal.SIGCONT)
        used = {"watcher_core_percent": round(100 * watcher_cpu / watcher_wall, 2), "watcher_mib": round(_rss_mib(watcher), 1)}
        within = _within_one_fit(keras, current, model, data, max(2, round(SEGMENT_S * 1000 / step_ms)))
        rows.append({**_row(backend, step_ms, bare_ms, ratios, cpu_ratios), **used, **within})
    return rows


def _within_one_fit(keras: Any, current: Any, model: Any, data: Any, segment: int) -> dict[str, Any]:
    """CPU time of the process for a step, the probe on against off, in segments of so many steps: on, off, off, on, …"""
    spent: list[tuple[bool, float]] = []

    class Switch(keras.callbacks.Callback):  # type: ignore[misc]
        _supports_async = True  # reading losses for us would wait for each step
        steps, began = 0, 0.0

        def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
            if self.steps % segment == 0:
                if self.steps:
                    spent.append((current.active, time.process_time() - self.began))
                current.active = len(spent) % 4 in (0, 3)
                self.began = time.process_time()
            self.steps += 1

    current.active = True
    model.fit(data(), steps_per_epoch=segment * (SEGMENTS + 1), epochs=1, verbose=0, callbacks=[Switch()])
    current.active = True
    pairs = [(spent[at : at + 2]) for at in range(SEGMENTS // 10, len(spent) - 1, 2)]
    ratios = [on / off for (first, a), (_, b) in pairs for on, off in [(a, b) if first else (b, a)]]
    low, high = _median_interval(ratios)
    return {
        "within_fit_percent": round(100 * (statistics.median(ratios) - 1), 3),
        "within_fit_interval_percent": [round(100 * (low - 1), 3), round(100 * (high - 1), 3)],
        "within_fit_pairs": len(ratios),
    }


def _compute_in_one_thread(backend: str) -> None:
    if backend == "tensorflow":
        import tensorflow as tf

        tf.config.threading.set_intra_op_parallelism_threads(1)
    elif backend == "torch":
        import torch

        torch.set_num_threads(1)  # JAX is told by XLA_FLAGS, before it starts


def _row(backend: str, step_ms: int, bare_ms: list[float], ratios: list[float], cpu_ratios: list[float]) -> dict[str, Any]:
    low, high = _median_interval(ratios)
    cpu_low, cpu_high = _median_interval(cpu_ratios)
    return {
        "backend": backend,
        "wanted_step_ms": step_ms,
        "step_ms": round(statistics.median(bare_ms), 2),
        "pairs": len(ratios),
        "overhead_percent": round(100 * (statistics.median(ratios) - 1), 3),
        "interval_percent": [round(100 * (low - 1), 3), round(100 * (high - 1), 3)],
        "cpu_overhead_percent": round(100 * (statistics.median(cpu_ratios) - 1), 3),
        "cpu_interval_percent": [round(100 * (cpu_low - 1), 3), round(100 * (cpu_high - 1), 3)],
    }


def _median_interval(values: list[float]) -> tuple[float, float]:
    """95 % interval of the median, by bootstrap with a fixed seed."""
    generator = random.Random(7)
    medians = sorted(statistics.median(generator.choices(values, k=len(values))) for _ in range(2000))
    return medians[50], medians[1949]


def _calibrated(keras: Any, np: Any, step_ms: int) -> tuple[Any, Any, int]:
    """A dense model whose step takes about so long on this machine, its input, and the steps of one fit."""
    width, took_ms = 128, 0.0
    for _ in range(MAX_TRIES):
        model, data = _dense(keras, np, width)
        model.fit(data(), steps_per_epoch=5, epochs=1, verbose=0)
        many = max(60, int(600 / max(1.0, took_ms)))
        short, long = (_seconds(model, data, steps) for steps in (20, 20 + many))  # the difference: free of what a fit costs once
        took_ms = max(0.05, 1000 * (long - short) / many)
        if 0.8 * step_ms <= took_ms <= 1.2 * step_ms:
            break
        width = int(width * max(0.5, min(2.0, (step_ms / took_ms) ** 0.5)))
    return model, data, max(10, int(FIT_S * 1000 / took_ms))


def _dense(keras: Any, np: Any, width: int) -> tuple[Any, Any]:
    model = keras.Sequential([keras.layers.Dense(width, activation="relu") for _ in range(4)] + [keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    batches = [(np.random.rand(128, width).astype("float32"), np.random.rand(128, 1).astype("float32")) for _ in range(8)]

    def data() -> Any:
        while True:
            yield from batches

    return model, data


def _seconds(model: Any, data: Any, steps: int) -> float:
    began = time.perf_counter()
    model.fit(data(), steps_per_epoch=steps, epochs=1, verbose=0)
    return time.perf_counter() - began


def _watcher_pid(run: str) -> int:
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parts = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"unstall.supervisor.sidecar" in parts and run.encode() in parts:
            return int(folder.name)
    raise SystemExit("the watcher did not start")


def _cpu_s(pid: int) -> float:
    """Of the process and of the children it has waited for (py-spy)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(int(fields[index]) for index in (11, 12, 13, 14)) / 100.0


def _rss_mib(pid: int) -> float:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096 / 2**20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=24)
    parser.add_argument("--backends", default="tensorflow,jax,torch")
    parser.add_argument("--out", default="benchmarks/results/overhead.json")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        print("ROWS " + json.dumps(measure(arguments.measure, arguments.pairs)), flush=True)
        return
    rows: list[dict[str, Any]] = []
    for backend in arguments.backends.split(","):
        command = [sys.executable, "-m", "benchmarks.overhead", "--measure", backend, "--pairs", str(arguments.pairs)]
        done = subprocess.run(
            command, env={**os.environ, **ENVIRONMENT, "KERAS_BACKEND": backend}, capture_output=True, text=True, check=False
        )
        line = next((line for line in done.stdout.splitlines() if line.startswith("ROWS ")), None)
        if line is None:
            raise SystemExit(f"{backend} failed:\n{done.stderr[-2000:]}")
        rows += json.loads(line[5:])
    show(rows)
    written.write(arguments.out, {"rows": rows})


def show(rows: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title="overhead of watching")
    for name in (
        "backend",
        "step",
        "pairs",
        "overhead",
        "95 % interval",
        "of CPU time",
        "95 % interval",
        "within a fit",
        "95 % interval",
        "watcher CPU",
        "memory",
    ):
        table.add_column(name, justify="right" if name != "backend" else "left")
    for row in rows:
        low, high = row["interval_percent"]
        cpu_low, cpu_high = row["cpu_interval_percent"]
        inner_low, inner_high = row["within_fit_interval_percent"]
        table.add_row(
            row["backend"],
            f"{row['step_ms']:.1f} ms",
            str(row["pairs"]),
            f"{row['overhead_percent']:+.2f} %",
            f"{low:+.2f} … {high:+.2f} %",
            f"{row['cpu_overhead_percent']:+.2f} %",
            f"{cpu_low:+.2f} … {cpu_high:+.2f} %",
            f"{row['within_fit_percent']:+.2f} %",
            f"{inner_low:+.2f} … {inner_high:+.2f} %",
            f"{row['watcher_core_percent']:.1f} % of a core",
            f"{row['watcher_mib']:.0f} MiB",
        )
    Console(width=170).print(table)


if __name__ == "__main__":
    main()
