"""object_unpicklable: the part that a pickler refuses, in the words of each version of Python, and what it was pickled for."""

from __future__ import annotations

from typing import Any

import pytest

from tests.diagnosis.builders import FOLDER
from tests.diagnosis.failed_programs import failed, line, unseen
from unstall.diagnosis.causes import object_unpicklable
from unstall.diagnosis.verdict import Clear, Found, Unknown, Verdict

DUMP = "/usr/lib/python3.11/multiprocessing/reduction.py"
SPAWN = "/usr/lib/python3.11/multiprocessing/popen_spawn_posix.py"
PART = {
    "what": "unpicklable",
    "name": "scale",
    "owner": "Rows",
    "function": True,
    "where": f"{FOLDER}/train.py:6",
    "first": 6,
    "source": ["self.scale = lambda x: x * 2"],
}


def examine(kind: str, message: str, within: str = DUMP, code: str = "for x in loader:", **more: Any) -> Verdict:
    return object_unpicklable.examine(failed(kind, message, line(14, code, function="main"), within=within, **more))


@pytest.mark.parametrize(
    ("kind", "message", "what"),
    [
        ("AttributeError", "Can't pickle local object 'Rows.__init__.<locals>.<lambda>'", "a lambda"),
        ("AttributeError", "Can't get local object 'Rows.__init__.<locals>.<lambda>'", "a lambda"),
        ("_pickle.PicklingError", "Can't pickle <function <lambda> at 0x7f>: attribute lookup <lambda> on __main__ failed", "a lambda"),
        ("_pickle.PicklingError", "Can't pickle local object <function main.<locals>.<lambda> at 0x7f>", "a lambda"),
        ("AttributeError", "Can't pickle local object 'make.<locals>.Scaler'", "`Scaler`, defined inside make"),
        ("_pickle.PicklingError", "Can't pickle <class '__main__.Scaler'>: it's not the same object as __main__.Scaler", "`Scaler`"),
        ("TypeError", "cannot pickle '_thread.lock' object", "type `_thread.lock`"),
        ("TypeError", "can't pickle _thread.RLock objects", "type `_thread.RLock`"),
        ("TypeError", "cannot pickle 'generator' object", "a generator"),
        ("TypeError", "cannot pickle 'module' object", "a module"),
        ("TypeError", "cannot pickle '_io.BufferedReader' object", "an open file"),
        ("TypeError", "h5py objects cannot be pickled", "an open HDF5 file"),
    ],
)  # fmt: skip
def test_found_in_the_words_of_each_version(kind: str, message: str, what: str) -> None:
    verdict = examine(kind, message)
    assert isinstance(verdict, Found)
    assert what in verdict.summary
    assert "given to a worker process" in verdict.summary
    assert verdict.where == "train.py:14"


def test_the_line_that_keeps_the_part_is_the_one_that_must_change() -> None:
    verdict = examine("AttributeError", "Can't pickle local object 'Rows.__init__.<locals>.<lambda>'", SPAWN, makers=[PART])
    assert isinstance(verdict, Found)
    assert verdict.where == "train.py:6"
    assert verdict.summary.startswith("`scale` of Rows is a lambda, which cannot be pickled")
    assert any("self.scale = lambda" in each.claim for each in verdict.evidence)
    assert any("fork" in action for action in verdict.actions)


@pytest.mark.parametrize(
    ("within", "code", "said"),
    [
        ("/x/site-packages/torch/serialization.py", "torch.save(model, path)", "torch.save pickles"),
        ("/usr/lib/python3.11/copy.py", "ema = copy.deepcopy(model)", "copy.deepcopy copies"),
        ("", "pickle.dump(scaler, file)", "written to the file"),
    ],
)
def test_what_it_was_pickled_for(within: str, code: str, said: str) -> None:
    verdict = examine("TypeError", "cannot pickle '_thread.lock' object", within, code)
    assert isinstance(verdict, Found)
    assert said in verdict.summary


def test_what_a_worker_gives_back() -> None:
    chain = [
        'concurrent.futures.process._RemoteTraceback: \n"""\n  File "/usr/lib/python3.11/concurrent/futures/process.py", line 205, in _sendback_result'
    ]
    verdict = examine(
        "TypeError", "cannot pickle 'generator' object", "/usr/lib/python3.11/concurrent/futures/_base.py", chain=chain
    )
    assert isinstance(verdict, Found)
    assert "gives back is pickled" in verdict.summary


@pytest.mark.parametrize(
    ("kind", "message", "within", "code"),
    [
        ("ValueError", "the object cannot be pickled by hand", "", "check(x)"),
        ("TypeError", "cannot pickle 'cucumber' objects yet", "", "store(cucumbers)"),  # words of the program's own
        ("pickle.UnpicklingError", "invalid load key, 'x'.", "/usr/lib/python3.11/pickle.py", "pickle.load(file)"),
    ],
)
def test_clear_of_other_errors(kind: str, message: str, within: str, code: str) -> None:
    assert isinstance(examine(kind, message, within, code), Clear)


def test_unknown_where_the_program_could_not_be_seen() -> None:
    assert isinstance(object_unpicklable.examine(unseen()), Unknown)
