"""An object was to be pickled, for another process, a file or a copy, and a part of it cannot be.

What it is
----------
What goes to another process, into a file of `torch.save` or `pickle`, or through `copy.deepcopy` is pickled. A function or a
class is pickled as the name under which it is found in its module: a lambda, and what is defined inside a function, have none.
Open files, HDF5 files, locks, threads, generators and modules belong to the process that made them.

Processes that are forked are given their objects without that. Those that are started by `spawn` (the default of macOS and
Windows) or `forkserver` (that of Linux since Python 3.14) are not. What a pool is asked to compute, and what it gives back, is
always pickled.

How we know
-----------
The error that ended the program is the refusal of the pickler, and the functions of a pickler or of another process are in its
traceback. Unstall looks for the part that is meant in the object that was given, by reading what lies in it, and for the line
that put it there.

When this is wrong
------------------
If the object was not to be pickled as a whole: then it is the call that must be given less.

What to do
----------
Define functions and classes at the top level of a module. Keep the path in the object, and open the file in the process that
reads it. Save weights in place of models.
"""

from __future__ import annotations

import re

from unstall.diagnosis.errors.evidence import create_found
from unstall.diagnosis.errors.failures import Failure, Maker, find_failure
from unstall.diagnosis.errors.fatal_error import find_unseen_end, format_texts
from unstall.diagnosis.verdict import Clear, Verdict
from unstall.journal.reader import Journal
from unstall.journal.stack_frames import is_user_file

# Python's words in versions 3.7 to 3.14, and those of h5py and others that refuse of their own.
_REFUSED = re.compile(
    r"can(?:no|')t pickle '?(?P<type>[\w.]+)'? objects?\b"
    r"|Can't (?:pickle|get) local object (?:'|<(?:function|class) '?)(?P<local>(?:[\w.]|<locals>|<lambda>)+)(?:'|>| at )"
    r"|[Cc]an't pickle (?:<(?:function|class) '?)(?P<function>(?:[\w.]|<locals>|<lambda>)+)'?(?:>| at )"
    r"|(?P<library>\w+) objects cannot be pickled"
)
_PICKLERS = ("/copy.py", "/pickle.py", "/torch/serialization.py", "/joblib/", "/cloudpickle/", "/multiprocessing/reduction.py")
_PROCESSES = ("/multiprocessing/", "/concurrent/futures/", "/joblib/", "/torch/utils/data/", "/loky/")
_STARTERS = ("popen_spawn_posix.py", "popen_spawn_win32.py", "popen_forkserver.py")
_OWN_CALL = re.compile(r"\b(?:pickle|dump|dumps|deepcopy|copy|save|joblib|dill)\b")
_FILES = re.compile(r"TextIOWrapper|Buffered|FileIO|socket|sqlite3|Connection|Cursor|mmap")
_LOCKS = re.compile(r"lock|Condition|Event|Thread|Semaphore|_queue|_contextvars|weakref", re.IGNORECASE)


def examine(journal: Journal) -> Verdict:
    failure = find_failure(journal)
    if failure is None:
        return find_unseen_end(journal) or Clear("no error ended the program")
    refused = next((match for text in format_texts(failure.error)[:2] if (match := _REFUSED.search(text))), None)
    if refused is None or not _is_of_pickler(failure):
        return Clear("the error is about something else")
    named = refused["local"] or refused["function"] or ""
    kind = refused["type"] or (f"{refused['library']} object" if refused["library"] else "")
    part = failure.maker("unpicklable")
    what, why, advice = _describe_part(named, kind, bool(part is not None and part.facts.get("function")))
    who = f"`{part.name}` of {part.facts['owner']} is {what}" if part is not None and part.name and part.facts["owner"] else ""
    who = who or (f"`{part.name}` is {what}" if part is not None and part.name else f"What was to be pickled holds {what}")
    purpose, instead = _describe_purpose(failure)
    return create_found(
        failure,
        f"{who}, which cannot be pickled: {why}. {purpose}",
        (_with_place(advice, part), *instead),
        _describe_place(part, failure),
        part.where if part is not None and part.where else None,
    )


