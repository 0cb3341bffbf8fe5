"""generator_blocked: the program's own input code stands still, and everything waits for it."""

from tests.diagnosis.builders import host, journal, lib, main, py, stacks, stalled, started, steps, thread
from unstall.diagnosis.causes import generator_blocked
from unstall.diagnosis.verdict import Certainty, Clear, Found, Unknown
from unstall.journal.events import SampleFailed, StallEnded

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


def test_clear_when_the_input_code_moves_between_samples() -> None:
    samples = [stacks(FIT, loader(line), at=at) for line, at in ((57, 109), (58, 110), (61, 111))]
    assert isinstance(generator_blocked.examine(stall_with(*samples)), Clear)


def test_clear_when_the_program_works() -> None:
    samples = [stacks(FIT, loader(), at=at) for at in (109, 110, 111)]
    assert isinstance(generator_blocked.examine(stall_with(*samples, cpu=0.9)), Clear)


def test_clear_when_the_stall_ended_by_itself() -> None:
    samples = [stacks(FIT, loader(), at=at) for at in (109, 110, 111)]
    went_on = stall_with(*samples)
    went_on.extend([StallEnded(at=samples[-1].at + 1)])
    assert isinstance(generator_blocked.examine(went_on), Clear)


def test_clear_when_the_thread_belongs_to_no_input() -> None:
    logger = thread(py(f"{PYTHON_LIB}/queue.py", "get"), py("metrics.py", "send", 8), py(f"{PYTHON_LIB}/threading.py", "run"))
    assert isinstance(generator_blocked.examine(stall_with(*(stacks(FIT, logger, at=at) for at in (109, 110, 111)))), Clear)


def test_unknown_without_stacks_says_which_permission_is_missing() -> None:
    refused = SampleFailed(at=stalled(100, 108).at + 1, signal="stacks", missing="the permission to read the memory", cure="sudo")
    verdict = generator_blocked.examine(stall_with(refused))
    assert verdict == Unknown("the permission to read the memory", "sudo")
