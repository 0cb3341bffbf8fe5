"""The program ended with an error that no narrower cause explains: the line that raised it, what it was given, and what it says.

What it is
----------
An exception went through the program and ended it, or the program caught one and ended itself with an exit code. Which fault
led to it is not known, so this says what is true of every error: the program's own line that raised it, how it was
called, the values in that line, the element that was being handled, and the message without what the frameworks wrap around it.

How we know
-----------
Unstall reads the traceback when the error is there: the lines of the program's own, and of each name in them the type, shape,
dtype, range or length, or a short text. For an error inside a layer, the line that made the layer is shown, and for one in a
`tf.data` set the line of the stage. An error that a generator, a worker process or a traced function raised is quoted in the
message, and told from there.

When this is wrong
------------------
If the error is only what came of another fault: a value may have been wrong long before the line that refused it. An error that
the program catches and goes on from is not reported, and neither are Ctrl-C, nor an exit code that the program gave itself
without an error.

What to do
----------
Compare the values with what the message asks for. Where the value of a name is not what you expect, look at the line that gave
it, which is shown too. Where one element of many fails, run the line with that element alone.
"""

from __future__ import annotations

import ast
import math
from dataclasses import replace

from unstall.diagnosis.errors.evidence import describe_insides, describe_line, list_lines
from unstall.diagnosis.errors.explanations import explain
from unstall.diagnosis.errors.failures import Failure, Maker, UserLine, Value, find_failure, parse_shapes
from unstall.diagnosis.errors.fatal_error import OF_CONTROL, find_own_exit, find_unseen_end
from unstall.diagnosis.errors.handled_element import describe_element
from unstall.diagnosis.errors.line_changes import replace_text
from unstall.diagnosis.pipelines import shorten_stage
from unstall.diagnosis.verdict import Certainty, Clear, Evidence, Found, LineChange, Verdict
from unstall.journal.events import FileMet, ProcessEnded, RunStarted
from unstall.journal.reader import Journal

IS_FALLBACK = True  # shown only where no other cause explains the end of the program
ON_ITS_WAY_S = 10.0  # an error ends a program within this time; until then, more may come to be known of it
MAX_CALLERS = 3
MIN_PLACES = 8  # of which each has a few, where two counts differ as two small numbers do
MAX_EACH = 32  # so many each of them may have


def examine(journal: Journal) -> Verdict:
    started, ended = journal.last(RunStarted), journal.last(ProcessEnded)
    if started is not None and started.mode == "train":
        return Clear("the trainer itself says why it ended")
    failure = find_failure(journal)
    if failure is None:
        return find_unseen_end(journal) or Clear("no error ended the program")
    if failure.error.kind in OF_CONTROL:
        return Clear("the program was interrupted, or ended itself")
    if ended is None and journal.now - failure.error.at < ON_ITS_WAY_S:
        return Clear("the error may still be handled")
    known = explain(failure)
    said, claims = _summary(journal, failure), _evidence(journal, failure)
    makers = [maker.where for maker in failure.makers if maker.what in ("called", "configuration") and maker.where]
    raised = failure.raised.where if failure.raised is not None else None
    if known is not None:
        said = f"{said} {known.said}"
        claims += [Evidence(claim, None, None, failure.events) for claim in known.claims]
    return Found(
        certainty=Certainty.CERTAIN,
        summary=said,
        evidence=tuple(claims),
        actions=tuple(_actions(failure)) if known is None or not (known.actions or known.changes) else known.actions,
        where=(known.where if known is not None else None) or next(iter(makers), None) or raised,
        changes=_with_names_given(failure) or (known.changes if known is not None else ()),
    )


def _summary(journal: Journal, failure: Failure) -> str:
    said = failure.text.line.rstrip()
    said = said if said.endswith((".", "!", "?", "…")) else f"{said}."
    exited = find_own_exit(journal)
    if failure.error.caught and exited is not None:
        at = f" at {shorten_stage(exited.where, failure.folder)}" if exited.where else ""
        said += f" The program caught this error and ended itself{at} with exit code {exited.exit_code}."
    raised = failure.raised
    if raised is None:
        return f"{said} No line of the program's own is in its traceback."
    verb = "The program itself raised it" if _is_own_check(raised) else "It was raised"
    element = describe_element(failure)
    handled = f" while {element} was handled" if element else ""
    restored = failure.maker("configuration")
    more = f"{_restoring(restored) if restored is not None else ''}{_of_ratio(failure)}"
    return f"{said} {verb} at {raised.place_in_words}{handled}{_through(failure)}.{more}"


