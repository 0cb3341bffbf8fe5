"""thread_pool_exhausted: all threads of a pool wait for what only that pool could do."""

from __future__ import annotations

from tests.diagnosis.builders import T0, kernel, lib, main, native, py, sleeper, stacks, stuck, thread, three
from unstall.diagnosis.causes import thread_pool_exhausted
from unstall.diagnosis.findings import diagnose
from unstall.diagnosis.verdict import Certainty, Clear, Found, Unknown
from unstall.journal.events import Frame, SampleFailed, ThreadStack

STDLIB = "/usr/lib/python3.11"
RUNS_FUNCTION = (
    lib("tensorflow/python/eager/execute.py", "quick_execute"),
    lib("tensorflow/python/eager/context.py", "Context.call_function"),
    lib("tensorflow/python/eager/polymorphic_function/polymorphic_function.py", "Function.__call__"),
)
FROM_GRAPH = (lib("tensorflow/python/ops/script_ops.py", "EagerFunc.__call__"),)
FIT = main(*RUNS_FUNCTION, lib("keras/src/backend/tensorflow/trainer.py", "fit"), py("train.py", "<module>", 54))


def nested(line: int = 38, id: int = 2) -> ThreadStack:
    return thread(*RUNS_FUNCTION, py("train.py", "ask_teacher", line), *FROM_GRAPH, id=id)


def pool_thread(number: int, *frames: Frame, pool: str = "ThreadPoolExecutor-0") -> ThreadStack:
    task = (py(f"{STDLIB}/concurrent/futures/thread.py", "_WorkItem.run"),) if frames else ()
    worker = py(f"{STDLIB}/concurrent/futures/thread.py", "_worker")
    return thread(*frames, *task, worker, name=f"{pool}_{number}", id=len(pool) * 10 + number)


WAITS_FOR_FUTURE = (py(f"{STDLIB}/threading.py", "Condition.wait"), py(f"{STDLIB}/concurrent/futures/_base.py", "Future.result"))
INNER = (*WAITS_FOR_FUTURE, py("loader.py", "load_sample", 38))
OUTER = main(
    *WAITS_FOR_FUTURE,
    py("loader.py", "batches", 45),
    lib("keras/src/trainers/data_adapters/data_adapter_utils.py", "get_jax_iterator"),
    lib("keras/src/backend/jax/trainer.py", "fit"),
    py("train.py", "<module>", 51),
)


def test_found_where_a_py_function_waits_for_a_tf_function() -> None:
    verdict = thread_pool_exhausted.examine(stuck(*three(FIT, nested())))
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.CERTAIN
    assert "waits for a tf.function, which needs a thread of the same pool" in verdict.summary
    assert "no other is free" not in verdict.summary
    assert verdict.where == "train.py:38"


def test_found_names_the_one_on_tensorflows_own_thread_where_tf_data_waits_for_it() -> None:
    by_data, by_pool = nested(47, id=2), nested(34, id=3)
    names = kernel(sleeper(1), sleeper(2, name="python"), sleeper(3, name="tf_Compute"), at=109)
    verdict = thread_pool_exhausted.examine(stuck(*three(FIT, by_pool, by_data), names))
    assert isinstance(verdict, Found)
    assert verdict.where == "train.py:34"


def test_native_frames_add_to_the_evidence() -> None:
    deep = thread(native("tensorflow::ProcessFunctionLibraryRuntime::RunSync"), *nested()["frames"], id=2)
    verdict = thread_pool_exhausted.examine(stuck(*three(FIT, deep, native=True)))
    assert isinstance(verdict, Found)
    assert any(evidence.value == "RunSync" for evidence in verdict.evidence)


def test_clear_where_the_inner_function_waits_for_python_code_that_is_blocked() -> None:
    blocked = thread(py(f"{STDLIB}/socket.py", "readinto"), py("train.py", "download", 12), *FROM_GRAPH, id=3)
    assert isinstance(thread_pool_exhausted.examine(stuck(*three(FIT, nested(), blocked))), Clear)


def test_found_where_all_threads_of_a_python_pool_wait_for_futures() -> None:
    threads = [pool_thread(number, *INNER) for number in range(4)]
    idle = [pool_thread(number, pool="another-pool") for number in range(3)]
    journal = stuck(*three(OUTER, *threads, *idle))
    verdict = thread_pool_exhausted.examine(journal)
    assert isinstance(verdict, Found)
    assert verdict.where == "loader.py:38"
    assert "All 4 threads of the pool ThreadPoolExecutor-0" in verdict.summary
    root = diagnose(journal).root
    assert root is not None and root.cause == "thread_pool_exhausted"


def test_clear_where_one_thread_of_the_pool_is_free() -> None:
    threads = [*(pool_thread(number, *INNER) for number in range(3)), pool_thread(3)]
    assert isinstance(thread_pool_exhausted.examine(stuck(*three(OUTER, *threads))), Clear)


def test_clear_where_another_pool_works_for_the_first() -> None:
    first = [pool_thread(number, *INNER) for number in range(4)]
    second = pool_thread(0, py("loader.py", "cut_tile", 22), pool="tiles")
    assert isinstance(thread_pool_exhausted.examine(stuck(*three(OUTER, *first, second))), Clear)


def test_clear_when_it_moves_works_or_goes_on() -> None:
    moving = [stacks(FIT, nested(line), at=at) for line, at in ((38, 109), (39, 110), (38, 111))]
    assert isinstance(thread_pool_exhausted.examine(stuck(*moving)), Clear)
    assert isinstance(thread_pool_exhausted.examine(stuck(*three(FIT, nested()), cpu=0.9)), Clear)


def test_unknown_without_stacks() -> None:
    refused = SampleFailed(at=T0 + 109, signal="stacks", missing="the permission", fix="sudo")
    assert thread_pool_exhausted.examine(stuck(refused)) == Unknown("the permission", "sudo")
