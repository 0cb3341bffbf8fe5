"""process_died: by what the error says of the end of a process, and by what the system says."""

from __future__ import annotations

from typing import Any

import pytest

from tests.diagnosis.failed_programs import failed, line, unseen
from unstall.diagnosis.causes import process_died
from unstall.diagnosis.verdict import Clear, Found, Unknown, Verdict

CONNECTION = "/usr/lib/python3.11/multiprocessing/connection.py"


def processes(*codes: int, method: str = "fork", unguarded: str | None = None) -> dict[str, Any]:
    ended = [{"name": f"Process-{at}", "exit_code": code, "method": method} for at, code in enumerate(codes, 1)]
    return {"what": "processes", "name": "", "ended": ended, "method": method, "unguarded": unguarded, "where": unguarded}


def examine(kind: str, message: str, *, within: str = "", makers: Any = (), **more: Any) -> Verdict:
    return process_died.examine(
        failed(kind, message, line(10, "for x in loader:", function="main"), within=within, makers=list(makers), **more)
    )


@pytest.mark.parametrize(
    ("kind", "message", "said"),
    [
        ("RuntimeError", "DataLoader worker (pid 7) exited unexpectedly with exit code 3. Details are lost.", "exit code 3"),
        ("RuntimeError", "DataLoader worker (pid 7) is killed by signal: Segmentation fault. ", "SIGSEGV"),
        ("torch.multiprocessing.spawn.ProcessExitedException", "process 1 terminated with signal SIGKILL", "rank 1"),
        ("torch.multiprocessing.spawn.ProcessExitedException", "process 0 terminated with exit code 1", "exit code 1"),
        (
            "concurrent.futures.process.BrokenProcessPool",
            "A process in the process pool was terminated abruptly",
            "without a word",
        ),
        (
            "joblib.externals.loky.process_executor.TerminatedWorkerError",
            "A worker process managed by the executor was unexpectedly terminated. The exit codes of the workers are {SIGABRT(-6)}",
            "SIGABRT",
        ),
        (
            "torch.distributed.elastic.multiprocessing.errors.ChildFailedError",
            "train.py FAILED\n[0]:\n  rank      : 1 (local_rank: 1)\n  exitcode  : -11 (pid: 42)\n",
            "SIGSEGV",
        ),
    ],
)
def test_found_by_what_the_error_says(kind: str, message: str, said: str) -> None:
    verdict = examine(kind, message)
    assert isinstance(verdict, Found)
    assert said in verdict.summary
    assert verdict.where == "train.py:10"


@pytest.mark.parametrize("kind", ["ConnectionResetError", "EOFError", "_queue.Empty"])
def test_a_connection_that_was_cut_needs_a_process_that_ended(kind: str) -> None:
    cut = examine(kind, "", within=CONNECTION, makers=[processes(-11)])
    assert isinstance(cut, Found)
    assert "SIGSEGV, and a connection to it was cut" in cut.summary
    assert isinstance(examine(kind, "", within=CONNECTION), Clear)


def test_a_connection_to_another_machine_is_something_else() -> None:
    other = "/usr/lib/python3.11/http/client.py"
    assert isinstance(examine("ConnectionResetError", "[Errno 104]", within=other, makers=[processes(1)]), Clear)


def test_those_that_a_pool_ends_then_are_not_the_first() -> None:
    verdict = examine("concurrent.futures.process.BrokenProcessPool", "gone", makers=[processes(-15, -6, -15)])
    assert isinstance(verdict, Found)
    assert "SIGABRT" in verdict.summary
    assert not any("SIGTERM" in each.claim for each in verdict.evidence)


def test_an_error_that_a_worker_passes_on_is_its_own() -> None:
    message = "Caught ValueError in DataLoader worker process 0.\nOriginal Traceback (most recent call last):\n"
    assert isinstance(examine("ValueError", message), Clear)


def test_unknown_where_the_program_could_not_be_seen() -> None:
    assert isinstance(process_died.examine(unseen()), Unknown)
