"""The loss, or the weights, have become NaN or infinite: from that step on nothing is learned any more.

What it is
----------
One number that is not finite spreads through the loss into every gradient, and by one update into every weight. It comes from
an input or a label that is not a number, from a logarithm of 0, the root of a negative number or a division by 0 in the loss,
or from weights that have grown until they overflow (then that is the cause, and stands first).

How we know
-----------
The losses of the last steps are kept, so the first bad step is known. Then we look at what was fed, at the weights before and
after, and at the lines of your own loss. A NaN in a metric which is not the loss means nothing here. Neither does a step that
a loss scale leaves out: the loss must stay bad.
Where a loss or an operation raised an error since its numbers are out of range, the batch that it was given was looked at then.
Where a program that trains ends itself with an exit code, a variable of the function that does so may be a loss, by its name, and
be NaN or infinite: then that is why. A `best_loss` that begins as infinite is none.
Where no hook sees the loss, the lines that the program prints are read, as `unstall run` passes them on: a loss printed as NaN
several times in a row, while the steps go on, up to the last. A NaN before the first step, one that is followed by numbers, one
of a validation or a metric, and lines that come all at once, as those of a file that is shown, say nothing.

When this is wrong
------------------
If the loss is allowed to be infinite, and you handle that yourself. If what is printed is the loss of another program.

What to do
----------
Take the bad rows out of the data, or fill them. Put a floor under every logarithm, root and division: `log(maximum(x,
1e-7))`. On TensorFlow, `tf.debugging.enable_check_numerics()` stops at the operation that makes the first one.
"""

from __future__ import annotations

import re
from typing import Any

from unstall.diagnosis.batches import BatchArray, collect_batch_arrays, describe_bad_rows, find_failed_batch
from unstall.diagnosis.errors.fatal_error import find_own_exit, find_user_line, get_error_text
from unstall.diagnosis.learning_curve import (
    LearningCurve,
    find_current_not_finite,
    find_ruined_weights,
    format_number,
    read_current_curve,
    shorten_name,
)
from unstall.diagnosis.pipelines import find_last_function
from unstall.diagnosis.printed_output import FRAMEWORK_STYLES, PrintedNotFinite, find_not_finite, is_loss_hooked
from unstall.diagnosis.probe_facts import find_missing_probe, format_list, shorten_path
from unstall.diagnosis.verdict import Certainty, Clear, Effect, Evidence, Found, Unknown, Verdict
from unstall.journal.events import ErrorRaised, LossPrinted, StepsEnded
from unstall.journal.reader import Journal
from unstall.journal.stack_frames import find_program_folder

EXPLAINS = ("weights_frozen", "loss_not_falling", "units_dead", "gradients_vanishing", "gradients_disconnected")


_CHECKED = re.compile(
    r"Tensor had (NaN|Inf|-Inf)|detected by CheckNumerics|contains Inf|invalid value \((nan|inf)\) encountered"
    r"|returned nan values in its|^NaN loss during training|^Nan in summary histogram for\b"
    r"|\b[Ll]oss(?: value)? (?:is|was|became|=) ?(?:NaN|nan|-?inf)\b|\bNaN persisted\b|\bdiverged with loss = (?:NaN|nan)\b"
)
_STOPS = {
    "tensorflow": "tf.debugging.enable_check_numerics()",
    "jax": 'jax.config.update("jax_debug_nans", True)',
    "torch": "torch.autograd.set_detect_anomaly(True)",
}


_IN_HALF = (  # float16 ends at 65,504
    'if it overflows in float16: give that layer dtype="float32", an exp or a norm of your own above all',
    'or compute in bfloat16, which has the range of float32: set_global_policy("mixed_bfloat16")',
)


_CLEAN = (
    "find the bad rows with numpy.isfinite, and fill them or leave them out",
    "look for a division by 0 in your preprocessing, such as a standard deviation of 0",
)

_FIND = (
    "find out where they come from: look at the inputs of that batch first, with isfinite, then at what the model makes of them",
    *_CLEAN,
)
_DIVERGED = (
    "try a tenth of the learning rate, and clip the gradients",
    "look for a logarithm, root or division without a floor in the model",
)


def examine(journal: Journal) -> Verdict:
    unseen = find_missing_probe(journal)
    crash = (_crash(journal) or _refused(journal) or _own_check(journal)) if unseen is None else None
    if crash is not None:
        return crash
    printed = None if is_loss_hooked(journal) else find_not_finite(journal)
    if printed is not None:
        return _printed(printed)
    if unseen is not None:
        return unseen
    run = read_current_curve(journal)
    if run is None:
        return Clear("no training was seen")
    if not find_current_not_finite(run):
        return Clear("the loss is finite")
    bad_inputs = [each for each in collect_batch_arrays(run, "x") if each.not_finite]
    why, line, do = _why(run, bad_inputs)
    if run.model.get("loss_scaled") and not find_ruined_weights(run) and not bad_inputs:
        steps = run.samples[-1].facts["window"]
        why += f" The loss scale leaves out such a step, and no weight that was looked at has changed in {steps:,} steps."
        do = (*_IN_HALF, *do)
    when = _when(run)
    return Found(
        certainty=Certainty.CERTAIN,
        summary=f"{when}. {why}",
        evidence=_evidence(run, bad_inputs, when),
        actions=do,
        where=shorten_path(journal, line),
        effect=Effect.SPOILS,
    )


