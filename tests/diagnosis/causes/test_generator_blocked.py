"""generator_blocked: the program's own input code stands still, and everything waits for it."""

import pytest

from tests.diagnosis.builders import (
    T0,
    host,
    journal,
    kernel,
    lib,
    main,
    py,
    sleeper,
    source,
    stacks,
    stalled,
    started,
    steps,
    stuck,
    thread,
    three,
)  # fmt: skip
from unstall.diagnosis.causes import generator_blocked
from unstall.diagnosis.verdict import Certainty, Clear, Found, Unknown
from unstall.journal.events import ChildSeen, FitBegan, Frame, LibrariesSeen, SampleFailed, StallEnded, ThreadStack

FIT = main(
    lib("tensorflow/python/eager/execute.py", "quick_execute"),
    lib("keras/src/backend/tensorflow/trainer.py", "fit"),
    py("train.py", "<module>", 31),
)
PYTHON_LIB = "/usr/lib/python3.11"


def loader(line: int = 57) -> object:
    return thread(
        py(f"{PYTHON_LIB}/socket.py", "readinto", 706),
        py("loader.py", "fetch", line),
        py("loader.py", "batches", 20),
        lib("tensorflow/python/data/ops/from_generator_op.py", "generator_py_func", 198),
        lib("tensorflow/python/ops/script_ops.py", "__call__", 269),
    )


def stall_with(*samples: object, cpu: float = 0.0) -> object:
    return journal(
        started(),
        steps(300, 380, at=100),
        stalled(since=100, at=108),
        *samples,
        *(host(at, cpu) for at in range(101, 112)),
        now=112,
    )


def test_found_where_a_generator_given_to_steps_of_watch_waits_also_without_a_framework() -> None:
    waits = main(
        py(f"{PYTHON_LIB}/threading.py", "Event.wait", 629),
        py("train.py", "batches", 8),
        lib("unstall/probe/watch.py", "Watched.steps", 43),
        py("train.py", "<module>", 12),
    )
    verdict = generator_blocked.examine(stall_with(*(stacks(waits, at=at) for at in (109, 110, 111))))
    assert isinstance(verdict, Found) and verdict.where == "train.py:8"
    assert "It waits for an event that another thread must set in batches at train.py:8" in verdict.summary


def test_clear_where_a_generator_given_to_steps_of_watch_sleeps() -> None:
    rests = main(py("train.py", "batches", 8), lib("unstall/probe/watch.py", "Watched.steps", 43), py("train.py", "<module>", 12))
    looks = [
        *(stacks(rests, at=at) for at in (109, 110, 111)),
        *(kernel(sleeper(call="clock_nanosleep"), at=at) for at in (109, 110, 111)),
    ]
    assert isinstance(generator_blocked.examine(stall_with(*looks)), Clear)


FUTURE = (
    py(f"{PYTHON_LIB}/threading.py", "Condition.wait", 327),
    py(f"{PYTHON_LIB}/concurrent/futures/_base.py", "Future.result", 451),
)
FIT_ON_FUTURE = main(
    *FUTURE,
    lib("a_reader/prefetch.py", "__next__", 264),
    lib("keras/src/trainers/data_adapters/grain_dataset_adapter.py", "_get_dataset_info", 47),
    lib("keras/src/backend/jax/trainer.py", "fit", 407),
    py("train.py", "<module>", 52),
)


def pooled(*frames: Frame, id: int = 7) -> ThreadStack:
    pool = f"{PYTHON_LIB}/concurrent/futures/thread.py"
    return thread(*frames, py(pool, "_WorkItem.run", 58), py(pool, "_worker", 83), id=id)


def test_the_thread_of_a_pool_for_whose_future_the_input_waits_is_named() -> None:
    reads = pooled(lib("PIL/Image.py", "open", 3654), py("train.py", "Reader.__call__", 29), lib("a_reader/map.py", "get", 161))
    rests = pooled(id=8)
    looks = [stacks(FIT_ON_FUTURE, reads, rests, at=at) for at in (109, 110, 111)]
    verdict = generator_blocked.examine(stall_with(*looks))
    assert isinstance(verdict, Found) and verdict.where == "train.py:29"
    assert "Reader.__call__" in verdict.summary