def _is_of_pickler(failure: Failure) -> bool:
    """By the functions in the traceback; the pickler of Python itself has none, and its call stands in the program's line."""
    raised = failure.raised
    if raised is not None and raised.statement == "Raise":
        return False
    files = [frame["file"] for frame in failure.error.frames]
    if any(part in file for file in files for part in (*_PICKLERS, *_PROCESSES) if not is_user_file(file)):
        return True
    if any("multiprocessing" in text for text in failure.error.chain) or "multiprocessing" in failure.error.message:
        return True
    return raised is not None and bool(_OWN_CALL.search(raised.code))


def _describe_part(named: str, kind: str, is_function: bool) -> tuple[str, str, str]:
    """What it is, why it cannot be pickled, and what to do instead."""
    last = named.rpartition(".")[2]
    if "<lambda>" in named:
        what, advice = "a lambda", "write the function with def at the top level of a module"
        return what, "it has no name under which it could be found in its module", f"{advice}, in place of the lambda"
    if named and "<locals>" in named:
        owner = named.partition(".<locals>")[0]
        word = "function" if is_function else "class or function"
        return (
            f"the {word} `{last}`, defined inside {owner}" if is_function else f"`{last}`, defined inside {owner}",
            "only what is defined at the top level of a module is found again by its name",
            f"define `{last}` at the top level of the module, outside of {owner}",
        )
    if named:
        return (
            f"`{last}`",
            f"under the name {named} there is another object, or none",
            f"let `{last}` be found under its own name: a decorator or a second definition may have taken its place",
        )
    if kind in ("generator", "async_generator"):
        fix = "make a list of it, list(…), or make the generator where it is used"
        return "a generator", "its place in the function that makes it cannot be saved", fix
    if kind == "module":
        return "a module", "modules are imported, and not saved", "import the module where it is used, and keep its name at most"
    if kind.startswith("h5py") or _FILES.search(kind):
        what = "an open HDF5 file, or a part of one" if kind.startswith("h5py") else f"an open file or connection ({kind})"
        fix = "keep the path, and open the file where it is read, at the first access"
        return what, "it belongs to the process that opened it", fix
    what = f"an object of the type `{kind}`"
    if _LOCKS.search(kind):
        fix = "make it where it is used, or leave it out of what is pickled, by a method __getstate__ of the class"
        return what, "it belongs to the process that made it", fix
    fix = "leave it out of what is pickled, by a method __getstate__ of the class, and make it again where it is used"
    return what, "its class does not say how", fix


def _describe_purpose(failure: Failure) -> tuple[str, tuple[str, ...]]:
    """Why it was pickled at all, and what else can be done about that."""
    files = [frame["file"] for frame in failure.error.frames if not is_user_file(frame["file"])]
    code = failure.raised.code if failure.raised is not None else ""
    if any(file.endswith("/torch/serialization.py") for file in files):
        return (
            "torch.save pickles all that is in a model.",
            ("or save the weights alone, which needs none of this: torch.save(model.state_dict(), path)",),
        )
    if any(file.endswith("/copy.py") for file in files) or "deepcopy" in code:
        return (
            "copy.deepcopy copies objects by what they would be pickled as.",
            ("or give the class a __deepcopy__ that leaves it out; for an average of weights: copy only the state_dict()",),
        )
    if any(file.endswith(_STARTERS) for file in files):
        fork = (
            "or start the workers by fork, which pickles nothing, where no CUDA and no threads of a framework are in use before"
        )
        return "A process that is started by spawn or forkserver is given its objects pickled.", (fork,)
    if any(part in file for file in files for part in _PROCESSES) or "multiprocessing" in failure.error.message:
        is_result = failure.error.kind.endswith("MaybeEncodingError") or (
            any("_sendback_result" in text for text in failure.error.chain)
        )
        sent = "What a worker process gives back is pickled." if is_result else "What is given to a worker process is pickled."
        return sent, ()
    return "What is written to the file must be pickled as a whole.", ()


def _with_place(advice: str, part: Maker | None) -> str:
    return f"at {part.where}: {advice}" if part is not None and part.where else advice


def _describe_place(part: Maker | None, failure: Failure) -> tuple[str, ...]:
    is_other = part is not None and (failure.raised is None or part.where != failure.raised.where)
    return (f"{part.where}: {part.code}",) if part is not None and is_other and part.where and part.code else ()
