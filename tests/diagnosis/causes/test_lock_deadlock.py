"""lock_deadlock: who holds which lock is read from the source around the lines where threads stand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.diagnosis.builders import kernel, lib, main, py, sleeper, source, stacks, stuck, thread, three
from unstall.diagnosis.causes import lock_deadlock
from unstall.diagnosis.findings import diagnose
from unstall.diagnosis.verdict import Certainty, Clear, Found, Unknown, Verdict
from unstall.journal.events import ChildSeen, SampleFailed, ThreadStack
from unstall.sensors import source_lines

STDLIB = "/usr/lib/python3.11"
FIT = main(lib("tensorflow/python/eager/execute.py", "quick_execute"), py("train.py", "<module>", 31))
MACHINERY = lib("tensorflow/python/data/ops/from_generator_op.py", "generator_py_func", 198)


def generator(line: int = 50) -> ThreadStack:
    return thread(py("loader.py", "Loader.batch", line), py("loader.py", "batches", 57), MACHINERY, id=2)


def refresher(line: int = 43) -> ThreadStack:
    return thread(py("loader.py", "Loader.refresh", line), py(f"{STDLIB}/threading.py", "Thread.run"), name="refresher", id=3)


WANTS_INDEX = source("loader.py", 50, awaits=["self.index_lock"], holds=["self.cache_lock"])
WANTS_CACHE = source("loader.py", 43, awaits=["self.cache_lock"], holds=["self.index_lock"])
ASLEEP = kernel(sleeper(1), sleeper(2), sleeper(3), at=109)


def test_found_where_two_threads_each_hold_what_the_other_wants() -> None:
    journal = stuck(*three(FIT, generator(), refresher()), WANTS_INDEX, WANTS_CACHE, ASLEEP)
    verdict = lock_deadlock.examine(journal)
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.CERTAIN
    assert verdict.where == "loader.py:50"
    assert "refresher holds self.index_lock and waits for self.cache_lock at loader.py:43" in verdict.summary
    root = diagnose(journal).root
    assert root is not None
    assert root.cause == "lock_deadlock"
    assert "generator_blocked" in root.followed_by


def test_found_where_the_body_of_the_with_stands_in_the_same_line() -> None:
    """`with self.index_lock: index.clear()`: it does not hold yet what it takes there."""
    lines = [
        source(
            "loader.py", 50, awaits=["self.index_lock"], holds=["self.cache_lock", "self.index_lock"], either=["self.index_lock"]
        ),
        source(
            "loader.py", 43, awaits=["self.cache_lock"], holds=["self.index_lock", "self.cache_lock"], either=["self.cache_lock"]
        ),
    ]
    verdict = lock_deadlock.examine(stuck(*three(FIT, generator(), refresher()), *lines, ASLEEP))
    assert isinstance(verdict, Found)
    assert "2 threads wait for each other's locks" in verdict.summary
    assert "refresher holds self.index_lock and waits for self.cache_lock" in verdict.summary


def test_found_where_the_same_lock_is_taken_again_in_one_line() -> None:
    again = source("loader.py", 50, awaits=["self.lock"], holds=["self.lock", "self.lock"], either=["self.lock"])
    verdict = lock_deadlock.examine(stuck(*three(FIT, generator()), again, ASLEEP))
    assert isinstance(verdict, Found)
    assert "although it holds it already" in verdict.summary


def test_found_where_a_thread_wants_what_it_holds() -> None:
    callback = main(
        py("best.py", "Best.restore", 35),
        py("best.py", "Best.on_epoch_end", 45),
        lib("keras/src/callbacks/callback_list.py", "on_epoch_end"),
        py("train.py", "<module>", 52),
    )
    twice = [source("best.py", 35, awaits=["self.lock"]), source("best.py", 45, holds=["self.lock"], text="self.restore()")]
    verdict = lock_deadlock.examine(stuck(*three(callback), *twice, ASLEEP))
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.CERTAIN
    assert verdict.where == "best.py:35"
    assert "best.py:45" in verdict.summary


def test_likely_where_the_holder_waits_for_another_threads_work() -> None:
    joins = main(py(f"{STDLIB}/threading.py", "Thread.join"), py("train.py", "stop", 20), py("train.py", "<module>", 31))
    worker = thread(py("loader.py", "Loader.work", 12), py(f"{STDLIB}/threading.py", "Thread.run"), name="worker", id=3)
    lines = [source("train.py", 20, holds=["loader.lock"]), source("loader.py", 12, awaits=["self.lock"])]
    verdict = lock_deadlock.examine(stuck(*three(joins, worker), *lines, ASLEEP))
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.LIKELY
    assert verdict.where == "loader.py:12"


def test_likely_where_nobody_is_left_that_holds_the_lock() -> None:
    verdict = lock_deadlock.examine(stuck(*three(FIT, generator()), WANTS_INDEX, ASLEEP))
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.LIKELY
    assert "not given back" in verdict.summary


def test_clear_where_the_holder_waits_for_the_network() -> None:
    downloads = thread(
        py(f"{STDLIB}/socket.py", "readinto"), py("loader.py", "Loader.refresh", 43), py(f"{STDLIB}/threading.py", "run"), id=3
    )
    held = source("loader.py", 43, holds=["self.index_lock"])
    reads = kernel(sleeper(1), sleeper(2), sleeper(3, call="recvfrom"), at=109)
    assert isinstance(lock_deadlock.examine(stuck(*three(FIT, generator(), downloads), WANTS_INDEX, held, reads)), Clear)


def test_clear_for_locks_of_the_same_name_in_two_classes() -> None:
    other = thread(py("pool.py", "Pool.run", 8), py(f"{STDLIB}/threading.py", "run"), name="pool", id=3)
    lines = [
        source("loader.py", 50, awaits=["self.lock"], holds=["self.other"]),
        source("pool.py", 8, awaits=["self.other"], holds=["self.lock"]),
    ]
    verdict = lock_deadlock.examine(stuck(*three(FIT, generator(), other), *lines, ASLEEP))
    assert not (isinstance(verdict, Found) and verdict.certainty is Certainty.CERTAIN)


def test_clear_where_the_line_opens_a_file_and_the_kernel_says_so() -> None:
    opens = kernel(sleeper(2, call="openat"), at=109)
    assert isinstance(lock_deadlock.examine(stuck(*three(FIT, generator()), WANTS_INDEX, opens)), Clear)


def test_clear_where_a_thread_that_nobody_needs_waits_for_a_lock() -> None:
    waits = main(py(f"{STDLIB}/socket.py", "readinto"), py("data.py", "rows", 3), MACHINERY, py("train.py", "<module>", 9))
    metrics = thread(py("metrics.py", "Metrics.send", 8), py(f"{STDLIB}/threading.py", "run"), name="metrics", id=3)
    twice = source("metrics.py", 8, awaits=["self.lock"], holds=["self.lock"])
    assert isinstance(lock_deadlock.examine(stuck(*three(waits, metrics), twice, ASLEEP)), Clear)


def test_clear_in_a_forked_child_and_when_it_moves_or_works() -> None:
    child = three(generator(), main=False, pid=7)
    forked = ChildSeen(at=child[0].at, pid=7, parent_pid=1, forked=True)
    assert isinstance(lock_deadlock.examine(stuck(*three(FIT), *child, forked, WANTS_INDEX)), Clear)
    moving = [stacks(FIT, generator(line), at=at) for line, at in ((50, 109), (48, 110), (50, 111))]
    assert isinstance(lock_deadlock.examine(stuck(*moving, WANTS_INDEX)), Clear)
    working = stuck(*three(FIT, generator(), refresher()), WANTS_INDEX, WANTS_CACHE, cpu=0.9)
    assert isinstance(lock_deadlock.examine(working), Clear)


def test_unknown_without_stacks() -> None:
    refused = SampleFailed(at=three(FIT)[0].at, signal="stacks", missing="the permission", fix="sudo")
    assert lock_deadlock.examine(stuck(refused)) == Unknown("the permission", "sudo")


MANUAL = """\
import threading

