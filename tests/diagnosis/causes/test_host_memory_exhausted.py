"""host_memory_exhausted: refused with an error, or killed by the kernel, as its own counters say."""

import pytest

from tests.diagnosis.builders import FOLDER, T0, host, journal, lib, main, py, stacks, stalled, started, steps
from unstall.diagnosis.causes import host_memory_exhausted
from unstall.diagnosis.verdict import Certainty, Clear, Found, Unknown
from unstall.journal.events import (
    DevicesListed,
    ErrorRaised,
    Event,
    KernelSpoke,
    KillsCounted,
    ProcessEnded,
    SourceRead,
)
from unstall.journal.reader import Journal

GIB = 1 << 30
NUMPY = "numpy._core._exceptions._ArrayMemoryError"
TENSORFLOW = "tensorflow.python.framework.errors_impl"
ON = "and type float on /job:localhost/replica:0/task:0"
KERNEL_LINE = (
    "Memory cgroup out of memory: Killed process {pid} (python) total-vm:2852104kB, anon-rss:1373116kB, file-rss:436740kB, "
    "shmem-rss:0kB, UID:0 pgtables:4376kB oom_score_adj:0"
)


def error(kind: str, message: str, fatal: bool = True, chain: tuple[str, ...] = ()) -> ErrorRaised:
    frames = [lib("numpy/_core/numeric.py", "zeros"), py("loader.py", "add", 41), py("train.py", "<module>", 9)]
    return ErrorRaised(at=T0 + 20, kind=kind, message=message, frames=frames, fatal=fatal, thread="MainThread", chain=list(chain))


def ended(signal: int | None = None, exit_code: int | None = None) -> ProcessEnded:
    return ProcessEnded(at=T0 + 21, pid=1, signal=signal, exit_code=exit_code)


def counted(in_group: int | None, on_machine: int | None = None) -> KillsCounted:
    return KillsCounted(at=T0 + 21.1, group="/sys/fs/cgroup/job", in_group=in_group, on_machine=on_machine,
                        limit_bytes=GIB, peak_bytes=GIB, final=True)  # fmt: skip


def spoke(pid: int = 1) -> KernelSpoke:
    return KernelSpoke(at=T0 + 21.2, line=KERNEL_LINE.format(pid=pid), pid=pid)


def growing(*events: Event) -> Journal:
    hosts = [host(at, 1.0, rss_bytes=int(at * 60e6)) for at in range(10, 21)]
    return journal(started(), *hosts, *events, now=22)


def at_limit(share: float, at: float = 20.5) -> Event:
    return host(at, 1.0, rss_bytes=GIB, address_space_bytes=int(share * 3 * GIB), address_space_limit_bytes=3 * GIB)


@pytest.mark.parametrize("end", [ended(11), ended(6), ended(exit_code=139)])
def test_likely_for_a_crash_at_the_limit_of_the_address_space(end: ProcessEnded) -> None:
    verdict = host_memory_exhausted.examine(growing(at_limit(0.98), end))
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.LIKELY
    assert "3 GiB that it may address (ulimit -v)" in verdict.summary


@pytest.mark.parametrize(
    ("seen", "end"),
    [
        (at_limit(0.8), ended(11)),  # there was room
        (at_limit(0.98, at=9.0), ended(11)),  # long before
        (at_limit(0.98), ended(exit_code=1)),  # no crash
        (at_limit(0.98), ended(15)),
        (host(20.5, 1.0, rss_bytes=GIB), ended(11)),  # no limit
    ],
)
def test_clear_for_another_crash(seen: Event, end: ProcessEnded) -> None:
    assert isinstance(host_memory_exhausted.examine(journal(started(), seen, end, now=22)), Clear)


@pytest.mark.parametrize(
    ("kind", "message", "asked"),
    [
        ("MemoryError", "", None),
        (NUMPY, "Unable to allocate 256. MiB for an array with shape (65536, 1024)", 256 << 20),
        ("RuntimeError", "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: "
         "you tried to allocate 10240000000000 bytes. Error code 12 (Cannot allocate memory)", 10_240_000_000_000),
        (f"{TENSORFLOW}.ResourceExhaustedError", f"OOM when allocating tensor with shape[1200000,600000,2] {ON}/device:CPU:0 by "
         "allocator mklcpu [Op:Maximum]", 1_200_000 * 600_000 * 8),
        ("OSError", "[Errno 12] Cannot allocate memory", None),
        ("jax.errors.JaxRuntimeError", "RESOURCE_EXHAUSTED: Out of memory allocating 4294967296000 bytes.", 4_294_967_296_000),
        (f"{TENSORFLOW}.UnknownError", "MemoryError: Unable to allocate 3.00 GiB for an array", 3 * GIB),
    ],
)  # fmt: skip
def test_found_by_the_error_that_ended_the_program(kind: str, message: str, asked: int | None) -> None:
    verdict = host_memory_exhausted.examine(growing(error(kind, message), ended(exit_code=1)))
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.CERTAIN
    assert verdict.where == "loader.py:41"
    assert verdict.details["asked_bytes"] == asked


def test_found_through_the_error_that_wraps_it() -> None:
    wrapped = error("app.LoadFailed", "cannot load the set", chain=("MemoryError: Unable to allocate 2.00 GiB",))
    verdict = host_memory_exhausted.examine(growing(wrapped, ended(exit_code=1)))
    assert isinstance(verdict, Found)
    assert "2 GiB were asked for" in verdict.summary


