"""One configuration on the card, in processes of its own; see benchmarks/memory.py.

python -m benchmarks.memory_measuring CASE [N]   the inner process: makes steps, and says what they took; times N more
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.memory_cases import CLASSES, Case, Search

STEPS = 3
MAX_S = 600.0  # of one process: several compile at once
TIMED_STEPS = 20
ERROR = 0.05  # that the plan keeps free: `unstall.planning.memory.planner.ERRORS`
FOUND_SHARE = 0.9  # of the largest batch that fits: so much must be found
ASKS_THE_CARD = """
import jax, json
device = jax.local_devices()[0]
print(json.dumps({"limit": (device.memory_stats() or {}).get("bytes_limit", 0), "device": device.device_kind}))
"""


class Machine:
    """The card, and a folder where compiled steps lie from one process to the next."""

    def __init__(self, compiled: Path, share: float) -> None:
        self.compiled, self.share = compiled, share  # of the card's memory, for each process
        self._memory_bytes: int | None = None
        self._kind = ""
        self._lock = threading.Lock()

    def described(self) -> dict[str, Any]:
        return {"device": self._kind, "memory_bytes": self._memory_bytes}

    def measured(self, case: Case, predicted: dict[str, Any]) -> dict[str, Any]:
        """Compiled, then run from what was compiled with room enough, then with no more than is promised to be enough.

        The need is that of the second: with little room the allocator hands out whole gaps, up to 128 MiB more than was asked
        for, and its counter counts them.
        """
        first = self._compile(case)
        if "error" in first:
            return first
        promised = int((predicted["need"] + predicted["input"] + predicted["weights"]) * (1 + ERROR))
        result = self._compile(case)
        if "need" in result:
            result["error_share"] = (predicted["need"] - result["need"]) / result["need"]
        capped = self._run(case, promised)
        outcome = {"ran_in_promised": "need" in capped, "in_promised": capped.get("need"), "why": capped.get("words", "")}
        return {**result, **outcome, "predicted": predicted["need"], "promised": promised, "compile_s": first["seconds"]}

    def searched(self, search: Search, predicted: dict[str, Any], known: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """What was found must be compiled and run in the memory of the search; a ninth more should not run there, else less than
        90 % was found. Row by row, as each takes minutes, and alone: the compiler tries algorithms on the card, slow ones too,
        and beside each other such trials take as many times longer."""
        found = int(predicted["images"])
        row: dict[str, Any] = {"images": found, "limit": int(search.gib * 2**30), **known}
        self._know_the_card()
        if "found" not in row:
            first = self._run(search.case(found), row["limit"])
            again = first if "error" in first else self._run(search.case(found), row["limit"], TIMED_STEPS)
            row["found"] = {**again, "compile_s": first.get("seconds")}
            yield row
        if "above" not in row:
            above = math.floor(found / FOUND_SHARE) + 1
            row["above"] = {"images": above, **self._run(search.case(above), row["limit"])}
            yield row

    def timed(self, search: Search, found: dict[str, Any], images: int) -> dict[str, Any]:
        """How fast what was found is, and half of it, which the compiler need not squeeze; both with the memory of the search."""
        self._know_the_card()
        half = self._run(search.case(images // 2), int(search.gib * 2**30), TIMED_STEPS)
        plain = {str(images): found, str(images // 2): half}
        return {batch: {key: row.get(key) for key in ("images_per_s", "need", "error")} for batch, row in plain.items()}

    def _know_the_card(self) -> None:
        with self._lock:
            if self._memory_bytes is not None:
                return
            share = 0.1
            result = _asked([sys.executable, "-c", ASKS_THE_CARD], {**self._environment(), "XLA_CLIENT_MEM_FRACTION": str(share)})
            self._memory_bytes, self._kind = int(result["limit"] / share), result["device"]

    def _compile(self, case: Case) -> dict[str, Any]:
        result = inner(case, {**self._environment(), "XLA_CLIENT_MEM_FRACTION": f"{self.share:.4f}"})
        if "memory_bytes" in result:
            with self._lock:
                self._memory_bytes, self._kind = result["memory_bytes"], result["device"]
        return result

    def _run(self, case: Case, limit: int, timed_steps: int = 0) -> dict[str, Any]:
        share = limit / self._memory_bytes if self._memory_bytes else 0.5
        # JAX takes the share of what the card has in all, in one piece, before anything else.
        return inner(case, {**self._environment(), "XLA_CLIENT_MEM_FRACTION": f"{min(0.95, share):.6f}"}, timed_steps)

    def _environment(self) -> dict[str, str]:
        return {
            "KERAS_BACKEND": "jax",
            "JAX_COMPILATION_CACHE_DIR": str(self.compiled),
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
            "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
        }


def measured_on_torch(case: Case) -> dict[str, Any]:
    """What a plan on this card says, and what a training then takes. In both the batch itself is run, in a process of its own:
    the plan's over empty images, the other's over noise with boxes."""
    from unstall.config.settings import from_plain
    from unstall.planning.memory.client import PlannerClient, PlannerError
    from unstall.planning.memory.devices import find_device_here
    from unstall.planning.memory.planner import find_step_need

    settings = from_plain({**case.settings(), "backend": "torch"})
    with PlannerClient() as client:
        try:
            predicted = find_step_need(settings, client, find_device_here("torch"), CLASSES).need
        except PlannerError as error:
            return {"error": str(error)}
    result = inner(case, {"KERAS_BACKEND": "torch"})
    if "need" not in result:
        return result
    return {"predicted": predicted, "need": result["need"], "error_share": (predicted - result["need"]) / result["need"]}


def inner(case: Case, environment: dict[str, str], timed_steps: int = 0) -> dict[str, Any]:
    """What the inner process says; where it fails, with its last words."""
    return _asked([sys.executable, "-m", "benchmarks.memory_measuring", json.dumps(asdict(case)), str(timed_steps)], environment)


def _asked(command: list[str], environment: dict[str, str]) -> dict[str, Any]:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=MAX_S, env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return {"error": f"took longer than {MAX_S:.0f} s"}
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if lines:
        plain: dict[str, Any] = json.loads(lines[-1])
        return plain
    is_short = "RESOURCE_EXHAUSTED" in done.stderr or "out of memory" in done.stderr.lower()
    last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
    words = [line for line in done.stderr.splitlines() if "RESOURCE_EXHAUSTED" in line or "out of memory" in line.lower()]
    return {"error": "out of memory" if is_short else last[:500], "out_of_memory": is_short, "words": "\n".join(words)[:1000]}


# --- the inner process ---


def main() -> None:
    import time

    import numpy as np

    from unstall.config.settings import from_plain
    from unstall.planning.memory.measurement import forget_trials, read_gpu_peak_bytes, read_peak_bytes
    from unstall.planning.memory.server import build_detector_of
    from unstall.training.step.step import Step, list_batch_shapes

    case = Case(**json.loads(sys.argv[1]))
    settings = from_plain(case.settings())
    began = time.monotonic()
    detector = build_detector_of(settings, {**settings.detector, "classes": CLASSES})
    step = Step(detector, settings, STEPS)
    shapes = list_batch_shapes((case.px, case.px), case.batch_size, settings.max_boxes_per_image)
    random = np.random.default_rng(0)
    batch = {name: np.zeros(shape, kind) for name, (shape, kind) in shapes.items()}
    batch["images"] = random.integers(0, 256, batch["images"].shape, np.uint8)
    batch["boxes"][:, :8] = [case.px * 0.2, case.px * 0.2, case.px * 0.6, case.px * 0.6]
    batch["mask"][:, :8] = True
    losses = [step(batch).read().loss for _ in range(STEPS)]
    if forget_trials():  # as the probes of a plan do
        losses.append(step(batch).read().loss)
    peak = read_gpu_peak_bytes()
    plain: dict[str, Any] = {
        "need": peak if peak is not None else read_peak_bytes(),
        "losses": losses,
        "seconds": round(time.monotonic() - began, 1),
    }
    if steps := int(sys.argv[2]):
        began = time.monotonic()
        _make(step, batch, steps)
        plain["images_per_s"] = steps * case.batch_size / (time.monotonic() - began)
    print(json.dumps({**plain, **_of_jax(step, batch)}), flush=True)


def _make(step: Any, batch: dict[str, Any], steps: int) -> None:
    """As a training does: the next is begun before the last is read, and no further, as their inputs are on the card."""
    last = step(batch)
    for _ in range(steps - 1):
        following = step(batch)
        last.read()
        last = following
    last.read()


def _of_jax(step: Any, batch: dict[str, Any]) -> dict[str, Any]:
    """What the compiler of the card itself says, and how much memory the card has in all."""
    import keras

    if keras.backend.backend() != "jax":
        return {}
    import jax

    said = step.train_step.lower(batch).compile().memory_analysis()
    planned = said.argument_size_in_bytes + said.output_size_in_bytes - said.alias_size_in_bytes + said.temp_size_in_bytes
    stats = jax.local_devices()[0].memory_stats() or {}
    share = float(os.environ.get("XLA_CLIENT_MEM_FRACTION", "0.75"))
    limit = int(stats.get("bytes_limit", 0))
    return {
        "compiled_there": int(planned), "limit": limit, "memory_bytes": int(limit / share), "jax": jax.__version__,
        "device": str(jax.local_devices()[0].device_kind), "in_use": int(stats.get("bytes_in_use", 0)),
    }  # fmt: skip


if __name__ == "__main__":
    main()
