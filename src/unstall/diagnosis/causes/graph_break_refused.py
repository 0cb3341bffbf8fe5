"""torch.compile was to make one graph of a function, and the function cannot be one.

What it is
----------
`torch.compile` records what a function does with tensors. Where the next step depends on the values of a tensor (an `if`, a
`while`, `.item()`), or where something else than tensors is worked on, the graph ends, the line runs as plain Python, and another
graph begins behind it. With `fullgraph=True`, and in `torch.export`, such a break is an error.

How we know
-----------
PyTorch names the line and the reason. Unstall shows both, and the line that asks for one graph where the compiled object stands
in the failing line.

When this is wrong
------------------
Never about the break. Whether one graph is needed only the program knows.

What to do
----------
Choose by `torch.where` or `torch.cond` instead of `if`. Keep printing, `.item()` and NumPy out of the compiled function. Or leave
out `fullgraph=True`.
"""

from __future__ import annotations

import re

from unstall.diagnosis.errors.evidence import create_found
from unstall.diagnosis.errors.failures import Failure, Maker, find_failure
from unstall.diagnosis.errors.fatal_error import find_unseen_end
from unstall.diagnosis.verdict import Clear, Verdict
from unstall.journal.reader import Journal

MAX_HINTS = 2
_EXPLANATION = re.compile(r"^\s*Explanation: (?P<text>.+?)\s*$", re.MULTILINE)
_HINT = re.compile(r"^\s*Hint: (?P<text>.+?)\s*$", re.MULTILINE)
# Hints that say how likely a newer PyTorch can do it, and nothing to do.
_NO_ADVICE = re.compile(r"This graph break is|It may be possible to write Dynamo tracing rules")
_BY_VALUE = re.compile(r"Data-dependent|data-dependent|dynamic control flow")


def examine(journal: Journal) -> Verdict:
    failure = find_failure(journal)
    if failure is None:
        return find_unseen_end(journal) or Clear("no error ended the program")
    if not failure.error.kind.startswith("torch._dynamo.") or not failure.error.kind.endswith("Unsupported"):
        return Clear("the error is about something else")
    message = failure.error.message
    explanation = _EXPLANATION.search(message)
    said = explanation["text"].rstrip(".") if explanation is not None else failure.text.message.rstrip(".")
    compiled = _find_full_graph(failure)
    requested = f" at {compiled.where} by fullgraph=True" if compiled is not None else " by fullgraph=True or torch.export"
    hints = [each["text"] for each in _HINT.finditer(message) if not _NO_ADVICE.search(each["text"])][:MAX_HINTS]
    claims = [f"{compiled.where}: {compiled.code}"] if compiled is not None else []
    where = f" at {compiled.where}" if compiled is not None else ""
    by_value = (
        ("choose by torch.where(condition, a, b), which computes both, or by torch.cond",) if _BY_VALUE.search(message) else ()
    )
    return create_found(
        failure,
        f"torch.compile cannot make one graph of this function, which is asked for{requested}: the graph breaks at the line "
        f"that is named here. {said}.",
        (
            *by_value,
            f"{'or ' if by_value else ''}leave out fullgraph=True{where}: such a line "
            "then runs as plain Python, between compiled parts",
        ),
        (*claims, *(f"a hint of PyTorch: {hint}" for hint in hints)),
    )


def _find_full_graph(failure: Failure) -> Maker | None:
    for line in reversed(failure.own_lines):
        for value in line.values:
            maker = line.find_maker(value)
            if maker is not None and "fullgraph=True" in " ".join(maker.source).replace(" = ", "="):
                return maker
    return None
