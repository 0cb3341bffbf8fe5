"""Two nested structures that JAX goes through together differ: in their keys, lengths or types.

What it is
----------
`jax.tree.map` and the optimizers built on it take several trees of arrays (dictionaries, lists, tuples, classes) and expect the
same structure of all. `scan`, `while_loop` and `fori_loop` expect it of what a step takes and gives back, `cond` of its branches.
A list is not a tuple here, and a missing key or None is a difference.

How we know
-----------
JAX says where the structures differ, and in what: keys, lengths or types.

When this is wrong
------------------
If one of the trees was to be a prefix of the other (as `in_axes` may be): then it must end where it is to hold for all below.

What to do
----------
Make the second tree from the first: `jax.tree.map(jnp.zeros_like, params)`. Compare them by `jax.tree.structure(tree)`. After
a change of the model make the state of the optimizer anew.
"""

from __future__ import annotations

import re

from unstall.diagnosis.errors.evidence import describe_failure, describe_outer_makers
from unstall.diagnosis.errors.failures import Failure, find_failure
from unstall.diagnosis.errors.fatal_error import find_unseen_end
from unstall.diagnosis.verdict import Certainty, Clear, Found, Verdict
from unstall.journal.reader import Journal

# JAX from 0.4 on; before that the words of its own tree functions.
_AT_PATH = re.compile(
    r"pytree structure error: (?P<what>[^\n]*?)(?: at key path\s*\n\s*(?P<path>[^\n]+))?\n(?P<rest>.*)", re.DOTALL
)
_LOOPED = re.compile(r"(?P<what>[^\n]*?) must have (?:the )?same (?:pytree|type) structure(?P<rest>.*)", re.DOTALL)
_KEYS = re.compile(
    r"(?:with \d+ child keys?|with keys)\s*\n\s*(?P<first>[^\n]*)\n"
    r".*?(?:child keys?|with keys)\s*\n\s*(?P<second>[^\n]*)",
    re.DOTALL,
)
_DIFFERENCE = re.compile(r"symmetric difference on key sets is\s*\n\s*(?P<keys>[^\n]+)")
_TYPES = re.compile(r"<class '(?P<first>[^']+)'>.*?<class '(?P<second>[^']+)'>", re.DOTALL)
_LENGTHS = re.compile(r"of type (?P<type>\w+) of length (?P<first>\d+)\b.*?of length (?P<second>\d+)", re.DOTALL)
_SENTENCE = re.compile(
    r"^(?P<said>[^\n]*?(?:do not match|so their Python types differ|so the[^\n]*differ)[^\n]*?)\.?\s*$", re.MULTILINE
)
_GOT = re.compile(r"got (?P<first>PyTreeDef\(.*?\)) and (?P<second>PyTreeDef\(.*\))")
_BRACKETS = {"(": "tuple", "[": "list", "{": "dict", "N": "None"}
_AXES = re.compile(r"in_axes specification must be a tree prefix[^\n]*?(?P<got>got specification [^\n]*)?$", re.MULTILINE)
_OLD = re.compile(
    r"(?P<said>Dict key mismatch; expected keys: \[[^\]]*\]|(?:List|Tuple) arity mismatch: \d+ != \d+"
    r"|Custom node type mismatch: expected type: [^,\n]*|Expected (?P<wanted>dict|list|tuple|None), got (?P<bracket>[^\n]))"
)
MAX_NAMES = 4  # that a sentence lists
_OF_JAX = "/jax/"
_CLASS, _NAME = re.compile(r"<class '([^']+)'>"), r"\1"