def _through(failure: Failure) -> str:
    """Where the line that failed is not the one that made what failed."""
    called, layer = failure.maker("called"), failure.layer
    if called is not None:
        return f": {_call_of(called)}"
    if failure.maker("configuration") is not None:
        return ""
    if layer is not None and layer.where and _is_in_layer(failure):
        return f", in {layer.words}, which was made at {layer.where}"
    stage = _failed_stage(failure)
    return f", by .{stage.what} made at {stage.where}" if stage is not None and stage.where else ""


def _is_in_layer(failure: Failure) -> bool:
    """Whether the layer was being called: one of Keras may only be named in the message, as an input or by its weights."""
    layer, message = failure.layer, failure.error.message
    is_named = layer is not None and layer.name and layer.name in message
    return not is_named or "xception encountered when calling" in message or "incompatible with the layer" in message


def _call_of(called: Maker) -> str:
    """A function of the program's that a library calls with other arguments than it takes."""
    takes = ", ".join(called.facts["takes"]) or "no arguments"
    return f"`{called.name}` is the function at {called.where}, which takes ({takes}), and it is called by {called.facts['call']}"


def _names_given(called: Maker) -> list[str]:
    """What the call gives the function, where these are all names, and those that it takes are among them."""
    try:
        node = ast.parse(called.facts["call"]).body[0]
    except (SyntaxError, IndexError):
        return []
    call = getattr(node, "value", None)
    given = [getattr(each, "id", "") for each in call.args] if isinstance(call, ast.Call) and not call.keywords else []
    return given if all(given) and set(called.facts["takes"]) <= set(given) else []


def _with_names_given(failure: Failure) -> tuple[LineChange, ...]:
    """A lambda that takes too few of them, with all of them."""
    called = failure.maker("called")
    names = _names_given(called) if called is not None else []
    if called is None or not names or not called.where:
        return ()
    number = int(called.where.rpartition(":")[2])
    line = replace(called, source=called.source[number - called.first :][:1], first=number)
    change = replace_text(line, f"lambda {', '.join(called.facts['takes'])}:", f"lambda {', '.join(names)}:")
    return (change,) if change is not None else ()


def _restoring(maker: Maker) -> str:
    """A class that cannot be made again from what it says of itself."""
    names = " and ".join(f"`{name}`" for name in maker.facts["missing"]) or "an argument"
    if not maker.facts["has_own"]:
        return f" {maker.name}.__init__ at {maker.where} needs {names}, and the class has no get_config that tells it."
    return f" {maker.name}.__init__ needs {names}, which {maker.name}.get_config at {maker.where} does not give."


def _failed_stage(failure: Failure) -> Maker | None:
    """The stage that the message names by its iterator: Iterator::Root::Prefetch::BatchV2."""
    if "Iterator::" not in failure.error.message:
        return None
    named = failure.error.message.rpartition("Iterator::")[2].split()[0].rstrip(":.,]'\"")
    kind = named.rpartition("::")[2].partition("[")[0]
    return next((stage for stage in reversed(failure.stages) if stage.where and kind.startswith(stage.facts["name"][:5])), None)


def _evidence(journal: Journal, failure: Failure) -> list[Evidence]:
    events = failure.events
    rows: list[str] = []
    raised = failure.raised
    if raised is not None:
        rows.append(describe_line(raised))
        arrays = [value for value in raised.values if value.is_in_failing and value.is_array]
        rows += [_origin(value, raised) for value in arrays][:2]
        rows += describe_insides(arrays)[:2]
    rows += [f"{each.name}.get_config makes what it gives at {listed}" for each, listed in _configurations(failure)]
    callers = failure.lines[:-1][::-1][:MAX_CALLERS]
    rows += [f"called from {describe_line(line)}" for line in callers]
    if failure.layer is not None and failure.layer.where and failure.layer.code and not failure.maker("configuration"):
        rows.append(f"{failure.layer.words} was made at {failure.layer.where}: {failure.layer.code}")
    outputs = [maker for maker in failure.makers if maker.what == "output" and maker.where]
    rows += [f"the last layers of the model: {_listed(outputs)}"] if outputs else []
    stages = failure.written_stages
    rows += [f"the elements came through {_stages(stages)}"] if stages else []
    evidence = [Evidence(row, None, None, events) for row in rows if row]
    met = [event for event in journal.of(FileMet) if event.in_line or event.how == "read"]
    if met and not describe_element(failure):
        evidence.append(Evidence(f"the file at hand was {met[-1].path}", met[-1].path, None, (met[-1],)))
    return evidence or [Evidence(f"{failure.text.line}", None, None, events)]


