"""What a training step will need of a card's memory, predicted without one, against what it takes on one.

    python -m benchmarks.memory --predict          on any machine: JAX and its packages for CUDA, no card; an hour on two cores
    python -m benchmarks.memory --measure          on the card: each configuration in processes of its own
    python -m benchmarks.memory --speeds           on the card: how fast the largest batches are that were found
    python -m benchmarks.memory --show             the table

Both write benchmarks/results/memory.json and go on where they ended; --most-seconds ends them in time. A step is compiled in one
process, which keeps what it compiled, and measured in a second one, which takes it from there: so its peak has nothing of the
compiler's trials. That second process is given no more memory than the plan promises to be enough.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks import memory_measuring, memory_searches, memory_table, written
from benchmarks.memory_cases import CASES, CLASSES, SEARCHES, TINY, TINY_SEARCHES, Case, Search

OUT = Path("benchmarks/results/memory.json")
TORCH_MODELS = ("ssdlite320_mobilenet_v3_large", "ssd300_vgg16", "fasterrcnn_mobilenet_v3_large_fpn", "retinanet_resnet50_fpn")
Rows = dict[str, dict[str, Any]]


class Results:
    """One file; each row is kept as soon as it is there."""

    def __init__(self, path: Path, starts_over: bool) -> None:
        self.path = path
        known = {} if starts_over else written.kept(path)
        self._lock = threading.Lock()
        self.plain: dict[str, Any] = {"predicted": {}, "measured": {}, "largest": {}, "speeds": {}, "torch": {}, **known}

    def __getitem__(self, part: str) -> Rows:
        rows: Rows = self.plain[part]
        return rows

    def keep(self, part: str, name: str, row: dict[str, Any]) -> None:
        with self._lock:
            self.plain[part][name] = row
            written.write(self.path, {key: self.plain[key] for key in sorted(self.plain)}, self.plain)
        print(json.dumps({"part": part, "name": name, **row}), flush=True)


# --- predicting ---


def predict(results: Results, device_name: str, tasks: list[Case | Search], jobs: int, ends_at: float) -> None:
    from unstall.planning.memory import client
    from unstall.planning.memory.client import PlannerClient, PlannerError

    results.plain["predicted_with"] = client.list_versions()
    waiting = [task for task in tasks if task.name not in results["predicted"]]

    def serve(_: int) -> None:
        """One process answers one question after the other."""
        with PlannerClient() as client:
            while waiting and time.monotonic() < ends_at:
                task = waiting.pop(0)
                try:
                    results.keep("predicted", task.name, predicted(task, device_name, client))
                except PlannerError as error:
                    print(f"{task.name}: {error}", flush=True)

    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(serve, range(jobs)))


def predicted(task: Case | Search, device_name: str, client: Any) -> dict[str, Any]:
    if isinstance(task, Search):
        return found_largest(task, device_name, client)
    answer = client(question_of(task, device_name))
    return {key: value for key, value in answer.as_plain().items() if key != "layers"}


def question_of(case: Case, device_name: str, given_bytes: int | None = None) -> Any:
    from unstall.config.settings import from_plain
    from unstall.planning.memory.compiler import GIVEN
    from unstall.planning.memory.devices import find_device
    from unstall.planning.memory.messages import create_question

    device = find_device(device_name)
    way: Any = "compiled" if device.card else "compiled for the CPU"
    card = {**device.card, GIVEN: given_bytes} if device.card and given_bytes else dict(device.card)
    return create_question(from_plain(case.settings()), CLASSES, "training", "jax", way, card)


def found_largest(search: Search, device_name: str, client: Any) -> dict[str, Any]:
    from unstall.planning.memory.max_batch_size import find_max_batch_size
    from unstall.planning.memory.memory_plan import compute_limit
    from unstall.planning.memory.planner import ERRORS

    looked: dict[int, int] = {}
    limit = compute_limit(int(search.gib * 2**30), ERRORS["compiled", True])

    def need(images: int) -> int:
        looked[images] = client(question_of(search.case(images), device_name, limit)).room
        return looked[images]

    return {"images": find_max_batch_size(need, limit, 1024, search.first, device_name != "cpu"), "looked": looked}


# --- measuring ---


def measure(
    results: Results, tasks: list[Case | Search], jobs: int, ends_at: float, of_card: float, kept_in: Path | None
) -> None:
    with tempfile.TemporaryDirectory() as compiled, ThreadPoolExecutor(jobs) as pool:
        machine = memory_measuring.Machine(kept_in or Path(compiled), of_card / jobs)

        def one(case: Case) -> None:
            known = results["predicted"].get(case.name)
            if known is not None and case.name not in results["measured"] and time.monotonic() < ends_at:
                row = machine.measured(case, known)
                results.plain["measured_on"] = machine.described()
                results.keep("measured", case.name, row)

        list(pool.map(one, [task for task in tasks if isinstance(task, Case)]))
        for search in (task for task in tasks if isinstance(task, Search)):
            measure_search(results, machine, search, ends_at)


def measure_search(results: Results, machine: memory_measuring.Machine, search: Search, ends_at: float) -> None:
    known = results["predicted"].get(search.name)
    if known is None:
        return
    rows = machine.searched(search, known, results["largest"].get(search.name, {}))
    while time.monotonic() < ends_at and (row := next(rows, None)):
        results.plain["measured_on"] = machine.described()
        results.keep("largest", search.name, row)


def measure_speeds(results: Results, kept_in: Path | None) -> None:
    """One after the other: nothing else may use the card."""
    with tempfile.TemporaryDirectory() as compiled:
        machine = memory_measuring.Machine(kept_in or Path(compiled), 0.5)
        for search in SEARCHES:
            row = results["largest"].get(search.name, {})
            if "need" in row.get("found", {}) and search.name not in results["speeds"]:
                results.keep("speeds", search.name, machine.timed(search, row["found"], row["images"]))


def measure_torch(results: Results, cases: tuple[Case, ...], jobs: int, ends_at: float) -> None:
    """What a plan measures, and what a training takes."""

    def one(case: Case) -> None:
        if time.monotonic() < ends_at and case.name not in results["torch"]:
            results.keep("torch", case.name, memory_measuring.measured_on_torch(case))

    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(one, cases))


def of_torch(cases: tuple[Case, ...]) -> tuple[Case, ...]:
    plain = [case for case in cases if case.micro_batch_size == case.batch_size and case.model in TORCH_MODELS]
    return tuple(case for case in plain if case.batch_size <= 64)


def show(results: Results) -> None:
    memory_table.show(results.plain, memory_searches)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--predict", action="store_true")
    parser.add_argument("--measure", action="store_true")
    parser.add_argument("--speeds", action="store_true", help="of what the searches found, on the card")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--device", default="h200", help="to predict for; 'cpu' is this machine's")
    parser.add_argument("--tiny", action="store_true", help="a few small ones, to try the benchmark itself")
    parser.add_argument("--only", default="", metavar="TEXT", help="configurations with this in their name")
    parser.add_argument("--backend", choices=("jax", "torch"), default="jax", help="to measure")
    parser.add_argument("--jobs", type=int, default=4, help="processes beside each other")
    parser.add_argument("--of-card", type=float, default=0.92, help="the share of its memory that they may take together")
    parser.add_argument("--compiled", type=Path, help="a folder that keeps what was compiled, for a run that is broken off")
    parser.add_argument("--most-seconds", type=float, default=1e9, help="nothing is begun after that")
    parser.add_argument("--again", action="store_true", help="forget what is in the file")
    parser.add_argument("--out", type=Path, default=OUT)
    arguments = parser.parse_args()
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    ends_at = time.monotonic() + arguments.most_seconds
    results = Results(arguments.out, arguments.again)
    cases = tuple(case for case in (TINY if arguments.tiny else CASES) if arguments.only in case.name)
    searches = tuple(each for each in (TINY_SEARCHES if arguments.tiny else SEARCHES) if arguments.only in each.name)
    tasks: list[Case | Search] = [*cases, *searches]
    if arguments.predict:
        predict(results, arguments.device, tasks, arguments.jobs, ends_at)
    if arguments.measure and arguments.backend == "torch":
        measure_torch(results, cases if arguments.tiny else of_torch(cases), arguments.jobs, ends_at)
    elif arguments.measure:
        measure(results, tasks, arguments.jobs, ends_at, arguments.of_card, arguments.compiled)
    if arguments.speeds:
        measure_speeds(results, arguments.compiled)
    show(results)


if __name__ == "__main__":
    main()
