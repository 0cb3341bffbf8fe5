"""A process that the program had started for itself ended on its own, and the program ended with it.

What it is
----------
Workers of a DataLoader, of a process pool, of `torch.multiprocessing.spawn` or of `torchrun` are processes. One that crashes in
native code, is killed or calls exit cannot pass on what happened: the program learns only that it is gone, or that a connection
was cut. The error that ends the program then names a line that is right.

How we know
-----------
The error says that a process is gone, or came from a connection between processes, and a process that the program had started
has ended otherwise than well. With what exit code or signal is read from the error, or asked of the system.

When this is wrong
------------------
If the processes were ended after the error, by the program itself: those that ended by SIGTERM are therefore not counted where
another is. A process that the kernel ended for want of memory is `host_memory_exhausted`.

What to do
----------
Read what the process itself printed, above the last traceback. Run its work in the main process (`num_workers=0`), under
`python -X faulthandler`: there the crash has a line.
"""

from __future__ import annotations

import re
import signal as signals

from unstall.diagnosis.errors.evidence import create_found
from unstall.diagnosis.errors.failures import Failure, find_failure
from unstall.diagnosis.errors.fatal_error import find_unseen_end, format_texts
from unstall.diagnosis.out_of_memory import find_worker_death
from unstall.diagnosis.verdict import Clear, Verdict
from unstall.journal.reader import Journal
from unstall.journal.stack_frames import is_user_file

_EXIT = re.compile(
    r"exited unexpectedly with exit code (?P<code>\d+)"
    r"|terminated with exit code (?P<code_2>\d+)"
    r"|terminated with signal SIG(?P<signal>[A-Z]+)"
    r"|is killed by signal: (?P<words>[A-Z][A-Za-z -]*[a-z])"
    r"|exit codes of the workers are \{(?P<name>SIG[A-Z]+)\("
    r"|exitcode *: (?P<code_3>-?\d+) "
)
_RANK = re.compile(r"process (?P<rank>\d+) terminated|\brank +: (?P<rank_2>\d+)")
_GONE = ("BrokenProcessPool", "TerminatedWorkerError", "ProcessExitedException", "ChildFailedError")
# What a cut connection, or an answer that never comes, ends in.
_CUT = ("ConnectionResetError", "ConnectionRefusedError", "BrokenPipeError", "EOFError", "Empty", "ConnectionAbortedError")
_NATIVE = frozenset({"SEGV", "ABRT", "BUS", "FPE", "ILL", "SYS", "TRAP"})
_OF_WORDS = {"Segmentation fault": "SEGV", "Killed": "KILL", "Aborted": "ABRT", "Bus error": "BUS", "Terminated": "TERM",
             "Floating point exception": "FPE", "Illegal instruction": "ILL"}  # fmt: skip
_IN_MAIN = "run its work in the main process, where the error shows its line: num_workers=0 of a DataLoader, or a plain loop"
_BY_SIGNAL = "see what was printed above by the process itself, and in the log of the kernel: dmesg"


def examine(journal: Journal) -> Verdict:
    failure = find_failure(journal)
    if failure is None:
        return find_unseen_end(journal) or Clear("no error ended the program")
    ended = _list_ended(failure)
    kind = failure.error.kind.rpartition(".")[2]
    said = find_exit(failure)
    is_cut = kind in _CUT and any(_is_of_processes(frame["file"]) for frame in failure.error.frames) and bool(ended)
    if not (is_cut or kind in _GONE or find_worker_death(failure.error)):
        return Clear("the error is not about a process that is gone")
    known = said or (_describe_code(ended[0][1]) if ended else "")
    name = f" ({ended[0][0]})" if ended and ended[0][0] else ""
    rank = _RANK.search(failure.error.message)
    of_loader = any("DataLoader worker" in text for text in format_texts(failure.error))
    who = f"A worker process of the DataLoader{name}" if of_loader else f"A process{name} that the program had started"
    if rank is not None:
        who = f"The process of rank {rank['rank'] or rank['rank_2']} that the program had started"
    how = f"ended with {known}" if known else "ended without a word"
    what = "a connection to it was cut" if is_cut else "the program ended since it was gone"
    claims = tuple(f"{name or 'a process'} ended with {_describe_code(code)}" for name, code in ended)
    return create_found(
        failure,
        f"{who} {how}, and {what}.{_explain(known)} The line that is named here waited for it.",
        _actions(known),
        claims,
    )


def find_exit(failure: Failure) -> str:
    """As the error, or one that led to it, says: SIGSEGV, exit code 3."""
    for text in format_texts(failure.error):
        match = _EXIT.search(text)
        if match is None:
            continue
        code = match["code"] or match["code_2"] or match["code_3"]
        if code is not None:
            return _describe_code(int(code))
        name = match["signal"] or (match["name"] or "").removeprefix("SIG") or _OF_WORDS.get((match["words"] or "").strip(), "")
        if name:
            return f"SIG{name}"
    return ""


def _list_ended(failure: Failure) -> list[tuple[str, int]]:
    """Name and exit code; what was ended by SIGTERM, as the others of a pool are then, only where there is nothing else."""
    maker = failure.maker("processes")
    rows = [(row["name"], row["exit_code"]) for row in maker.facts["ended"]] if maker is not None else []
    return [row for row in rows if row[1] != -signals.SIGTERM] or rows


def _describe_code(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    try:
        return signals.Signals(-code).name
    except ValueError:
        return f"signal {-code}"


def _is_of_processes(file: str) -> bool:
    return not is_user_file(file) and ("/multiprocessing/" in file or "/concurrent/futures/process.py" in file)


def _explain(known: str) -> str:
    if known.removeprefix("SIG") in _NATIVE:
        return " Native code that crashes ends so: a decoder, a library that does not bear a fork, an extension of one's own."
    if known == "SIGKILL":
        return " That is what the kernel does where memory runs out, and others do by kill -9."
    if known == "exit code 1":
        return " So Python ends after an error, whose traceback the process has printed itself."
    return ""


def _actions(known: str) -> tuple[str, ...]:
    if known.removeprefix("SIG") in _NATIVE:
        return (_IN_MAIN + ", started as python -X faulthandler", _BY_SIGNAL)
    if known == "SIGKILL":
        return ("watch the memory of the processes: fewer of them need less", _BY_SIGNAL)
    if known.startswith("exit code") and known != "exit code 1":
        return ("look for what calls exit with that code there: sys.exit, os._exit, or a library", _IN_MAIN)
    if known:
        return ("read the traceback that the process printed, above that of the main process", _IN_MAIN)
    return ("read what the process printed, above the last traceback", _IN_MAIN)
