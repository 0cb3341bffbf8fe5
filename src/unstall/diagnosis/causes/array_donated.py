"""An array of JAX is used after it was given to a function that took its memory.

What it is
----------
`jax.jit(f, donate_argnums=…)` lets the function write its results into the memory of its arguments, which saves a copy of the
weights and the state of the optimizer. The arrays that were given are deleted by the call: only what it returns can be used. Any
other name for the same array, such as the best weights that were kept, holds a deleted array, too.

How we know
-----------
JAX refuses the array as deleted. Unstall asks the arrays in the program's own lines which of them are, and looks in the
program's files for the lines that donate.

When this is wrong
------------------
If the program has deleted the array itself, by `delete()`: then that call is the one to look at.

What to do
----------
Give the results the names of what was donated: `params, state = step(params, state, batch)`. Copy what is to be kept before the
next call: `jax.tree.map(jnp.copy, params)`. Or donate less.
"""

from __future__ import annotations

import re

from unstall.diagnosis.errors.evidence import create_found
from unstall.diagnosis.errors.failures import Failure, Maker, UserLine, find_failure
from unstall.diagnosis.errors.fatal_error import find_unseen_end, format_texts
from unstall.diagnosis.errors.line_changes import find_other_name
from unstall.diagnosis.verdict import Clear, Verdict
from unstall.journal.events import FrameworkLoaded
from unstall.journal.reader import Journal

_DELETED = re.compile(r"Array has been deleted|Buffer has been deleted or donated|deleted or donated buffer")


def examine(journal: Journal) -> Verdict:
    failure = find_failure(journal)
    if failure is None:
        return find_unseen_end(journal) or Clear("no error ended the program")
    is_of_jax = any(event.name == "jax" for event in journal.of(FrameworkLoaded))
    if not is_of_jax or not any(_DELETED.search(text) for text in format_texts(failure.error)[:2]):
        return Clear("the error is about something else")
    names = [maker.name for maker in failure.makers if maker.what == "deleted"]
    donating = [maker for maker in failure.makers if maker.what == "donates" and maker.where]
    alias = _find_alias(failure, names)
    listed = " and ".join(f"`{name}`" for name in names)
    who = f"{listed} {'were' if len(names) > 1 else 'was'}" if names else "An array in this line was"
    by = "given to a function that takes over the memory of its arguments (donate_argnums)"
    if len(donating) == 1:
        by += f", compiled at {donating[0].where}"
    if not donating:
        by = "given to a function that takes over the memory of its arguments, or deleted"
    same = f" `{alias[0]}` is another name for what `{alias[1]}` was at {alias[2].where}, and no copy." if alias else ""
    return create_found(
        failure,
        f"{who} {by}. Its values are gone.{same}",
        _actions(alias, names, bool(donating)),
        tuple(f"{maker.where}: {maker.code}" for maker in [*([alias[2]] if alias else []), *donating] if maker.code),
        alias[2].where if alias else None,
    )


def _find_alias(failure: Failure, names: list[str]) -> tuple[str, str, Maker] | None:
    """A deleted name that the program has given to the same array in an assignment of its own."""
    raised: UserLine | None = failure.raised
    for value in raised.values if raised is not None else ():
        maker = raised.find_maker(value) if raised is not None else None
        other = find_other_name(maker, value.name) if maker is not None else ""
        is_deleted = any(re.split(r"[\[.]", name)[0] == value.name for name in names)
        if maker is not None and other and is_deleted:
            return value.name, other, maker
    return None


def _actions(alias: tuple[str, str, Maker] | None, names: list[str], is_own: bool) -> tuple[str, ...]:
    if alias is not None:
        return (
            f"copy it at {alias[2].where}: {alias[0]} = jax.tree.map(jnp.copy, {alias[1]})",
            "or leave that argument out of donate_argnums",
        )
    copy = "or copy before the call what is used again: jax.tree.map(jnp.copy, …)"
    if not is_own:
        return ("look for what deletes it, delete(), or donates it: a trainer or another library may", copy)
    name = re.split(r"\[", names[0])[0] if names else "params"
    return (
        f"give the result of the call the name of what was donated, in each step: {name}, … = step({name}, …)",
        copy,
        "or leave that argument out of donate_argnums",
    )