def test_the_wait_for_a_future_is_named_where_no_thread_or_several_stand_in_the_users_code() -> None:
    others = [pooled(py("train.py", "read", line), id=line) for line in (29, 31)]
    none: list[ThreadStack] = []
    for threads in (none, others):
        verdict = generator_blocked.examine(stall_with(*(stacks(FIT_ON_FUTURE, *threads, at=at) for at in (109, 110, 111))))
        assert isinstance(verdict, Found) and (verdict.where or "").endswith("a_reader/prefetch.py:264")


def test_found_with_the_users_line_and_what_it_waits_for() -> None:
    verdict = generator_blocked.examine(stall_with(*(stacks(FIT, loader(), at=at) for at in (109, 110, 111))))
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.CERTAIN
    assert verdict.where == "loader.py:57"
    assert "the network" in verdict.summary
    assert "called at loader.py:20" in verdict.summary


def test_found_in_the_main_thread_itself_where_python_fetches_the_batch() -> None:
    main_fetches = main(
        py(f"{PYTHON_LIB}/queue.py", "get", 171),
        py("data.py", "__getitem__", 12),
        lib("keras/src/trainers/data_adapters/py_dataset_adapter.py", "get_jax_iterator"),
        lib("keras/src/backend/jax/trainer.py", "fit"),
        py("train.py", "<module>", 9),
    )
    verdict = generator_blocked.examine(stall_with(*(stacks(main_fetches, at=at) for at in (109, 110, 111))))
    assert isinstance(verdict, Found)
    assert verdict.where == "data.py:12"
    assert "a queue" in verdict.summary


@pytest.mark.parametrize(
    "by",
    [
        "tf_keras/src/utils/data_utils.py",
        "keras/src/engine/data_adapter.py",
        "keras/src/utils/data_utils.py",
        "keras/engine/data_adapter.py",
        "keras/utils/data_utils.py",
        "keras/engine/training_generator.py",
        "tensorflow/python/keras/engine/data_adapter.py",
        "tensorflow/python/keras/utils/data_utils.py",
        "tensorflow_core/python/ops/script_ops.py",
    ],
)
def test_found_under_the_files_of_keras_2_by_all_their_names(by: str) -> None:
    waits = thread(py("loader.py", "fetch", 57), lib(by, "get"))
    verdict = generator_blocked.examine(stall_with(*(stacks(FIT, waits, at=at) for at in (109, 110, 111))))
    assert isinstance(verdict, Found) and verdict.where == "loader.py:57"


def test_clear_where_a_callback_stands_that_keras_2_calls_from_the_file_which_also_fetches() -> None:
    waits = main(
        py("notify.py", "on_epoch_end", 7),
        lib("keras/callbacks.py", "on_epoch_end"),
        lib("keras/engine/training_generator.py", "fit_generator"),
        py("train.py", "<module>", 31),
    )
    assert isinstance(generator_blocked.examine(stall_with(*(stacks(waits, at=at) for at in (109, 110, 111)))), Clear)


@pytest.mark.parametrize(
    ("file", "function", "action"),
    [
        ("multiprocessing/pool.py", "wait", "ProcessPoolExecutor"),
        ("queue.py", "get", "what fills the queue is still alive"),
        ("subprocess.py", "_wait", "communicate()"),
    ],
)
def test_the_first_advice_is_for_what_it_waits_for(file: str, function: str, action: str) -> None:
    waits = thread(
        py(f"{PYTHON_LIB}/{file}", function, 3),
        py("loader.py", "fetch", 5),
        lib("tensorflow/python/data/ops/from_generator_op.py", "generator_py_func", 198),
    )
    verdict = generator_blocked.examine(stall_with(*(stacks(FIT, waits, at=at) for at in (109, 110, 111))))
    assert isinstance(verdict, Found)
    assert action in verdict.actions[0]


def test_clear_when_the_input_code_moves_between_samples() -> None:
    samples = [stacks(FIT, loader(line), at=at) for line, at in ((57, 109), (58, 110), (61, 111))]
    assert isinstance(generator_blocked.examine(stall_with(*samples)), Clear)


def test_clear_when_the_program_works() -> None:
    samples = [stacks(FIT, loader(), at=at) for at in (109, 110, 111)]
    assert isinstance(generator_blocked.examine(stall_with(*samples, cpu=0.9)), Clear)