def _printed(seen: PrintedNotFinite) -> Found | Unknown:
    """What the program says itself, where no hook sees the loss."""
    first, last = seen.events[0], seen.events[-1]
    if not seen.is_sure:
        return Unknown(
            f"whether the loss printed as not finite is that of this training: {last.line!r}",
            "let it print each line at once: PYTHONUNBUFFERED=1",
        )
    what = "NaN" if "nan" in last.line.lower() else "infinite"
    known = FRAMEWORK_STYLES.get(last.style) if seen.outlasts_epoch else None
    before = f", after {format_number(seen.before.mean)} before" if seen.before is not None and seen.before.mean else ""
    evidence = [Evidence(f"it printed: {last.line}", None, None, (last,))]
    if first.line != last.line:
        evidence.append(Evidence(f"the first such line: {first.line}", None, None, (first,)))
    evidence.append(Evidence(f"{seen.readings:,} such lines in a row, and none after them", seen.readings, 0, seen.events))
    return Found(
        certainty=Certainty.CERTAIN if known else Certainty.LIKELY,
        summary=f"The loss is {what}{_place(first)}{before}, as the program prints it. Where it comes from was not seen.",
        evidence=tuple(evidence),
        actions=(*_FIND, "try a tenth of the learning rate"),
        effect=Effect.SPOILS,
    )


def _place(event: LossPrinted) -> str:
    epoch = f" of epoch {event.epoch:g}" if event.epoch is not None else ""
    if event.step is not None:
        return f" since step {event.step:,}{epoch}, or shortly before"
    return f" since{epoch[3:]}" if epoch else ""


def _crash(journal: Journal) -> Found | None:
    """The program asked its framework to stop at the first such number, and it did."""
    for error in journal.of(ErrorRaised):
        match = _CHECKED.search(error.message) if error.fatal else None
        if match is None:
            continue
        said = error.message[match.start() :].splitlines()[0][:200]
        return Found(
            certainty=Certainty.CERTAIN,
            summary="A number that is not finite came up, and the program's own check for that ended it.",
            evidence=(Evidence(f"{error.kind.split('.')[-1]}: {said}", None, None, (error,)),),
            actions=(
                "look at the operation that the error names: a logarithm, root or division without a floor, or a bad input",
            ),
            where=find_user_line(error, find_program_folder(journal)),
            effect=Effect.STOPS,
        )
    return None


def _own_check(journal: Journal) -> Found | None:
    """The program ended itself with an exit code at a line whose function held such a loss."""
    exited = find_own_exit(journal)
    if exited is None or not exited.not_finite or journal.first(StepsEnded) is None:
        return None
    name, _, value = exited.not_finite[0].partition(" = ")
    return Found(
        certainty=Certainty.CERTAIN,
        summary=f"The loss is {'NaN' if value == 'nan' else 'infinite'} (`{name}`), and the program ended itself at that."
        " Where it comes from was not seen.",
        evidence=(
            Evidence(f"it called sys.exit with {exited.exit_code} where {', '.join(exited.not_finite)}", value, None, (exited,)),
        ),
        actions=(*_DIVERGED, *_FIND[:1]),
        where=shorten_path(journal, exited.where),
        effect=Effect.STOPS,
    )


def _refused(journal: Journal) -> Found | None:
    """A loss or an operation raised, since what it was given is not finite; the batch was looked at."""
    refused = find_failed_batch(journal)
    if refused is None or refused.bad("y"):
        return None  # what labels hold is a cause of its own
    inputs, variables, given = refused.bad("x"), refused.bad("variable"), refused.bad("argument")
    error_line = get_error_text(refused.error).line
    finite = [facts for facts in refused.of("x") if not facts.get("not_finite")]
    evidence = [Evidence(f"the error that ended it: {error_line}", None, None, (refused.error,))]
    evidence += [
        Evidence(
            f"numbers that are not finite in {_named_array(facts)}: {describe_bad_rows(facts)}",
            facts["not_finite"],
            0,
            (refused.looked,),
        )
        for facts in [*inputs, *given, *variables]
    ]
    do = _CLEAN if inputs else _FIND
    if inputs or variables:
        what = "The inputs of the batch hold" if inputs else f"`{variables[0]['name']}` in the line that failed holds"
        why = (
            f"{what} numbers which are not finite ({describe_bad_rows((inputs or variables)[0])}). The step ended with an error."
        )
    elif given and finite:
        why = (
            "For finite inputs the loss was given numbers which are not finite "
            f"({describe_bad_rows(given[0])}), and raised an error."
        )
        evidence.append(Evidence("all inputs of the batch are finite", 0, 0, (refused.looked,)))
        do = _DIVERGED
    elif given:
        why = (
            f"`{given[0]['name']}` of the operation that raised the error holds numbers which are not finite "
            f"({describe_bad_rows(given[0])})."
        )
    else:
        return None
    return Found(
        certainty=Certainty.CERTAIN if inputs or given else Certainty.LIKELY,
        summary=why,
        evidence=tuple(evidence),
        actions=do,
        where=find_user_line(refused.error, find_program_folder(journal)),
        effect=Effect.STOPS,
    )


