"""A file that is written while others read it: they see the old one or the new one."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

from tests.programs import as_anybody
from unstall.report import json as json_report
from unstall.report.json import write_text


def test_a_reader_never_sees_a_part(tmp_path: Path) -> None:
    target, texts = tmp_path / "story.json", {letter * 3_000_000 for letter in "ab"}
    write_text(target, "a" * 3_000_000)
    writer = threading.Thread(target=lambda: [write_text(target, text) for _ in range(20) for text in texts])
    writer.start()
    while writer.is_alive():
        assert target.read_text() in texts
    assert list(tmp_path.iterdir()) == [target]


def test_a_link_stays_a_link_and_a_mode_stays_the_mode(tmp_path: Path) -> None:
    target, link = tmp_path / "story.json", tmp_path / "newest.json"
    target.write_text("old")
    target.chmod(0o640)
    link.symlink_to(target)
    write_text(link, "new")
    assert link.is_symlink()
    assert (target.read_text(), target.stat().st_mode & 0o777) == ("new", 0o640)


def test_a_file_in_a_folder_that_allows_no_others_is_written_in_place(tmp_path: Path) -> None:
    target = tmp_path / "story.json"
    target.write_text("a long text from before")
    tmp_path.chmod(0o500)
    code = f"from pathlib import Path; from unstall.report.json import write_text; write_text(Path({str(target)!r}), 'new')"
    try:
        subprocess.run(as_anybody(sys.executable, "-c", code), check=True, timeout=240)
    finally:
        tmp_path.chmod(0o700)
    assert target.read_text() == "new"


def test_a_pipe_is_written_in_place_and_not_again_and_again(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert not json_report.can_be_rewritten(str(pipe))
    assert not json_report.can_be_rewritten("-")
    assert not json_report.can_be_rewritten("gs://bucket/story.json")
    assert json_report.can_be_rewritten(str(tmp_path / "story.json"))
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    write_text(pipe, "once")
    reader.join(30)
    assert read == ["once"]


def test_whether_it_can_be_written_is_tried_without_an_empty_file_under_its_name(tmp_path: Path) -> None:
    """Somebody who waits for the file would read nothing from it."""
    opened: list[str] = []
    is_over = False
    sys.addaudithook(lambda name, args: opened.append(str(args[0])) if name == "open" and not is_over else None)
    json_report.refuse_unwritable(str(tmp_path / "story.json"))
    is_over = True
    assert str(tmp_path / "story.json") not in opened
    assert any(path.startswith(str(tmp_path)) for path in opened)
    assert list(tmp_path.iterdir()) == []