lock = threading.Lock()


def save(history):
    lock.acquire()
    print(len(history))
    flush(history)
    lock.release()


def flush(history):
    lock.acquire()
    history.clear()
    lock.release()
"""


def taken_again(tmp_path: Path, program: str) -> Found:
    """A main thread that stands in line 14 of the program, called from line 9."""
    path = tmp_path / "save.py"
    path.write_text(program)
    return examine_stand(main(py(str(path), "flush", 14), py(str(path), "save", 9), py(str(path), "<module>", 20)))


def examine_stand(stands: ThreadStack) -> Found:
    """What is found of a main thread that stands so in programs that lie there."""
    samples = three(stands)
    read = [replace(line, at=samples[-1].at) for line in source_lines.read(list(samples))]
    verdict = lock_deadlock.examine(stuck(*samples, *read, ASLEEP))
    assert isinstance(verdict, Found)
    return verdict


def test_says_the_line_that_took_the_lock_and_no_with_where_there_is_none(tmp_path: Path) -> None:
    verdict = taken_again(tmp_path, MANUAL)
    assert verdict.certainty is Certainty.CERTAIN
    assert "save.py:9, after `lock.acquire()` in line 7" in verdict.summary
    said = " ".join([verdict.summary, *(each.claim for each in verdict.evidence), *(each.action for each in verdict.remedies)])
    assert "with" not in said.split()
    assert "`with" not in said
    assert "since" not in said


def test_says_the_with_that_took_the_lock_where_there_is_one(tmp_path: Path) -> None:
    program = MANUAL.replace("    lock.acquire()\n    print", "    with lock:\n      print", 1).replace(
        "    flush", "      flush", 1
    )
    verdict = taken_again(tmp_path, program)
    assert "save.py:9, inside `with lock` of line 7" in verdict.summary
    assert any("only after the `with lock`" in each.action for each in verdict.remedies)


def test_likely_where_the_lock_may_not_have_been_taken(tmp_path: Path) -> None:
    program = MANUAL.replace("    lock.acquire()\n    print", "    lock.acquire(timeout=5)\n    print", 1)
    assert taken_again(tmp_path, program).certainty is Certainty.LIKELY


MERGED = """\
import threading


