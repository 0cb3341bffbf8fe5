"""Events of input pipelines, in few words."""

from __future__ import annotations

from typing import Any

from tests.diagnosis.builders import FOLDER, T0, host, journal, lib, main, py, stacks, started, steps, thread
from unstall.journal.events import (
    Event,
    FitBegan,
    FrameworkLoaded,
    InputDescribed,
    PipelineMeasured,
    SourceRead,
    ThreadsSeen,
    ThreadStack,
)
from unstall.journal.reader import Journal


def fit(at: float = 1.0, api: str = "keras", line: int = 90, **more: Any) -> FitBegan:
    return FitBegan(at=T0 + at, api=api, backend="tensorflow", where=f"{FOLDER}/train.py:{line}", **more)


def described(
    at: float = 1.0, role: str = "train", kind: str = "tf.data", batches: int | None = None, **arguments: Any
) -> InputDescribed:
    return InputDescribed(at=T0 + at, kind=kind, where=f"{FOLDER}/train.py:90", batches=batches, arguments=arguments, role=role)


def stage(name: str, line: int, does: tuple[str, ...] = (), **arguments: Any) -> dict[str, Any]:
    return {"name": name, "stage": name.lower(), "where": f"{FOLDER}/train.py:{line}", "arguments": arguments, "does": list(does)}


def node(name: str, elements: int, seconds: float = 0.0, at_a_time: int = 1, buffered: int = 0) -> dict[str, Any]:
    return {"name": name, "elements": elements, "seconds": seconds, "at_a_time": at_a_time, "buffered": buffered}


def measured(
    at: float, nodes: list[dict[str, Any]], stages: list[dict[str, Any]] | None = None, since: float = 2.0, role: str = "train"
) -> PipelineMeasured:
    """Both from the source on; the pipeline was made at `since`."""
    return PipelineMeasured(at=T0 + at, number=1, role=role, seconds=at - since, stages=stages or [], nodes=nodes)


def threads(at: float, **cpu_ms: float) -> ThreadsSeen:
    """threads(10, t2=500): thread 2 has used 500 ms of CPU up to then."""
    looks = [{"id": int(name[1:]), "cpu_ms": value, "queued_ms": 0.0, "runs": 1} for name, value in cpu_ms.items()]
    return ThreadsSeen(at=T0 + at, pid=1, threads=looks)


# Trainings that wait for their input, in few words: for the tests of the causes that share that fact.


EXECUTES = main(
    lib("tensorflow/python/eager/execute.py", "quick_execute", 53),
    lib("keras/src/backend/tensorflow/trainer.py", "fit", 400),
    py("train.py", "<module>", 90),
)
DECODING = [
    measured(
        29,
        [node("TensorSlice", 900), node("ParallelMapV2", 900, 24.0, at_a_time=2), node("BatchV2", 90, 0.5), node("Root", 90)],
        [stage("TensorSlice", 10), stage("Map", 11, ("reading", "decoding"), function="load"), stage("Batch", 12)],
    )
]
READING = [
    measured(
        29,
        [node("TFRecord", 900, 24.0), node("ParallelMapV2", 900, 0.2), node("BatchV2", 90, 0.1), node("Root", 90)],
        [stage("TFRecord", 20), stage("Map", 21, ("decoding",), function="parse"), stage("Batch", 22)],
    )
]
PYTHON = [
    measured(
        29,
        [node("TensorSlice", 900), node("MapAndBatch", 90, 24.0, at_a_time=4), node("Root", 90)],
        [stage("TensorSlice", 10), stage("Map", 11, ("python",), function="encode"), stage("Batch", 12)],
    )
]


def in_py_function(line: int = 38, gil: bool = True) -> ThreadStack:
    stack = thread(
        py("data.py", "bag_of_words", line),
        lib("tensorflow/python/ops/script_ops.py", "__call__", 152),
        active=True,
    )
    stack["gil"] = gil
    return stack


def in_generator(*innermost: object, gil: bool = False) -> ThreadStack:
    """The main thread, in a generator that Keras on JAX or PyTorch goes through."""
    stack = main(
        *innermost,  # type: ignore[arg-type]
        py("data.py", "batches", 40),
        lib("keras/src/trainers/data_adapters/data_adapter_utils.py", "get_jax_iterator", 260),
        lib("keras/src/backend/jax/trainer.py", "fit", 400),
        py("train.py", "<module>", 90),
    )
    stack["gil"] = gil
    return stack


def training(
    *more: Event,
    wait_s: float | None = 0.25,
    step_s: float = 0.3,
    stack: ThreadStack = EXECUTES,
    cores: float = 1.5,
    thread_cores: float = 1.0,
    waits_for_disk: bool = False,
    disk_bytes_s: float = 0.0,
    api: str = "keras",
) -> Journal:
    """Thirty seconds of steps, each so long and waiting so long, with samples every three seconds."""
    count = int(1 / step_s)
    groups = [
        steps(number * count + 2, number * count + count + 1, at=number + 1, each_s=step_s, wait_s=wait_s) for number in range(30)
    ]
    samples = [stacks(EXECUTES, stack, at=at) if stack["id"] != 1 else stacks(stack, at=at) for at in range(2, 30, 3)]
    looks = [threads(at, **{f"t{stack['id']}": at * 1000 * thread_cores}) for at in range(2, 30, 3)]
    hosts = [
        host(at, cores, io_wait_threads=int(waits_for_disk), disk_read_bytes_s=disk_bytes_s, read_bytes_s=disk_bytes_s)
        for at in range(1, 31)
    ]
    loaded = FrameworkLoaded(at=T0, name="tensorflow", version="2.21")
    return journal(started(), loaded, fit(0.1, api=api), *groups, *samples, *looks, *hosts, *more, now=31)


def generator_source(line: int = 40, function: str = "batches") -> SourceRead:
    return SourceRead(at=T0 + 3, file=f"{FOLDER}/data.py", line=line, text="yield", function=function, is_generator=True)
