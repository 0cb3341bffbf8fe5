"""Variables of a model, an optimizer or a metric were made outside the scope of the distribution strategy that is to train them.

What it is
----------
Under `tf.distribute`, a variable must exist on each device, and it does only if it is made under `with strategy.scope():`. A
model that is built before the scope, or an optimizer that makes its variables after it, has ordinary variables, which the
strategy cannot update. What is made under one strategy cannot be used under another.

How we know
-----------
TensorFlow or Keras refuses the variable by the name of the scope, or fails in the update of a strategy on a variable that is none
of its own. The lines that made the model are shown.

When this is wrong
------------------
If the program meant to train on one device: then the strategy and its scope can go.

What to do
----------
Build the model, its optimizer and its metrics, and compile it, all inside the same `with strategy.scope():`.
"""

from __future__ import annotations

import re

from unstall.diagnosis.errors.evidence import describe_failure
from unstall.diagnosis.errors.failures import Failure, Maker, find_failure
from unstall.diagnosis.errors.fatal_error import find_unseen_end
from unstall.diagnosis.verdict import Certainty, Clear, Found, Verdict
from unstall.journal.reader import Journal

_OUTSIDE = re.compile(r"Need to be inside \"with strategy\.scope\(\)\" for|was not created in the distribution strategy scope")
_MIXED = re.compile(r"Mixing different tf\.distribute\.Strategy objects")
_NAMED = re.compile(r"[Vv]ariable \(<tf\.Variable '(?P<name>[^']+)'")
_STRATEGY = re.compile(r"(?P<name>\w+Strategy)\w*(?: object at|V\d object at)")
_BUILT = ("Sequential", "Functional", "Model", "Optimizer", "SGD", "Adam", "AdamW", "RMSprop", "ResourceVariable", "Variable")
_UPDATE = "extended.update("


def examine(journal: Journal) -> Verdict:
    failure = find_failure(journal)
    if failure is None:
        return find_unseen_end(journal) or Clear("no error ended the program")
    message = failure.error.message
    is_mixed = _MIXED.search(message) is not None
    if not (is_mixed or _OUTSIDE.search(message) or _is_refused_update(failure)):
        return Clear("the error is not about the scope of a strategy")
    strategy, named, made = _STRATEGY.search(message), _NAMED.search(message), _find_makers(failure)
    of = strategy["name"] if strategy is not None else "the strategy"
    name = f" (`{named['name']}` is one)" if named is not None else ""
    if is_mixed:
        said = "What was made under one distribution strategy is used under another."
        fix = "use one strategy object for all of it: build, compile and train under the same `with strategy.scope():`"
    else:
        said = f"Variables{name} were made outside the scope of {of}, which therefore cannot update them on its devices."
        fix = "build the model and its optimizer, and compile it, all inside `with strategy.scope():`"
    places = " and ".join(f"`{maker.name}` at {maker.where}" for maker in made)
    listed = f" The program makes {places}." if places else ""
    advice = (f"begin with {made[0].where}: move it under `with strategy.scope():`",) if made and not is_mixed else ()
    return Found(
        certainty=Certainty.CERTAIN,
        summary=f"{said}{listed}",
        evidence=describe_failure(failure, *(f"{maker.where}: {maker.code}" for maker in made)),
        actions=(fix, *advice),
        where=_find_place(failure, made, named is not None),
    )


def _find_place(failure: Failure, made: list[Maker], is_named: bool) -> str | None:
    """Where it is known what was made outside: by the name of a variable, or since there is only one thing that has any."""
    if len(made) == 1:
        return made[0].where
    if is_named and failure.layer is not None and failure.layer.where:
        return failure.layer.where
    return failure.raised.where if failure.raised is not None else None


def _is_refused_update(failure: Failure) -> bool:
    """The update of a strategy, which asserts that the variable is one of its own and says nothing."""
    if failure.error.kind != "AssertionError":
        return False
    inner = failure.error.frames[:2]
    in_strategy = any("/tensorflow/python/distribute/" in frame["file"] and "update" in frame["function"] for frame in inner)
    lines = [line.strip() for line in failure.error.message.strip().splitlines() if line.strip()]
    return in_strategy or (len(lines) > 1 and lines[-1] in ("AssertionError", "AssertionError:") and _UPDATE in lines[-2])


def _find_makers(failure: Failure) -> list[Maker]:
    """The lines that made what has variables, of the values of the program's failing line; else that of the layer."""
    raised = failure.raised
    found = []
    for value in (*raised.values, *raised.arguments) if raised is not None else ():
        kind = str(value.facts.get("type", "")).rpartition(".")[2]
        maker = raised.find_maker(value) if raised is not None else None
        if kind in _BUILT and maker is not None:
            found.append(maker)
    if not found and failure.layer is not None and failure.layer.where:
        return [failure.layer]
    return found[:2]
