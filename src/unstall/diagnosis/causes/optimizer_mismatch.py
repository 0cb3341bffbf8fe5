"""An optimizer of Keras is given variables other than those it was built for, and refuses them.

What it is
----------
An optimizer keeps a momentum or other state for each variable that it updates. Keras makes that state once, for the variables
that the optimizer is built with: when a model that was compiled with it is trained, or in the first call of `apply_gradients`.
The same optimizer cannot then update a second model, nor layers that were added or set free later.

How we know
-----------
The optimizer refuses a variable in its own words. The variables that it was built for, and those that it was given, are
compared at the moment of the error.

When this is wrong
------------------
It is the error itself. Which of the two is wrong, the optimizer or the variables, only the program's author knows.

What to do
----------
Give each model an optimizer of its own. Where one optimizer is to update several models, build it with all their variables before
the first step: `optimizer.build(variables)`. After layers are added or set free, compile again, or make a new optimizer.
"""

from __future__ import annotations

import re

from unstall.diagnosis.errors.evidence import create_found
from unstall.diagnosis.errors.failures import find_failure
from unstall.diagnosis.errors.fatal_error import find_unseen_end
from unstall.diagnosis.probe_facts import format_list
from unstall.diagnosis.verdict import Clear, Verdict
from unstall.journal.reader import Journal

_REFUSED = re.compile(
    r"This optimizer can only be called for the variables it was originally built with"
    r"|The optimizer cannot recognize variable (?P<name>[\w./:-]+?)\. This usually means"  # Keras 2.11 to 2.15
)


def examine(journal: Journal) -> Verdict:
    failure = find_failure(journal)
    if failure is None:
        return find_unseen_end(journal) or Clear("no error ended the program")
    match = _REFUSED.search(failure.error.message)
    if match is None:
        return Clear("the error is not about the variables of an optimizer")
    optimizer = failure.maker("optimizer")
    said = "The optimizer was built for other variables than those it is given, and refuses them."
    claims: tuple[str, ...] = ()
    if optimizer is not None:
        seen = optimizer.facts
        said += (
            f" It was built for {seen['count']:,}, such as {format_list(seen['built_for'])}, and is given {seen['others']:,} "
            f"others, such as {format_list(seen['given'])}."
        )
        claims = (f"the optimizer was made at {optimizer.where}: {optimizer.code}",) if optimizer.where else ()
    elif match["name"]:
        said += f" {match['name']} is one that it does not know."
    return create_found(
        failure,
        said,
        (
            "where there are several models, give each an optimizer of its own",
            "where layers were added or set free since, compile again, or make a new optimizer",
            "where one optimizer is to update all of them, build it for all of them first: optimizer.build(variables)",
        ),
        claims,
    )