def _listed(outputs: list[Maker]) -> str:
    """The last layers of a model, the last first, with the line of the one that has weights."""
    rows = [f"{each.name} ({each.facts['class']}) made at {each.where}" for each in outputs]
    return f"{', '.join(rows)}: {outputs[-1].code}"


def _of_ratio(failure: Failure) -> str:
    """Two shapes that differ in one side, where one has a few, and the other a few more, for each of many places."""
    shapes = parse_shapes(failure.text.message)
    if len(shapes) != 2 or len(shapes[0]) != len(shapes[1]):
        return ""
    pairs = [(a, b) for a, b in zip(*shapes, strict=True) if a is not None and b is not None and a != b]
    places = math.gcd(*pairs[0]) if len(pairs) == 1 else 0
    if places < MIN_PLACES or max(pairs[0]) // places > MAX_EACH or 1 in (pairs[0][0] // places, pairs[0][1] // places):
        return ""
    one, other = pairs[0]
    first, last = one // places, other // places
    return (
        f" {one:,} is {first} x {places:,}, and {other:,} is {last} x {places:,}: as if for each of {places:,} places, such as "
        f"cells, one side had {first} and the other {last}."
    )


def _configurations(failure: Failure) -> list[tuple[Maker, str]]:
    rows = [maker for maker in failure.makers if maker.what == "configuration" and maker.facts.get("lines")]
    return [(maker, list_lines(maker.facts["lines"], maker.folder)) for maker in rows]


def _origin(value: Value, line: UserLine) -> str:
    maker = line.find_maker(value)
    return f"`{value.name}` was given its value at {maker.where}: {maker.code}" if maker is not None else ""


def _stages(stages: tuple[Maker, ...]) -> str:
    return ", ".join(f"{stage.what} ({stage.where})" for stage in stages)


def _actions(failure: Failure) -> list[str]:
    raised, restored, called = failure.raised, failure.maker("configuration"), failure.maker("called")
    if restored is not None:
        names = ", ".join(restored.facts["missing"])
        rest = (
            f"let get_config at {restored.where} give" if restored.facts["has_own"] else f"give {restored.name} a get_config with"
        )
        return [
            f"{rest} {names}, and save the model again",
            f"or give {names} a default in {restored.name}.__init__, if every saved model has that value",
        ]
    if called is not None:
        arguments = _names_given(called)
        takes = f"({', '.join(arguments)})" if arguments else f"the arguments with which it is called: {called.facts['call']}"
        return [f"let the function at {called.where} take {takes}"]
    if raised is None:
        return ["read the whole traceback: it names the library that raised it, and what it was asked for"]
    rows = []
    if _of_ratio(failure):
        rows.append("let the labels and the outputs have the same number for each place: look where each of the two is made")
    elif _is_own_check(raised):
        rows.append(f"look at the condition for which {raised.where} raises this error, and at the values that led to it")
    elif raised.values or raised.arguments:
        rows.append(
            f"compare the values in {raised.where} with what the message asks for; correct the line, or the one that gave them"
        )
    else:
        rows.append(f"correct {raised.where}, or what it is given")
    if failure.layer is not None and failure.layer.where and _is_in_layer(failure):
        rows.append(f"or correct {failure.layer.words} at {failure.layer.where}")
    element = describe_element(failure)
    if element:
        rows.append(f"run the line with this element alone: {element}")
    return rows


def _is_own_check(line: UserLine) -> bool:
    return line.statement in ("Raise", "Assert") or line.code.startswith(("raise ", "assert "))