def test_clear_when_the_program_would_work_if_it_got_a_core() -> None:
    samples = [stacks(FIT, loader(), at=at) for at in (109, 110, 111)]
    crowded = [host(at, 0.1, queued_cores=0.9) for at in range(101, 112)]
    events = (started(), steps(300, 380, at=100), stalled(since=100, at=108), *samples)
    assert isinstance(generator_blocked.examine(journal(*events, *crowded, now=112)), Clear)


def test_clear_when_the_stall_ended_by_itself() -> None:
    samples = [stacks(FIT, loader(), at=at) for at in (109, 110, 111)]
    went_on = stall_with(*samples)
    went_on.extend([StallEnded(at=samples[-1].at + 1)])
    assert isinstance(generator_blocked.examine(went_on), Clear)


def test_clear_when_the_thread_belongs_to_no_input() -> None:
    logger = thread(py(f"{PYTHON_LIB}/queue.py", "get"), py("metrics.py", "send", 8), py(f"{PYTHON_LIB}/threading.py", "run"))
    assert isinstance(generator_blocked.examine(stall_with(*(stacks(FIT, logger, at=at) for at in (109, 110, 111)))), Clear)


def test_unknown_without_stacks_says_which_permission_is_missing() -> None:
    refused = SampleFailed(at=stalled(100, 108).at + 1, signal="stacks", missing="the permission to read the memory", fix="sudo")
    verdict = generator_blocked.examine(stall_with(refused))
    assert verdict == Unknown("the permission to read the memory", "sudo")


def test_found_in_a_worker_process_with_what_the_kernel_says_it_reads_from() -> None:
    waits = main(
        py(f"{PYTHON_LIB}/multiprocessing/queues.py", "get"),
        lib("torch/utils/data/dataloader.py", "__next__"),
        py("train.py", "<module>", 9),
    )
    worker: ThreadStack = {**main(py("data.py", "fetch", 12), lib("torch/utils/data/_utils/worker.py", "_worker_loop")), "id": 7}
    reads = kernel(sleeper(7, call="recvfrom", on="a connection to 10.0.0.7:443"), at=109, pid=7, main=False)
    verdict = generator_blocked.examine(stuck(*three(waits), *three(worker, main=False, pid=7), reads))
    assert isinstance(verdict, Found)
    assert verdict.where == "data.py:12"
    assert "the network (a connection to 10.0.0.7:443)" in verdict.summary
    assert any("worker process 7" in evidence.claim for evidence in verdict.evidence)


OWN_LOOP = main(py(f"{PYTHON_LIB}/queue.py", "get", 171), py("train.py", "<module>", 61))
STEP_CALL = FitBegan(at=T0 + 1, api="own_loop", where="train.py:64")


def test_found_in_the_loop_that_trains_but_not_after_it() -> None:
    inside = source("train.py", 61, loop=[57, 70])
    verdict = generator_blocked.examine(stuck(*three(OWN_LOOP), STEP_CALL, inside, phase="train"))
    assert isinstance(verdict, Found)
    assert verdict.where == "train.py:61"
    after = source("train.py", 61, loop=[])
    assert isinstance(generator_blocked.examine(stuck(*three(OWN_LOOP), STEP_CALL, after, phase="train")), Clear)


def test_found_in_a_generator_that_a_loop_goes_through_where_a_framework_is_loaded() -> None:
    reads = main(py(f"{PYTHON_LIB}/socket.py", "readinto"), py("data.py", "rows", 8), py("train.py", "<module>", 20))
    makes_rows = source("data.py", 8, is_generator=True)
    loaded = LibrariesSeen(at=T0 + 111, pid=1, names=["torch"])
    verdict = generator_blocked.examine(stuck(*three(reads), makes_rows, loaded, phase=""))
    assert isinstance(verdict, Found)
    assert verdict.where == "data.py:8"
    none = LibrariesSeen(at=T0 + 111, pid=1, names=[])
    assert isinstance(generator_blocked.examine(stuck(*three(reads), makes_rows, none, phase="")), Clear)


def test_clear_for_a_main_thread_that_sleeps_or_serves() -> None:
    inside = source("train.py", 61, loop=[57, 70])
    for call in ("clock_nanosleep", "accept4"):
        rests = main(py("train.py", "<module>", 61))
        asleep = kernel(sleeper(1, call=call), at=109)
        assert isinstance(generator_blocked.examine(stuck(*three(rests), STEP_CALL, inside, asleep, phase="train")), Clear)