def _named_array(facts: dict[str, Any]) -> str:
    if facts["role"] == "x":
        return f"the inputs '{facts['name']}' of the batch" if facts["name"] else "the inputs of the batch"
    return f"`{facts['name']}`, which the operation was given" if facts["role"] == "argument" else f"`{facts['name']}`"


def _when(run: LearningCurve) -> str:
    ruined = find_ruined_weights(run)
    if run.broke is None:
        names = format_list([shorten_name(weight) for weight in ruined])
        since = f"since step {run.samples[-1].step - 1:,} or before"
        return f"The weights of {names} are not finite {since}, and no loss was seen that is not finite"
    seen = run.broke.facts
    what = "NaN" if seen["value"] == "nan" else "infinite"
    since = "since" if seen["exact"] else "at the latest since"
    before = f", after {format_number(seen['last_loss'])} in step {seen['last_step']:,}" if seen["last_loss"] is not None else ""
    return f"The loss is {what} {since} step {seen['step']:,}{before}"


def _why(run: LearningCurve, bad_inputs: list[BatchArray]) -> tuple[str, str | None, tuple[str, ...]]:
    """(in words, the user's line, what to do)"""
    stop = "stop at the first bad operation: " + _STOPS.get(run.fit.backend, _STOPS["tensorflow"])
    if bad_inputs:
        bad = bad_inputs[0]
        at = f": row {bad.bad_row:,}" if bad.bad_row is not None else ""
        made = find_last_function(run.journal)
        by = f"; they come out of {made[0]} at {made[1]}" if made else ""
        return (
            f"The {bad.label} hold numbers which are not finite{at}{by}.",
            run.fit.where,
            _CLEAN,
        )
    has_looked = bool(collect_batch_arrays(run, "x"))
    inputs = "The inputs that were looked at are finite" if has_looked else "The inputs were not looked at"
    places = run.model.get("risky") or []
    if places:
        first = places[0]
        return (
            f"{inputs}. {first['what'].capitalize()} at {shorten_path(run.journal, first['where'])} has no floor under it.",
            first["where"],
            ("put a floor under it: log(maximum(x, 1e-7)), sqrt(maximum(x, 1e-7)), x / maximum(count, 1)", stop),
        )
    own = next((loss.get("where") for loss in run.model.get("losses") or [] if loss.get("where")), None)
    nearest = own or run.model.get("asked_at") or run.fit.where
    look = () if has_looked else ("see that the inputs are finite: numpy.isfinite",)
    return (
        f"{inputs}; where it comes from was not seen.",
        nearest,
        (stop, *look, "try a tenth of the learning rate"),
    )


def _evidence(run: LearningCurve, bad_inputs: list[BatchArray], when: str) -> tuple[Evidence, ...]:
    event = run.broke if run.broke is not None else run.samples[-1]
    evidence = [Evidence(when[0].lower() + when[1:], None, None, (event,))]
    for bad in bad_inputs:
        at = f", row {bad.bad_row:,} first" if bad.bad_row is not None else ""
        evidence.append(Evidence(f"{bad.bad}{at}", bad.not_finite, 0, tuple(bad.events[:1])))
    good = [sample for sample in run.samples if not any(weight.get("not_finite") for weight in sample.facts["weights"])]
    ruined = find_ruined_weights(run)
    if ruined:
        names = format_list([shorten_name(weight) for weight in ruined])
        count = f"{len(ruined)} of {len(run.samples[-1].facts['weights'])}"
        evidence.append(
            Evidence(f"{count} weights that were looked at are not finite: {names}", len(ruined), 0, (run.samples[-1],))
        )
    if good and ruined:
        largest = max((weight for weight in good[-1].facts["weights"]), key=lambda weight: weight.get("rms") or 0.0)
        claim = (
            f"after step {good[-1].step:,} they were still finite, {shorten_name(largest)} the largest with "
            f"{format_number(largest['rms'])}"
        )
        evidence.append(Evidence(claim, largest["rms"], None, (good[-1],)))
    described = run.model_event
    if described is not None and not bad_inputs:
        for line in (run.model.get("risky") or [])[:2]:
            claim = f"{line['what']} without a floor at {shorten_path(run.journal, line['where'])}"
            evidence.append(Evidence(claim, None, None, (described,)))
    return tuple(evidence)