class Table:
    def __init__(self):
        self.lock = threading.Lock()

    def add(self, row):
        with self.lock:
            self.row = row

    def merge(self, other):
        with self.lock:
            {call}
"""


@pytest.mark.parametrize("call", ["other.add(1)", "self.add(1)"])
def test_certain_only_where_it_is_the_lock_of_the_same_object(tmp_path: Path, call: str) -> None:
    path = tmp_path / "table.py"
    path.write_text(MERGED.format(call=call))
    stands = main(py(str(path), "Table.add", 9), py(str(path), "Table.merge", 14), py(str(path), "<module>", 20))
    verdict = examine_stand(stands)
    is_sure = call.startswith("self")
    assert verdict.certainty is (Certainty.CERTAIN if is_sure else Certainty.LIKELY)
    assert ("although it holds it already" in verdict.summary) == is_sure
    assert ("may also be the locks of two objects" in verdict.summary) != is_sure


def test_a_lock_that_a_function_is_given_may_be_another_in_each_call(tmp_path: Path) -> None:
    path = tmp_path / "walk.py"
    path.write_text("def walk(node, lock):\n    with lock:\n        walk(node.child, node.child.lock)\n")
    stands = main(py(str(path), "walk", 2), py(str(path), "walk", 3), py(str(path), "<module>", 5))
    verdict = examine_stand(stands)
    assert verdict.certainty is Certainty.LIKELY
    assert "although it holds it already" not in verdict.summary


def test_clear_where_another_thread_holds_the_lock_of_another_object_and_works(tmp_path: Path) -> None:
    path = tmp_path / "table.py"
    path.write_text(MERGED.format(call="other.add(1)"))
    stands = main(py(str(path), "Table.add", 9), py(str(path), "Table.merge", 14), py(str(path), "<module>", 20))
    works = thread(py(f"{STDLIB}/socket.py", "readinto"), py(str(path), "Table.add", 10), name="worker", id=3)
    reads = kernel(sleeper(1), sleeper(3, call="recvfrom"), at=109)
    samples = three(stands, works)
    read = [replace(line, at=samples[-1].at) for line in source_lines.read(list(samples))]
    assert isinstance(lock_deadlock.examine(stuck(*samples, *read, reads)), Clear)


SIGNAL = """\
import threading

done = threading.Lock()


def download(connection):
    connection.recv(1)
    done.release()


