"""Journals are read whole or while being written; a torn last line waits, a damaged one is counted."""

import json
import os
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from unstall.journal.events import HostSampled, StackSampled, StepsEnded, WarningShown, from_plain, to_plain
from unstall.journal.reader import PIECE_BYTES, FolderTail, Journal, Tail, read_folder, read_stream
from unstall.journal.writer import encode


def test_a_torn_last_line_waits_for_its_rest(tmp_path: Path) -> None:
    path = tmp_path / "events-a.jsonl"
    whole = encode(StepsEnded(at=1.0)) + encode(StepsEnded(at=2.0))
    path.write_bytes(whole[:-10])
    tail = Tail(path)
    assert [event.at for event in tail.read()] == [1.0]
    path.write_bytes(whole)
    assert [event.at for event in tail.read()] == [2.0]
    assert tail.read() == []
    assert tail.damaged_lines == 0


def test_a_damaged_line_is_counted_and_the_rest_is_read(tmp_path: Path) -> None:
    path = tmp_path / "events-a.jsonl"
    path.write_bytes(encode(StepsEnded(at=1.0)) + b'{"event": "StepsEn\n' + encode(StepsEnded(at=2.0)))
    tail = Tail(path)
    assert [event.at for event in tail.read()] == [1.0, 2.0]
    assert tail.damaged_lines == 1


def test_a_long_file_may_be_followed_from_near_its_end(tmp_path: Path) -> None:
    path = tmp_path / "events-probe-1.jsonl"
    lines = [encode(StepsEnded(at=float(number), last=number)) for number in range(1000)]
    path.write_bytes(b"".join(lines))
    tail = Tail(path)
    tail.skip_to_end(3 * len(lines[-1]) + 5)
    assert [event.at for event in tail.read()] == [997, 998, 999]
    path.write_bytes(b"".join(lines) + lines[0])
    assert [event.at for event in tail.read()] == [0]
    tail.skip_to_end(10**9)  # which is behind already
    assert tail.read() == [] and tail.damaged_lines == 0


def test_events_of_other_versions_are_read_as_far_as_they_are_known() -> None:
    assert from_plain({"event": "StepsEnded", "at": 1.0, "colour": "red"}) == StepsEnded(at=1.0)
    assert from_plain({"event": "StepsEnded"}) == StepsEnded()
    assert from_plain({"event": "SomethingNew", "at": 1.0}) is None


def test_the_journals_of_all_processes_are_read_in_order_of_time(tmp_path: Path) -> None:
    (tmp_path / "events-probe-1.jsonl").write_bytes(encode(StepsEnded(at=1.0)) + encode(StepsEnded(at=3.0)))
    (tmp_path / "events-watcher-2.jsonl").write_bytes(encode(HostSampled(at=2.0)))
    assert [event.at for event in read_folder(tmp_path).all()] == [1.0, 2.0, 3.0]


