"""system_limit_reached: by the number of the system's own answer."""

from __future__ import annotations

import pytest

from tests.diagnosis.builders import FOLDER, T0
from tests.diagnosis.failed_programs import failed, line, unseen
from unstall.diagnosis.causes import system_limit_reached
from unstall.diagnosis.verdict import Certainty, Clear, Found, Unknown
from unstall.journal.events import DiskSeen


@pytest.mark.parametrize(
    ("kind", "message", "said"),
    [
        ("OSError", "[Errno 24] Too many open files: '/data/tile_00507.raw'", "as it may have, and the next one could not be opened: /data/tile_00507.raw."),
        ("PermissionError", "[Errno 13] Permission denied: '/data/x'", "no permission for what it wanted to do with a file or folder: /data/x."),
        ("OSError", "[Errno 36] File name too long: 'aaa'", "longer than the file system allows"),
        ("RuntimeError", "can't start new thread", "start another thread"),
        ("OSError", "[Errno 27] File too large", "larger than the process or the file system allows."),
        ("IsADirectoryError", "[Errno 21] Is a directory: '/data/model'", "There is a folder where a file was to be opened or written: /data/model."),
        ("RuntimeError", "[enforce fail at inline_container.cc:747] . open file failed with strerror: Is a directory", "There is a folder"),
        ("RuntimeError", "[enforce fail at inline_container.cc:747] . open file failed with strerror: Permission denied", "no permission"),
        ("FileExistsError", "[Errno 17] File exists: '/runs/exp1'", "is there already, and the call makes only a new one: /runs/exp1."),
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


PARTS = [
    "100000 requested and 12484 written",
    "[enforce fail at inline_container.cc:672] . unexpected pos 832 vs 726",
    "Can't synchronously write data (file write failed: time = now, filename = 'x.h5')",
]
LIMIT = {"what": "limit", "name": "file size", "value": 100_000}


@pytest.mark.parametrize("message", PARTS)
def test_a_write_that_took_only_a_part_is_likely_the_limit_of_the_size_of_files(message: str) -> None:
    row = line(31, "np.save(path, table)")
    verdict = system_limit_reached.examine(failed("OSError", message, row, makers=[LIMIT]))
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.LIKELY
    assert "files of 97.7 KiB at most" in verdict.summary
    assert isinstance(system_limit_reached.examine(failed("OSError", message, row)), Clear)  # no limit is known
    full = DiskSeen(at=T0 + 9, path="/data", mount="/data", free_bytes=0, total_bytes=10**9)
    assert isinstance(system_limit_reached.examine(failed("OSError", message, row, makers=[LIMIT], events=[full])), Clear)


@pytest.mark.parametrize("call", ["os.makedirs(folder)", "Path(folder).mkdir(parents=True)"])
def test_a_folder_that_is_there_is_taken_by_a_change_of_the_line(call: str) -> None:
    message = "[Errno 17] File exists: '/runs/exp1'"
    verdict = system_limit_reached.examine(failed("FileExistsError", message, line(31, call)))
    assert isinstance(verdict, Found)
    (change,) = verdict.changes
    assert "exist_ok=True" in change.after[0]
    assert "written over" in change.when


def test_a_call_that_cannot_take_a_folder_is_not_changed() -> None:
    verdict = system_limit_reached.examine(failed("FileExistsError", "[Errno 17] File exists: 'x'", line(31, "os.mkdir(folder)")))
    assert isinstance(verdict, Found)
    assert verdict.changes == ()


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
    assert "elements of" not in verdict.summary
    rows = {"name": "rows", "type": "list", "length": 320, "in_failing": True}
    around = line(31, "self.images = [self.open(path) for path, _ in rows]", rows, function="__init__")
    listed = system_limit_reached.examine(failed("OSError", message, around, row, makers=[limit, files]))
    assert isinstance(listed, Found)
    assert "The list made at train.py:31 is to keep what is opened for each of the 320 elements of `rows`." in listed.summary
    assert verdict.actions[-1] == "or let the program set a higher limit at node.py:13"
    assert "180 of the files that are open end in .jpg: /data/7.jpg" in [each.claim for each in verdict.evidence]


def limit(**more: object) -> dict[str, object]:
    return {"what": "limit", "name": "file size", "value": 6 * 1024 * 1024, "hard": -1, **more}


def test_the_line_that_sets_the_size_of_files_and_the_list_that_grows_are_told() -> None:
    sets = limit(where=f"{FOLDER}/quota.py:10", first=10, source=["resource.setrlimit(resource.RLIMIT_FSIZE, size)"])
    grown = {
        "what": "grown",
        "name": "self.seen",
        "count": 10,
        "where": f"{FOLDER}/train.py:19",
        "first": 19,
        "source": ["add()"],
    }
    message = "[enforce fail at inline_container.cc:672] . unexpected pos 6178624 vs 6178512"
    row = line(22, "torch.save(self.seen, path)")
    verdict = system_limit_reached.examine(failed("RuntimeError", message, row, makers=[sets, grown]))
    assert isinstance(verdict, Found)
    assert "6 MiB at most, a limit that is set at quota.py:10." in verdict.summary
    assert "`self.seen`, which is written into the file, has 10 entries and grows at train.py:19." in verdict.summary
    assert verdict.actions[:2] == (
        "let the program set a higher limit at quota.py:10",
        "or write a file of its own for each entry of `self.seen`",
    )


def test_a_limit_that_the_program_does_not_set_is_to_be_raised_before_the_start() -> None:
    verdict = system_limit_reached.examine(failed("OSError", "[Errno 27] File too large", line(2, "f()"), makers=[limit()]))
    assert isinstance(verdict, Found)
    assert "ulimit -f unlimited" in verdict.actions[0]