done.acquire()
threading.Thread(target=download).start()
done.acquire()
"""
SESSION = """\
import contextlib
import threading

mutex = threading.Lock()


@contextlib.contextmanager
def session():
    mutex.acquire()
    try:
        yield
    finally:
        mutex.release()


def upload(connection):
    with session():
        connection.recv(1)


def step():
    with session():
        print("a step")


step()
"""
CHAIN = """\
import threading

lock = threading.Lock()


def download(connection, ready):
    connection.recv(1)
    ready.put(1)


def fill(ready):
    with lock:
        ready.get()


def step():
    with lock:
        print("a step")


step()
"""


def beside(tmp_path: Path, program: str, lines: list[int], *others: ThreadStack, call: str = "recvfrom") -> Verdict:
    """Of a main thread that stands so in a program, beside threads of which the last is in a system call."""
    path = str(tmp_path / "share.py")
    (tmp_path / "share.py").write_text(program)
    named = [replace_file(other, path) for other in others]
    samples = three(main(*(py(path, "f", line) for line in lines)), *named)
    read = [replace(line, at=samples[-1].at) for line in source_lines.read(list(samples))]
    calls = [sleeper(other["id"], call=call if other is others[-1] else "futex") for other in others]
    return lock_deadlock.examine(stuck(*samples, *read, kernel(sleeper(1), *calls, at=109)))


def replace_file(stack: ThreadStack, path: str) -> ThreadStack:
    frames = [{**frame, "file": path} if frame["file"].endswith("share.py") else frame for frame in stack["frames"]]
    return {**stack, "frames": frames}  # type: ignore[typeddict-item]


def share(function: str, line: int, name: str, number: int) -> ThreadStack:
    return thread(py("share.py", function, line), py(f"{STDLIB}/threading.py", "Thread.run"), name=name, id=number)


def test_clear_where_a_lock_is_a_sign_that_another_thread_gives(tmp_path: Path) -> None:
    assert isinstance(beside(tmp_path, SIGNAL, [13], share("download", 7, "download", 3)), Clear)
    timer = SIGNAL.replace("threading.Thread(target=download)", "threading.Timer(60, done.release)").replace("download", "other")
    waits = [py(f"{STDLIB}/threading.py", name) for name in ("Condition.wait", "Event.wait", "Timer.run", "Thread._bootstrap")]
    assert isinstance(beside(tmp_path, timer, [13], thread(*waits, name="Thread-1", id=3), call="futex"), Clear)


def test_found_where_nobody_is_left_to_give_the_sign(tmp_path: Path) -> None:
    verdict = beside(tmp_path, SIGNAL, [13])
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.CERTAIN


def test_clear_where_a_lock_is_taken_through_a_function_and_a_thread_goes_on(tmp_path: Path) -> None:
    assert isinstance(beside(tmp_path, SESSION, [9, 22, 26], share("upload", 18, "upload", 3)), Clear)


def test_what_is_said_of_a_lock_that_a_function_takes_is_what_the_source_shows(tmp_path: Path) -> None:
    verdict = beside(tmp_path, SESSION, [9, 22, 26])
    assert isinstance(verdict, Found)
    assert "no thread stands inside a `with` of it or after its `acquire()` in one function" in verdict.summary


def test_clear_where_the_holder_waits_for_a_thread_that_waits_for_the_network(tmp_path: Path) -> None:
    queue = thread(py(f"{STDLIB}/queue.py", "Queue.get"), py("share.py", "fill", 13), name="fill", id=3)
    assert isinstance(beside(tmp_path, CHAIN, [17, 21], queue, share("download", 7, "download", 4)), Clear)
    assert isinstance(beside(tmp_path, CHAIN, [17, 21], queue, call="futex"), Found)


def test_clear_where_the_lock_may_not_have_been_taken_and_another_holds_it(tmp_path: Path) -> None:
    program = MANUAL.replace("    lock.acquire()\n    print", "    lock.acquire(timeout=5)\n    print", 1)
    program += "\n\ndef hold():\n    with lock:\n        connection.recv(1)\n"
    holder = share("hold", program.splitlines().index("        connection.recv(1)") + 1, "holder", 3)
    assert isinstance(beside(tmp_path, program, [14, 9], holder), Clear)
