"""sources: what stands at a line of the program, and which locks lie around it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.diagnosis.builders import lib, main, py, stacks
from unstall.sensors import source_lines

PROGRAM = """\
import threading

lock = threading.Lock()
locks = {"a": lock}


class Loader:
    def batch(self):
        with self.cache_lock:
            prepare()
            with self.index_lock:
                return 1

    def both(self):
        with self.cache_lock, self.index_lock:
            return 2

    def acquired(self):
        self.cache_lock.acquire()
        try:
            with open("x") as file:
                locks["a"].acquire()
        finally:
            self.cache_lock.release()
        self.after()


def batches():
    with lock:
        yield from range(3)

    def helper():
        while True:
            for number in range(3):
                work()
        return 5

    def quick():
        with lock:
            with locks["a"]: work_at_once()
"""


@pytest.fixture
def program(tmp_path: Path) -> str:
    path = tmp_path / "loader.py"
    path.write_text(PROGRAM)
    return str(path)


def line_of(text: str, nth: int = 0) -> int:
    return [number for number, line in enumerate(PROGRAM.splitlines(), 1) if text in line][nth]


@pytest.mark.parametrize(
    ("text", "nth", "awaits", "holds"),
    [
        ("with self.cache_lock:", 0, ["self.cache_lock"], []),
        ("prepare()", 0, [], ["self.cache_lock"]),
        ("with self.index_lock:", 0, ["self.index_lock"], ["self.cache_lock"]),
        ("return 1", 0, [], ["self.cache_lock", "self.index_lock"]),
        ("with self.cache_lock, self", 0, ["self.cache_lock", "self.index_lock"], []),
        ("self.cache_lock.acquire()", 0, ["self.cache_lock"], []),
        ("with open", 0, [], ["self.cache_lock"]),
        ('locks["a"].acquire()', 0, ["locks['a']"], ["self.cache_lock"]),
        ("self.after()", 0, [], ["locks['a']"]),
        ("yield from", 0, [], ["lock"]),
        ("return 5", 0, [], []),
        ("work_at_once()", 0, ["locks['a']"], ["lock", "locks['a']"]),
    ],
)
def test_locks_taken_and_held_at_a_line(program: str, text: str, nth: int, awaits: list[str], holds: list[str]) -> None:
    event = source_lines.read_line(program, line_of(text, nth))
    assert event is not None
    assert event.awaits == awaits
    assert sorted(event.holds) == sorted(holds)
    assert event.either == [name for name in awaits if name in holds], "one that is taken and held in the same line"


def test_the_function_and_whether_it_is_a_generator(program: str) -> None:
    inside = source_lines.read_line(program, line_of("yield from"))
    helper = source_lines.read_line(program, line_of("return 5"))
    assert inside is not None and helper is not None
    assert (inside.function, inside.is_generator) == ("batches", True)
    assert (helper.function, helper.is_generator) == ("helper", False)


def test_the_outermost_loop_around_a_line(program: str) -> None:
    inside, outside = source_lines.read_line(program, line_of("work()")), source_lines.read_line(program, line_of("return 5"))
    assert inside is not None and outside is not None
    assert inside.loop == [line_of("while True"), line_of("work()")]
    assert outside.loop == []


def test_reads_the_users_lines_of_a_sample_once_each(program: str) -> None:
    sample = stacks(main(py(program, "batch", 11), lib("keras/src/trainer.py", "fit", 3), py(program, "both", 16)), at=1)
    events = source_lines.read([sample, sample])
    assert [(event.file, event.line) for event in events] == [(program, 11), (program, 16)]


def test_nothing_of_a_file_that_is_gone_or_not_python(tmp_path: Path) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text("def (:")
    assert source_lines.read_line(str(tmp_path / "gone.py"), 1) is None
    assert source_lines.read_line(str(broken), 1) is None
    broken_line = tmp_path / "short.py"
    broken_line.write_text("x = 1\n")
    assert source_lines.read_line(str(broken_line), 99) is None


def held(program: str, line: int) -> list[tuple[str, int, str]]:
    result = source_lines.read_line(program, line)
    assert result is not None
    return list(zip(result.holds, result.taken_at, result.taken_by, strict=True))


def test_the_line_that_took_a_lock_and_how(program: str) -> None:
    assert held(program, 12) == [("self.cache_lock", 9, "with"), ("self.index_lock", 11, "with")]
    assert held(program, 21) == [("self.cache_lock", 19, "acquire")]


def test_a_call_that_may_not_have_taken_the_lock_is_told_as_such(tmp_path: Path) -> None:
    path = tmp_path / "branches.py"
    path.write_text(
        "def save(self):\n"
        "    if self.shared:\n"
        "        self.lock.acquire()\n"
        "    self.other.acquire(timeout=1)\n"
        "    self.third.acquire()\n"
        "    for part in self.parts:\n"
        "        write(part)\n"
    )
    assert held(str(path), 7) == [("self.lock", 3, "maybe"), ("self.other", 4, "maybe"), ("self.third", 5, "acquire")]


def test_locks_that_are_left_to_others_while_they_are_held(tmp_path: Path) -> None:
    path = tmp_path / "handed.py"
    path.write_text(
        "def open_(self):\n"
        "    self.first.acquire()\n"
        "def close(self):\n"
        "    self.first.release()\n"
        "def session(self):\n"
        "    with self.second:\n"
        "        yield\n"
        "def later(self):\n"
        "    Timer(5, self.third.release).start()\n"
        "    call(lambda: self.fourth.release())\n"
        "def whole(self):\n"
        "    self.own.acquire()\n"
        "    try:\n"
        "        work()\n"
        "    finally:\n"
        "        self.own.release()\n"
    )
    result = source_lines.read_line(str(path), 14)
    assert result is not None
    assert result.handed == ["first", "fourth", "second", "third"]