def test_found_names_the_line_of_a_generator_that_tensorflow_quotes() -> None:
    quoted = f'Traceback:\n  File "{FOLDER}/data.py", line 34, in volumes\nMemoryError: Unable to allocate 1 GiB'
    verdict = host_memory_exhausted.examine(growing(error("tensorflow.UnknownError", quoted), ended(exit_code=1)))
    assert isinstance(verdict, Found)
    assert verdict.where == "data.py:34"


def test_found_for_a_bare_kill_that_the_kernel_confirms_with_the_line_that_keeps() -> None:
    loading = main(py("load.py", "decode", 40), py("load.py", "load_images", 46), py("train.py", "<module>", 5), active=True)
    source = SourceRead(at=T0 + 20, file=f"{FOLDER}/load.py", line=46, text="images.append(decode(packed))")
    verdict = host_memory_exhausted.examine(growing(stacks(loading, at=20), source, ended(9), counted(1, 1), spoke()))
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.CERTAIN
    assert verdict.where == "load.py:46"
    assert "1.31 GiB" in verdict.summary and "1 GiB" in verdict.summary


def test_found_by_the_groups_counter_where_the_log_is_closed() -> None:
    verdict = host_memory_exhausted.examine(growing(ended(9), counted(1)))
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.CERTAIN


def test_likely_only_when_nothing_but_the_machine_counts() -> None:
    full = host(20.5, 1.0, rss_bytes=14 * GIB, available_bytes=GIB)
    verdict = host_memory_exhausted.examine(growing(full, ended(9), counted(None, 1)))
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.LIKELY


def test_clear_when_the_kernel_killed_somebody_else_on_the_machine() -> None:
    assert isinstance(host_memory_exhausted.examine(growing(ended(9), counted(0, 1))), Clear)
    assert isinstance(host_memory_exhausted.examine(growing(ended(9), counted(None, 1))), Clear)


def test_found_when_a_shell_started_the_program() -> None:
    assert isinstance(host_memory_exhausted.examine(growing(ended(exit_code=137), counted(1, 1), spoke(7))), Found)


def test_found_for_a_worker_that_the_training_waits_for() -> None:
    waiting = main(py("/usr/lib/python3.11/multiprocessing/pool.py", "get", 768), py("train.py", "main", 49))
    hangs = journal(
        started(), steps(0, 40, at=10), counted(1, 1), spoke(77), stalled(since=12, at=20), stacks(waiting, at=21), now=25
    )
    verdict = host_memory_exhausted.examine(hangs)
    assert isinstance(verdict, Found)
    assert "worker process 77" in verdict.summary
    assert verdict.where == "train.py:49"


def test_found_for_a_worker_whose_end_ended_the_program() -> None:
    died = error("RuntimeError", "DataLoader worker (pid(s) 77) exited unexpectedly")
    verdict = host_memory_exhausted.examine(growing(died, ended(exit_code=1), counted(1)))
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.LIKELY  # no log says that it was this process


def test_clear_when_killed_while_the_counters_stand_still() -> None:
    assert isinstance(host_memory_exhausted.examine(growing(ended(9), counted(0, 0))), Clear)


def test_clear_when_a_killed_helper_is_not_missed() -> None:
    assert isinstance(host_memory_exhausted.examine(growing(ended(exit_code=0), counted(1, 1), spoke(77))), Clear)


def test_clear_when_the_error_was_caught() -> None:
    caught = error("MemoryError", "Unable to allocate 2 GiB", fatal=False)
    assert isinstance(host_memory_exhausted.examine(growing(caught, ended(exit_code=0))), Clear)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("ValueError", "line 7 reads 'MemoryError: Unable to allocate 256. MiB', which is no label"),
        ("grpc.RpcError", "RESOURCE_EXHAUSTED: Received message larger than max (9 vs. 4)"),
        ("torch.OutOfMemoryError", "CUDA out of memory. Tried to allocate 2.00 GiB."),
        (f"{TENSORFLOW}.ResourceExhaustedError", f"OOM when allocating tensor with shape[8] {ON}/device:GPU:0 by GPU_0_bfc"),
    ],
)  # fmt: skip
def test_clear_when_the_words_are_about_something_else(kind: str, message: str) -> None:
    assert isinstance(host_memory_exhausted.examine(growing(error(kind, message), ended(exit_code=1))), Clear)


def test_clear_when_jax_ran_out_of_the_cards_memory() -> None:
    card = DevicesListed(at=T0 + 5, framework="jax", devices=["gpu"])
    out = error("jax.errors.JaxRuntimeError", "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 51200000000 bytes.")
    assert isinstance(host_memory_exhausted.examine(growing(card, out, ended(exit_code=1))), Clear)


def test_unknown_when_killed_and_nobody_counts() -> None:
    assert isinstance(host_memory_exhausted.examine(growing(ended(9), counted(None))), Unknown)


def test_clear_for_a_stuck_program_without_workers_beside_which_somebody_else_was_killed() -> None:
    waiting = main(py("/usr/lib/python3.11/threading.py", "wait", 320), py("train.py", "main", 49))
    somebody = KernelSpoke(at=14, line="Killed process 99 (other) total-vm:1kB, anon-rss:1kB", pid=99, by_group=True)
    hangs = journal(
        started(), steps(0, 40, at=10), counted(1, 1), somebody, stalled(since=12, at=20), stacks(waiting, at=21), now=25
    )
    assert isinstance(host_memory_exhausted.examine(hangs), Clear)
