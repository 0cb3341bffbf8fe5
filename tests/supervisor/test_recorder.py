"""What is looked at after a program has ended with an error."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from tests.diagnosis.builders import T0, journal, started
from unstall.data.io.tfrecord_file import compute_masked_crc
from unstall.journal.events import DataChecked, ErrorRaised, FileMet, ProcessEnded
from unstall.supervisor import recorder

ERROR = ErrorRaised(at=T0 + 9, kind="DataLossError", message="corrupted record at 116", fatal=True)


def _record(data: bytes) -> bytes:
    head = struct.pack("<Q", len(data))
    return head + struct.pack("<I", compute_masked_crc(head)) + data + struct.pack("<I", compute_masked_crc(data))


@pytest.mark.parametrize(("seconds_before", "how", "is_found"), [(0.1, "open", True), (60, "open", False), (0.1, "path", False)])
def test_the_record_file_is_looked_for_among_those_that_were_open(
    seconds_before: float, how: str, is_found: bool, tmp_path: Path
) -> None:
    whole = _record(bytes(100)) * 3
    (tmp_path / "train-0.record").write_bytes(whole)
    (tmp_path / "train-1.record").write_bytes(whole[:130] + b"\x01" + whole[131:])
    met = [FileMet(at=ERROR.at - seconds_before, path=str(path), how=how) for path in sorted(tmp_path.iterdir())]
    events = recorder.look_at_error(journal(started(), *met, ERROR, ProcessEnded(at=T0 + 10, exit_code=1)))
    checked = [event for event in events if isinstance(event, DataChecked)]
    assert [event.damaged for event in checked] == ([[str(tmp_path / "train-1.record")]] if is_found else [])
