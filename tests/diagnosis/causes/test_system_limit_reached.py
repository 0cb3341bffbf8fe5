"""system_limit_reached: by the number of the system's own answer."""

from __future__ import annotations

import pytest

from tests.diagnosis.builders import FOLDER
from tests.diagnosis.failed_programs import failed, line, unseen
from unstall.diagnosis.causes import system_limit_reached
from unstall.diagnosis.verdict import Clear, Found, Unknown


@pytest.mark.parametrize(
    ("kind", "message", "said"),
    [
        ("OSError", "[Errno 24] Too many open files: '/data/tile_00507.raw'", "as it may have, and the next one could not be opened: /data/tile_00507.raw."),
        ("PermissionError", "[Errno 13] Permission denied: '/data/x'", "no permission for what it wanted to do with a file or folder: /data/x."),
        ("OSError", "[Errno 36] File name too long: 'aaa'", "longer than the file system allows"),
        ("RuntimeError", "can't start new thread", "start another thread"),
        (
            "tensorflow.python.framework.errors_impl.PermissionDeniedError",
            "/data/model/checkpoint; Permission denied",
            "a file or folder: /data/model/checkpoint.",
        ),
        ("RuntimeError", "DataLoader worker is killed by signal: Bus error. insufficient shared memory (shm)", "shared memory"),
    ],
)  # fmt: skip
def test_found(kind: str, message: str, said: str) -> None:
    verdict = system_limit_reached.examine(failed(kind, message, line(31, "file = open(path)", function="load")))
    assert isinstance(verdict, Found)
    assert said in verdict.summary
    assert verdict.where == "train.py:31"


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("FileNotFoundError", "[Errno 2] No such file or directory: 'x'"),
        ("OSError", "[Errno 28] No space left on device"),
        ("ValueError", "[Errno 24] of the table"),
        ("BlockingIOError", "[Errno 11] Unable to synchronously open file (unable to lock file, errno = 11)"),
    ],
)
def test_clear_of_other_answers(kind: str, message: str) -> None:
    assert isinstance(system_limit_reached.examine(failed(kind, message, line(31, "file = open(path)"))), Clear)


def test_unknown_where_the_program_could_not_be_seen() -> None:
    assert isinstance(system_limit_reached.examine(unseen()), Unknown)


def test_tensors_that_are_kept_are_named_with_the_line_that_fills_the_list_and_the_limit() -> None:
    makers = [
        {"what": "limit", "name": "open files", "value": 192},
        {
            "what": "kept",
            "name": "targets",
            "count": 174,
            "where": f"{FOLDER}/train.py:57",
            "first": 57,
            "source": ["targets.append(y)"],
        },
    ]
    message = "Too many open files. Communication with the workers is no longer possible."
    verdict = system_limit_reached.examine(failed("RuntimeError", message, line(50, "for x, y in loader:"), makers=makers))
    assert isinstance(verdict, Found)
    assert verdict.where == "train.py:57"
    claims = " ".join(each.claim for each in verdict.evidence)
    assert "192 files open" in claims
    assert "`targets` keeps 174 tensors" in claims
    assert not any("with open" in action for action in verdict.actions)


def test_a_limit_that_the_program_sets_is_not_to_be_raised_in_the_shell() -> None:
    limit = {
        "what": "limit", "name": "open files", "value": 192, "hard": 4096, "where": f"{FOLDER}/node.py:13", "first": 13,
        "source": ["resource.setrlimit(resource.RLIMIT_NOFILE, (192, hard))"],
    }  # fmt: skip
    files = {"what": "files", "name": ".jpg", "count": 180, "last": "/data/7.jpg"}
    message = "[Errno 24] Too many open files: '/data/8.jpg'"
    row = line(36, "return Image.open(path)", function="read")
    verdict = system_limit_reached.examine(failed("OSError", message, row, makers=[limit, files]))
    assert isinstance(verdict, Found)
    assert "It may have 192. Image.open of Pillow reads the pixels only when they are needed" in verdict.summary
    assert verdict.actions[-1] == "or let the program set a higher limit at node.py:13"
    assert "180 of the files that are open end in .jpg: /data/7.jpg" in [each.claim for each in verdict.evidence]