def examine(journal: Journal) -> Verdict:
    failure = find_failure(journal)
    if failure is None:
        return find_unseen_end(journal) or Clear("no error ended the program")
    if not _is_of_jax(failure):
        return Clear("the error is about something else")
    message = failure.error.message
    at_path, looped, old = _AT_PATH.search(message), _LOOPED.search(message), _OLD.search(message)
    axes = _AXES.search(message)
    if at_path is not None:
        summary, actions = _of_trees(message, at_path)
    elif looped is not None:
        summary, actions = _of_loop(looped)
    elif old is not None:
        is_type = old["wanted"] is not None
        said = (
            f"a {old['wanted']} is expected, and a {_BRACKETS.get(old['bracket'], 'leaf')} is there" if is_type else old["said"]
        )
        summary, actions = f"Two trees that go through one function differ: {said}.", _ACTIONS
    elif axes is not None and axes["got"]:
        summary, actions = (
            f"The tree that tells vmap the axes does not fit the argument: {axes['got'].rstrip('.')}.",
            _AXES_ACTIONS,
        )
    else:
        return Clear("the error is about something else")
    return Found(
        certainty=Certainty.CERTAIN,
        summary=summary,
        evidence=describe_failure(failure, *describe_outer_makers(failure)),
        actions=actions,
        where=failure.raised.where if failure.raised is not None else None,
    )


_ACTIONS = (
    "make one tree from the other, so that they are alike: jax.tree.map(jnp.zeros_like, params)",
    "where one is the state of an optimizer: make it anew by its init function after the model has changed",
    "compare both: jax.tree.structure(a), jax.tree.structure(b)",
)


_AXES_ACTIONS = ("give one number for the whole argument, or a tree with the very keys of the argument: in_axes={…}",)


def _is_of_jax(failure: Failure) -> bool:
    """By its functions; JAX may have taken them out of the traceback, and then says so or has its own word for trees."""
    return any(_OF_JAX in frame["file"] for frame in failure.error.frames) or "pytree" in failure.error.message.lower()


def _of_trees(message: str, match: re.Match[str]) -> tuple[str, tuple[str, ...]]:
    path = re.sub(r"\A(?:tree_map tree|vmap in_axes|in_axes|[a-z_]+ tree)", "", (match["path"] or "").strip())
    at = f" at {path}" if path else ""
    rest = match["rest"]
    if "in_axes" in message:
        return (
            f"The tree that tells vmap the axes does not fit the argument{at}: {_describe_difference(match['what'], rest)}.",
            _AXES_ACTIONS,
        )
    return f"The trees that go through one function differ{at}: {_describe_difference(match['what'], rest)}.", _ACTIONS


def _describe_difference(what: str, rest: str) -> str:
    lengths, types, keys, difference = _LENGTHS.search(rest), _TYPES.search(rest), _KEYS.search(rest), _DIFFERENCE.search(rest)
    if lengths is not None:
        first, second = lengths["first"], lengths["second"]
        return f"the first has a {lengths['type']} of length {first} there, and the other one of length {second}"
    if keys is not None and difference is not None:
        names, others = set(keys["first"].split()), set(keys["second"].split())
        rows = [("the first", names - others), ("the other", others - names)]
        said = ", and ".join(f"only {which} has {_listed(only)}" for which, only in rows if only)
        return said or f"only one of them has {_listed(set(difference[1].split()))}"
    if types is not None:
        return f"the first has a {types['first']} there, and the other a {types['second']}"
    return what


def _of_loop(match: re.Match[str]) -> tuple[str, tuple[str, ...]]:
    what = match["what"].strip()
    said = _SENTENCE.search(match["rest"])
    old = _GOT.search(match["rest"])
    differs = f" They are {old['first']} and {old['second']}." if old is not None else ""
    differs = differs if said is None else f" {_CLASS.sub(_NAME, said['said'].strip())}."
    if "branch" in what or "true_fun" in what:
        return (
            f"The branches of cond give back different structures.{differs}",
            ("let both branches return the same: the same keys, as many parts, and tuples or lists alike",),
        )
    loop = "while_loop" if what.startswith("body_fun") else what.partition(" ")[0]
    return (
        f"The function that {loop} repeats does not give back the carry in the structure in which it takes it.{differs}",
        (
            "let the function return its first argument's structure: as many parts in the same order, the same keys",
            "and what it gives besides in the second part, as scan stacks it: return carry, out"
            if loop == "scan"
            else "or begin with a carry that has all parts",
        ),
    )


def _listed(names: set[str]) -> str:
    shown = ", ".join(f"`{name}`" for name in sorted(names)[:MAX_NAMES])
    return f"the key{'s' if len(names) > 1 else ''} {shown}{', …' if len(names) > MAX_NAMES else ''}"
