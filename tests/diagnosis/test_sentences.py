"""What verdicts may say: only what was observed. Words that claim more stand in no sentence of a cause."""

from __future__ import annotations

import ast
import dataclasses
import json
import re
from pathlib import Path

import pytest

from tests.diagnosis.builders import (
    T0,
    host,
    journal,
    kernel,
    lib,
    main,
    native,
    py,
    sleeper,
    source,
    stalled,
    started,
    thread,
    three,
)
from tests.diagnosis.recorded_journals import FOLDER as RECORDED
from tests.diagnosis.recorded_journals import recorded
from unstall.diagnosis.causes import CAUSES, device_memory_exhausted, killed_from_outside, record_corrupt
from unstall.diagnosis.verdict import Found
from unstall.journal.events import (
    ChildSeen,
    DatabasesSeen,
    EpochEnded,
    ErrorRaised,
    Event,
    FitBegan,
    FrameworkLoaded,
    LibrariesSeen,
    LoopSeen,
    ProcessEnded,
    ProgramStarted,
    StepsEnded,
    ThreadStack,
)
from unstall.journal.reader import Journal

FOLDER = Path(__file__).parents[2] / "src" / "unstall" / "diagnosis" / "causes"
# Steps of a loop of one's own in PyTorch or JAX are mostly not seen: that there was none is not known.
# An error may speak of what it likes, and a function of the program's own may be called as it likes.
QUOTES = re.compile(r"the error that ended|the program ended with|\w+Error: |(?:called from )?[\w./-]+:\d+")
ABOUT_BATCHES = ("batch_ragged", "input_shape_mismatch")  # the error itself says that it is about a batch
SPEAKS_OF_STEPS = re.compile(r"\b(?:steps?|epochs?|batch(?:es)?|training|trains)\b")
CLAIMS_OF_STEPS = re.compile(r"before (?:its|the) first step|first step comes|without a single step")

# Words that claim more than events show, and what it is that no event shows.
UNSEEN = {
    r"\bon purpose\b|nothing was wrong": "what somebody meant, or that all was well",
    r"\bNothing is trained\b|\bin vain\b|\bdo(?:es)? not learn\b|learn nothing": "what is learned",
    r"\b(?:ever|never) (?:used|answers|given)\b": "all of a run, which is looked at now and then",
    r"what is slow is|is to blame\b": "the cause of a slowdown",
    r"no other is free|only the same pool": "whether threads that run no Python are free",
    r"does not arrive|machine .* is gone|do not reach each other": "the network between two machines",
    r"memory grew at": "which line took memory",
}
SPOKEN = [
    *sorted(FOLDER.glob("[a-z]*.py")),
    *sorted(FOLDER.parent.glob("[a-z]*.py")),
    *sorted((FOLDER.parents[1] / "remedies").glob("[a-z]*.py")),
    *(FOLDER.parents[1] / "supervisor" / "train" / name for name in ("fault.py", "worker_monitor.py")),
]


