"""database_locked: SQLite looks again and again, and says nothing."""

from __future__ import annotations

from typing import Any

from tests.diagnosis.builders import T0, host, journal, kernel, lib, main, native, py, sleeper, source, started, stuck, three
from unstall.diagnosis.causes import database_locked
from unstall.diagnosis.findings import diagnose
from unstall.diagnosis.verdict import Certainty, Clear, Found, Unknown
from unstall.journal.events import DatabasesSeen, ErrorRaised, Event, Frame, ProcessEnded, ThreadStack

BUSY = (native("clock_nanosleep", "libc.so.6"), native("sqlite3_step", "libsqlite3.so.0"))
LINE = py("track.py", "log", 12)
FIT = (lib("keras/src/callbacks/callback_list.py", "on_epoch_end"), py("train.py", "<module>", 31))
ASLEEP = tuple(kernel(sleeper(call="clock_nanosleep"), at=at) for at in (109, 110, 111))
ASKS = source("track.py", 12, text="self.connection.execute(INSERT, row)")


def locked(holder: int | None = 77, **more: Any) -> DatabasesSeen:
    plain = {"path": "/data/runs.db", "holder_pid": holder, "holder": ["python", "sweep.py"], "writes": True, **more}
    return DatabasesSeen(at=T0 + 111, pid=1, databases=[plain])


def inside(*frames: Frame) -> ThreadStack:
    return main(*BUSY, *frames, LINE, *FIT)


def found(*events: Event) -> Found:
    verdict = database_locked.examine(stuck(*events))
    assert isinstance(verdict, Found)
    return verdict


def test_found_with_the_file_the_line_and_who_holds_it() -> None:
    verdict = found(*three(inside(), native=True), *ASLEEP, locked())
    assert verdict.certainty is Certainty.CERTAIN and verdict.where == "track.py:12"
    assert "at track.py:12" in verdict.summary
    assert "the SQLite file /data/runs.db, which process 77 (python sweep.py) has locked" in verdict.summary
    assert verdict.actions[0] == "let process 77 commit, or end it"


def test_found_by_the_line_alone_where_no_native_stack_could_be_taken() -> None:
    verdict = found(*three(main(LINE, *FIT)), *ASLEEP, ASKS, locked())
    assert verdict.certainty is Certainty.LIKELY


def test_found_in_a_library_that_asks_for_the_program() -> None:
    asks = main(lib("sqlalchemy/engine/default.py", "do_execute"), LINE, *FIT)
    assert found(*three(asks), *ASLEEP, locked()).where == "track.py:12"


def test_found_though_nobody_can_be_named() -> None:
    verdict = found(*three(inside(), native=True), *ASLEEP)
    assert verdict.certainty is Certainty.LIKELY and "The program sleeps inside of SQLite" in verdict.summary


def test_a_second_connection_of_the_same_process_is_said() -> None:
    verdict = found(*three(inside(), native=True), *ASLEEP, locked(holder=1))
    assert "another connection of this same process has locked" in verdict.summary


def test_it_stands_alone_as_the_cause() -> None:
    fetch = (lib("keras/src/trainers/data_adapters/py_dataset_adapter.py", "get"), py("train.py", "<module>", 31))
    reads = main(*BUSY, py("loader.py", "__getitem__", 9), *fetch)
    diagnosis = diagnose(
        stuck(*three(reads, native=True), *ASLEEP, locked(), source("loader.py", 9, text="rows = db.execute(Q)"))
    )
    assert [finding.cause for finding in diagnosis.findings] == ["database_locked"]


def test_found_when_its_error_ended_the_program() -> None:
    error = ErrorRaised(
        at=T0 + 50, kind="sqlite3.OperationalError", message="database is locked", fatal=True, frames=[py("track.py", "log", 12)]
    )
    verdict = database_locked.examine(journal(started(), error, ProcessEnded(at=T0 + 51, pid=1, exit_code=1), now=52))
    assert isinstance(verdict, Found) and verdict.where == "track.py:12"


def test_clear_where_it_sleeps_beside_a_data_base_that_is_locked() -> None:
    """Somebody else's lock is no reason, as long as the program does not want the file."""
    sleeps = source("track.py", 12, text="time.sleep(600)")
    assert isinstance(database_locked.examine(stuck(*three(main(LINE, *FIT)), *ASLEEP, sleeps, locked())), Clear)


def test_clear_where_the_lock_is_not_there() -> None:
    assert isinstance(database_locked.examine(stuck(*three(main(LINE, *FIT)), *ASLEEP, ASKS)), Clear)


def test_clear_where_sqlite_works() -> None:
    reads = main(native("pread64", "libc.so.6"), native("sqlite3_step", "libsqlite3.so.0"), LINE, *FIT)
    assert isinstance(database_locked.examine(stuck(*three(reads, native=True), locked())), Clear)
    busy = stuck(*three(inside(), native=True), *ASLEEP, locked(), *(host(at + 0.5, 1.0) for at in range(101, 112)))
    assert isinstance(database_locked.examine(busy), Clear)


def test_unknown_without_stacks() -> None:
    assert isinstance(database_locked.examine(stuck()), Unknown)
