"""Processes that are started by spawn or forkserver run the program's main file again, since nothing in it keeps them from that.

What it is
----------
A process that is started by `spawn` (the default of macOS and Windows) or `forkserver` (that of Linux since Python 3.14) knows
nothing of the program, and imports its main file first. Statements at the top level then run there, too: the process would start
processes of its own. Python refuses that, the process ends, and the program waits for it in vain or ends with an error that says
only that a worker is gone.

How we know
-----------
A process that was started in such a way ended with exit code 1 as an error leaves it, or a pool says that its processes are
gone. The statement of the main file that led there is not inside an `if __name__ == "__main__":`.

When this is wrong
------------------
If the main file ends itself early where it is imported. Then the process has ended for another reason, which it has printed.

What to do
----------
Put what the program does into a function, and call it under `if __name__ == "__main__":`. Leave imports, functions and classes
at the top level: the processes need them.
"""

from __future__ import annotations

from unstall.diagnosis.causes.process_died import find_exit
from unstall.diagnosis.errors.evidence import create_found
from unstall.diagnosis.errors.failures import find_failure
from unstall.diagnosis.errors.fatal_error import find_unseen_end
from unstall.diagnosis.verdict import Clear, Verdict
from unstall.journal.reader import Journal

EXPLAINS = ("process_died",)
_IMPORTING = ("spawn", "forkserver")  # these import the main file
_AN_ERROR = 1  # the exit code that Python gives a process which ends with one


def examine(journal: Journal) -> Verdict:
    failure = find_failure(journal)
    if failure is None:
        return find_unseen_end(journal) or Clear("no error ended the program")
    maker = failure.maker("processes")
    if maker is None or maker.facts["method"] not in _IMPORTING or not maker.facts["unguarded"]:
        return Clear("no process was started that runs the main file again")
    codes = [row["exit_code"] for row in maker.facts["ended"]]
    said = find_exit(failure)
    if _AN_ERROR not in codes and (codes or said not in ("", f"exit code {_AN_ERROR}")):
        return Clear("the process ended for another reason")
    return create_found(
        failure,
        f"A process that was started by {maker.facts['method']} imports the main file of the program, and so runs the "
        f'statement at {maker.where} again: there is no `if __name__ == "__main__":` around it. Python refuses to start '
        "processes there, and the process ends.",
        (
            'put what the program does into a function main(), and call it at the end: if __name__ == "__main__": main()',
            "leave imports, functions, classes and the constants that they use at the top level: the processes need them",
        ),
        where=maker.where,
    )