def sentences(path: Path) -> list[str]:
    """The texts of a module, without its docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docs = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef) and node.body and isinstance(node.body[0], ast.Expr)
    }
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs
    ]


@pytest.mark.parametrize("name", CAUSES.names())
def test_no_sentence_claims_steps_that_may_not_be_seen(name: str) -> None:
    claimed = [text for text in sentences(FOLDER / f"{name}.py") if CLAIMS_OF_STEPS.search(text)]
    assert not claimed, f"{claimed}: say how many steps had ended where they are seen (failures.steps_by_then), else nothing."


@pytest.mark.parametrize("path", SPOKEN, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_no_sentence_claims_what_no_event_shows(path: Path) -> None:
    for words, what in UNSEEN.items():
        claimed = [text for text in sentences(path) if re.search(words, text)]
        assert not claimed, f"{claimed}: no event shows {what}. Say what was observed."


def test_a_pytorch_loop_that_ends_says_nothing_of_steps() -> None:
    memory = "CUDA out of memory. Tried to allocate 64.00 GiB. GPU 0 has a total capacity of 139.72 GiB"
    for module, kind, message in (
        (device_memory_exhausted, "torch.OutOfMemoryError", memory),
        (record_corrupt, "OSError", "image file is truncated (12 bytes not processed)"),
    ):
        error = ErrorRaised(at=T0 + 59, kind=kind, message=message, fatal=True)
        verdict = module.examine(journal(started(), ProgramStarted(at=T0, pid=1), error, ProcessEnded(at=T0 + 60, exit_code=1)))
        assert isinstance(verdict, Found)
        assert "step" not in verdict.summary


def test_a_signal_is_told_as_it_was_seen() -> None:
    ended = ProcessEnded(at=T0 + 60, pid=1, signal=15)
    unseen = killed_from_outside.examine(journal(started(), ended))
    inside = killed_from_outside.examine(journal(started(), ProgramStarted(at=T0, pid=1), ended))
    assert isinstance(unseen, Found) and isinstance(inside, Found)
    assert "itself" not in unseen.evidence[0].claim
    assert "was not seen to send it to itself" in inside.evidence[0].claim
    assert "Nothing was wrong" not in unseen.summary


# --- journals in which nobody saw a step ---

STDLIB = "/usr/lib/python3.11"
MESSAGES = json.loads((Path(__file__).parent / "errors" / "messages.json").read_text(encoding="utf-8"))
GENERATOR = lib("tensorflow/python/data/ops/from_generator_op.py", "generator_py_func")
CALLBACK = lib("keras/src/callbacks/callback_list.py", "on_epoch_end")
FUTURE = (py(f"{STDLIB}/threading.py", "Condition.wait"), py(f"{STDLIB}/concurrent/futures/_base.py", "Future.result"))
TASK = (py(f"{STDLIB}/concurrent/futures/thread.py", "_WorkItem.run"), py(f"{STDLIB}/concurrent/futures/thread.py", "_worker"))
FORK = (py(f"{STDLIB}/multiprocessing/popen_fork.py", "Popen._launch"), py("train.py", "score", 50))
CHILD: ThreadStack = {**main(lib("torch/nn/functional.py", "conv2d"), py("train.py", "fold", 45), *FORK), "id": 7}
SQLITE = (native("clock_nanosleep", "libc.so.6"), native("sqlite3_step", "libsqlite3.so.0"))
DATABASE = {"path": "/data/runs.db", "holder_pid": 77, "holder": ["python", "sweep.py"], "writes": True}
DIED = ErrorRaised(at=T0 + 99, kind="ValueError", message="no label", thread="Loader-1", names=["ready"],
                   frames=[py("loader.py", "fill", 31)])  # fmt: skip
# What is found of each, where a program stands still that was not seen to train: threads, and what else was seen.
STALLS: dict[str, tuple[Event, ...]] = {
    "generator_blocked": three(
        thread(py(f"{STDLIB}/socket.py", "readinto"), py("loader.py", "fetch", 57), GENERATOR),
        main(py("train.py", "<module>", 3)),
    ),
    "generator_blocked, in a loop": (
        *three(main(py(f"{STDLIB}/socket.py", "readinto"), py("train.py", "rows", 9), py("train.py", "<module>", 11))),
        source("train.py", 9, is_generator=True),
    ),
    "callback_blocked": three(
        main(py(f"{STDLIB}/ssl.py", "read"), py("train.py", "tell", 9), CALLBACK, py("train.py", "main", 3))
    ),
    "collective_stuck": three(main(lib("torch/distributed/distributed_c10d.py", "all_reduce"), py("train.py", "<module>", 72))),
    "worker_missing": three(main(lib("torch/distributed/distributed_c10d.py", "init_process_group"), py("train.py", "main", 2))),
    "lock_deadlock": (
        *three(main(py("train.py", "save", 20), py("train.py", "main", 3))),
        source("train.py", 20, awaits=["lock"], holds=["lock"], taken_at=[18], taken_by=["with"]),
    ),
    "fork_deadlock": (
        *three(main(py(f"{STDLIB}/multiprocessing/pool.py", "Pool.map"), py("train.py", "score", 51))),
        *three(CHILD, main=False, pid=7),
        ChildSeen(at=T0 + 111, pid=7, parent_pid=1, forked=True, command=["python"]),
        kernel(sleeper(7, call="futex"), at=109, pid=7, main=False),
    ),
    "thread_pool_exhausted": three(
        main(*FUTURE, py("train.py", "main", 3)),
        thread(*FUTURE, py("loader.py", "load", 38), *TASK, name="ThreadPoolExecutor-0_0"),
    ),
    "database_locked": (
        *three(main(*SQLITE, py("track.py", "log", 12), py("train.py", "main", 3)), native=True),
        *(kernel(sleeper(call="clock_nanosleep"), at=at) for at in (109, 110, 111)),
        DatabasesSeen(at=T0 + 111, pid=1, databases=[DATABASE]),
    ),
    "thread_died": (
        DIED,
        *three(main(py(f"{STDLIB}/queue.py", "Queue.get"), py("train.py", "main", 5))),
        source("train.py", 5, text="images = ready.get()"),
    ),
}


def without_steps(result: Journal) -> Journal:
    """The same run as it is seen where its loop is not known."""
    kept = [event for event in result.all() if not isinstance(event, StepsEnded | FitBegan | LoopSeen | EpochEnded)]
    return Journal([dataclasses.replace(event, step=-1) if hasattr(event, "step") else event for event in kept], now=result.now)


def stands_still(*events: Event) -> Journal:
    loaded = (FrameworkLoaded(at=T0 + 1, name="torch", version="2.13"), LibrariesSeen(at=T0 + 1, pid=1, names=["torch"]))
    stall = stalled(since=100, at=108, phase="", step=-1, usual_s=None)
    hosts = [host(at) for at in range(101, 170)]
    return journal(started(), ProgramStarted(at=T0, pid=1), *loaded, stall, *events, *hosts, now=170)


def said_of(result: Journal) -> dict[str, Found]:
    verdicts = {name: CAUSES.module(name).examine(result) for name in CAUSES.names()}
    return {name: verdict for name, verdict in verdicts.items() if isinstance(verdict, Found)}


def check(said: dict[str, Found]) -> None:
    for name, verdict in said.items():
        for text in (verdict.summary, *(evidence.claim for evidence in verdict.evidence)):
            about = text.replace("batch", "") if name in ABOUT_BATCHES else text
            about = re.sub(r"`[^`]*`", "", about)  # code and names of the program's own
            spoken = not QUOTES.match(text) and SPEAKS_OF_STEPS.search(about)
            assert not spoken, f"{name} says {text!r}, and nobody saw a step."


@pytest.mark.parametrize("name", sorted(path.name for path in RECORDED.iterdir() if path.is_dir()))
def test_recorded_runs_whose_steps_are_not_seen_are_told_without_steps(name: str) -> None:
    check(said_of(without_steps(recorded(name))))


@pytest.mark.parametrize("name", MESSAGES)
def test_errors_of_loops_that_are_not_seen_are_told_without_steps(name: str) -> None:
    result = MESSAGES[name]
    error = ErrorRaised(
        at=T0 + 59, fatal=True, frames=[py("train.py", "main", 5)], kind=result["kind"], message=result["message"]
    )
    check(said_of(journal(started(), ProgramStarted(at=T0, pid=1), error, ProcessEnded(at=T0 + 60, exit_code=1))))


@pytest.mark.parametrize("cause", STALLS)
def test_stalls_of_loops_that_are_not_seen_are_told_without_steps(cause: str) -> None:
    said = said_of(stands_still(*STALLS[cause]))
    assert cause.partition(",")[0] in said
    check(said)


@pytest.mark.parametrize("name", sorted(path.name for path in RECORDED.iterdir() if path.is_dir()))
def test_nothing_is_said_to_go_on_in_a_program_that_has_ended(name: str) -> None:
    result = recorded(name)
    assert result.last(ProcessEnded) is not None
    for cause, verdict in said_of(result).items():
        words = "\n".join([verdict.summary, *verdict.actions])
        assert "not stuck" not in words and "goes on by itself" not in words, (
            f"{cause} says {words!r} of a program that has ended."
        )