def test_a_large_folder_is_streamed_in_order_of_time_piece_by_piece(tmp_path: Path) -> None:
    long = "x" * (PIECE_BYTES // 3)  # lines that lie across the pieces
    inside = [WarningShown(at=float(at), message=long) for at in range(0, 20, 2)]
    (tmp_path / "events-probe-1.jsonl").write_bytes(b"".join(map(encode, inside)) + b'{"event": "torn')
    (tmp_path / "events-watcher-2.jsonl").write_bytes(b"".join(encode(HostSampled(at=float(at))) for at in range(1, 20, 2)))
    streamed = list(read_stream(tmp_path))
    assert [event.at for event in streamed] == [float(at) for at in range(20)]
    assert [event for event in streamed if isinstance(event, WarningShown)] == inside


def test_a_file_that_appears_later_is_followed_too(tmp_path: Path) -> None:
    tail = FolderTail(tmp_path)
    assert tail.read() == []
    (tmp_path / "events-probe-1.jsonl").write_bytes(encode(StepsEnded(at=1.0)))
    assert len(tail.read()) == 1


def test_a_journal_knows_its_events_by_kind_and_its_end() -> None:
    journal = Journal([StepsEnded(at=2.0), HostSampled(at=1.0)])
    journal.extend([StepsEnded(at=1.5)])
    assert [event.at for event in journal.of(StepsEnded)] == [1.5, 2.0]
    assert journal.first(StepsEnded) == StepsEnded(at=1.5)
    assert journal.last(StackSampled) is None
    assert journal.now == 2.0


def test_a_journal_of_weeks_stays_small_and_keeps_its_begin_and_its_end() -> None:
    journal = Journal(HostSampled(at=float(second)) for second in range(50_000))
    kept = [event.at for event in journal.of(HostSampled)]
    assert len(kept) <= 3000
    assert kept[:375] == [float(second) for second in range(375)]
    assert kept[-1500:] == [float(second) for second in range(48_500, 50_000)]
    assert journal.count == 50_000


def test_of_large_events_fewer_are_kept() -> None:
    journal = Journal(StackSampled(at=float(second)) for second in range(5000))
    kept = [event.at for event in journal.of(StackSampled)]
    assert len(kept) <= 300 and kept[-150:] == [float(second) for second in range(4850, 5000)]


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=400), st.integers(0, 400))
def test_no_bytes_whatever_break_the_reader(noise: bytes, cut: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "events-a.jsonl"
        path.write_bytes(noise[:cut] + b"\n" + encode(StepsEnded(at=1.0)) + noise)
        events = Tail(path).read()
    assert StepsEnded(at=1.0) in events


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(0, 10**9), st.text(max_size=50))
def test_an_event_survives_its_way_through_json(at: float, step: int, phase: str) -> None:
    event = StepsEnded(at=at, first=step, phase=phase)
    assert from_plain(json.loads(json.dumps(to_plain(event)))) == event


def unread(folder: Path) -> list[tuple[str, int, bool, str]]:
    return [(each.file, each.lines, each.is_all, each.why) for each in read_folder(folder).unread]


def test_lines_that_cannot_be_read_are_counted_by_file(tmp_path: Path) -> None:
    good, odd = (
        encode(StepsEnded(at=1.0)),
        b'\x00\x01\n[1]\n{"at":1}\n{"event":"StepsEnded","at":"x"}\n{"event":"StepsEnded","at":1e99}\n',
    )
    (tmp_path / "events-probe-1.jsonl").write_bytes(good + odd + good + good[:-10])
    (tmp_path / "events-watcher-2.jsonl").write_bytes(odd)
    assert unread(tmp_path) == [("events-probe-1.jsonl", 5, False, ""), ("events-watcher-2.jsonl", 5, True, "")]
    assert read_folder(tmp_path).count == 2


def test_what_is_no_line_at_all_is_damage_and_half_a_line_is_none(tmp_path: Path) -> None:
    """After a power cut a file may be as long as it was, and hold zeros."""
    (tmp_path / "events-probe-1.jsonl").write_bytes(bytes(4096))
    (tmp_path / "events-watcher-2.jsonl").write_bytes(encode(StepsEnded(at=1.0))[:-1])
    assert unread(tmp_path) == [("events-probe-1.jsonl", 1, True, "")]


def test_events_of_a_newer_version_are_no_damage(tmp_path: Path) -> None:
    (tmp_path / "events-probe-1.jsonl").write_bytes(b'{"event":"SomethingNew","at":1.0}\n')
    assert unread(tmp_path) == []


def test_a_journal_that_is_gone_beside_its_pulse_or_cannot_be_opened_is_told(tmp_path: Path) -> None:
    (tmp_path / "pulse-7").touch()
    (tmp_path / "events-watcher-2.jsonl").mkdir()
    assert unread(tmp_path) == [
        ("events-watcher-2.jsonl", 0, True, "Is a directory"),
        ("events-probe-7.jsonl", 0, True, "it is gone"),
    ]


def test_only_an_empty_journal_of_a_moment_ago_is_that_of_a_run_which_begins(tmp_path: Path) -> None:
    path = tmp_path / "events-probe-1.jsonl"
    assert not read_folder(tmp_path).is_beginning
    path.touch()
    assert read_folder(tmp_path).is_beginning
    os.utime(path, (1, 1))
    assert not read_folder(tmp_path).is_beginning
    path.write_bytes(b"rubbish\n")
    assert not read_folder(tmp_path).is_beginning