def test_clear_for_input_that_waits_until_there_is_room_for_more() -> None:
    full = thread(
        py(f"{PYTHON_LIB}/queue.py", "put"),
        py("loader.py", "fill", 9),
        lib("torch/utils/data/_utils/pin_memory.py", "loop"),
        id=2,
    )
    assert isinstance(generator_blocked.examine(stuck(*three(FIT, full))), Clear)


def test_a_pool_is_waited_for_in_vain_only_once_its_workers_stand() -> None:
    waits = main(py(f"{PYTHON_LIB}/multiprocessing/pool.py", "get", 768), py("train.py", "<module>", 61))
    inside = source("train.py", 61, loop=[57, 70])
    worker = ChildSeen(at=T0 + 109, pid=7, parent_pid=1, forked=False, command=["python", "-c", "spawn_main(pipe_handle=13)"])
    tracker = ChildSeen(at=T0 + 109, pid=6, parent_pid=1, command=["python", "-c", "from multiprocessing.resource_tracker …"])
    waiting = (*three(waits), STEP_CALL, inside, worker, tracker)
    assert isinstance(generator_blocked.examine(stuck(*waiting, phase="train")), Clear)
    moving = [stacks({**main(lib("importlib.py", "load", at)), "id": 7}, at=at, main=False, pid=7) for at in (109, 110, 111)]
    assert isinstance(generator_blocked.examine(stuck(*waiting, *moving, phase="train")), Clear)
    stands: ThreadStack = {**main(py(f"{PYTHON_LIB}/multiprocessing/queues.py", "get", 103)), "id": 7}
    verdict = generator_blocked.examine(stuck(*waiting, *three(stands, main=False, pid=7), phase="train"))
    assert isinstance(verdict, Found)
    assert "a pool of worker processes" in verdict.summary


PICTURE = "/data/images/shapes_000012.jpg"
OPENS_PICTURE = (
    lib("PIL/Image.py", "open", 3236),
    py("read.py", "aspect_ratio", 21),
    py("train.py", "<module>", 9),
)


def opened(
    on: str | None = PICTURE, call: str = "openat", asleep_s: float = 60.0, libraries: tuple[str, ...] = ("torch",)
) -> object:
    looks = [kernel(sleeper(call=call, on=on, asleep_s=asleep_s), at=at) for at in (109, 110, 111)]
    seen = LibrariesSeen(at=T0 + 99, pid=1, names=list(libraries))
    return stuck(seen, *three(main(*OPENS_PICTURE)), *looks, step=-1, phase="", usual_s=None, sure=False)


def test_found_where_a_data_file_does_not_open_before_the_first_step() -> None:
    verdict = generator_blocked.examine(opened())
    assert isinstance(verdict, Found) and verdict.certainty is Certainty.CERTAIN and verdict.where == "read.py:21"
    assert verdict.summary.startswith(
        f"Your program has not come further. It waits for a file to open ({PICTURE}) in aspect_ratio at"
    )
    assert verdict.evidence[0].claim.startswith("the main thread stands in aspect_ratio at read.py:21")


def test_found_in_an_installed_trainer_and_in_a_thread_of_its_own() -> None:
    frames = (lib("PIL/Image.py", "open", 3236), lib("a_trainer/image.py", "read", 32), lib("a_trainer/train.py", "main", 538))
    reads = thread(*frames, py(f"{PYTHON_LIB}/threading.py", "run", 917), name="Thread-4", id=7)
    looks = [kernel(sleeper(), sleeper(id=7, call="openat", on=PICTURE), at=at) for at in (109, 110, 111)]
    verdict = generator_blocked.examine(stuck(LibrariesSeen(at=T0 + 99, pid=1, names=["torch"]), *three(FIT, reads), *looks))
    assert isinstance(verdict, Found) and str(verdict.where).endswith("a_trainer/image.py:32")
    assert PICTURE in verdict.summary and verdict.evidence[0].claim.startswith("a thread stands in read")


@pytest.mark.parametrize(
    "looked_at",
    [
        opened(on="/run/trainer/commands"),  # a named pipe by which it is told what to do
        opened(on=None),
        opened(call="read"),  # a producer may take its time to write
        opened(asleep_s=1.0),
        opened(libraries=()),
    ],
)
def test_clear_where_the_file_is_no_data_or_only_read_or_no_framework_is_there(looked_at: object) -> None:
    assert isinstance(generator_blocked.examine(looked_at), Clear)
