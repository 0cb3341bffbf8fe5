"""The loss has no gradient with respect to weights that should be trained, so they never learn.

What it is
----------
Somewhere between the weights and the loss the gradient is lost: by an operation that has none (argmax, round, a comparison), by
leaving the framework (`numpy()`), by `stop_gradient` or `detach`, or because the loss was computed after the tape had closed. If
it is lost for all weights, the optimizer refuses ("No gradients provided for any variable"). If for some, these stay as they are.

How we know
-----------
The gradients that the step asks for are looked at: they are None, or on JAX constants of zero. The compiled step is then
followed from the loss to the weights, to see that the loss does depend on them, and what cuts the gradient off. Weights on
which the loss does not depend (a head that is not in use) are left alone unless they are most of the model, and so are weights
that change all the same.

When this is wrong
------------------
If a part is kept from learning on purpose by `stop_gradient`, and its weights were left trainable.

What to do
----------
Replace what cuts the gradient by something smooth (softmax for argmax, the value itself for its rounding), keep the computation
inside the framework and inside the tape. Set `trainable = False` for what is not to learn.
"""

from __future__ import annotations

from unstall.diagnosis.errors.fatal_error import find_user_line, get_error_text
from unstall.diagnosis.probe_facts import find_missing_probe, format_list, read_facts, shorten_path
from unstall.diagnosis.verdict import Certainty, Clear, Effect, Evidence, Found, Verdict
from unstall.journal.events import ErrorRaised, GradientsMissed, LoopSeen
from unstall.journal.reader import Journal
from unstall.journal.stack_frames import find_program_folder

EXPLAINS = ("weights_frozen", "loss_not_falling", "gradients_vanishing", "learning_rate_too_low", "units_dead")
MIN_STEPS = 20  # that weights without a gradient must have stayed the same
MIN_SHARE_UNUSED = 0.5  # of the parameters, where the loss does not depend on them at all: a small part may be a spare head
MIN_SHARE_UNREAD = 0.5  # of the parameters, where the step leaves no graph that shows what the loss depends on

_ERRORS = ("No gradients provided for any variable", "does not require grad and does not have a grad_fn")


def examine(journal: Journal) -> Verdict:
    unseen = find_missing_probe(journal)
    if unseen is not None:
        return unseen
    events = journal.of(GradientsMissed)
    error = next(
        (event for event in journal.of(ErrorRaised) if event.fatal and any(text in event.message for text in _ERRORS)), None
    )
    if error is not None:
        return _found_by_error(journal, error, events[-1] if events else None)
    for event in reversed(events):
        verdict = _judge(journal, event)
        if verdict is not None:
            return verdict
    return Clear("every weight that the loss depends on has a gradient")


def _judge(journal: Journal, event: GradientsMissed) -> Found | None:
    changed, unchanged, sample = _sampled(journal, event)
    nothing = event.missing_parameters >= event.parameters
    share = event.missing_parameters / max(1, event.parameters)
    unused = event.feeding == []
    if changed or (unused and share < MIN_SHARE_UNUSED):
        return None
    if not nothing and event.feeding is None and (share < MIN_SHARE_UNREAD or event.cut_at is None):
        return None
    if sample is None or not unchanged or sample.facts["step"] < MIN_STEPS:
        return None
    still = Evidence(
        f"{format_list(unchanged)}: not one bit has changed in {sample.facts['step']:,} steps",
        sample.facts["step"],
        MIN_STEPS,
        (sample,),
    )
    certainty = Certainty.POSSIBLE if unused and not nothing else Certainty.CERTAIN if nothing else Certainty.LIKELY
    return _found(journal, event, certainty, still, are_still=True)


def _sampled(journal: Journal, event: GradientsMissed) -> tuple[list[str], list[str], LoopSeen | None]:
    """Of the weights without a gradient: those that changed all the same, those that did not, and the last look at them."""
    missing = set(event.missing)
    samples = [seen for seen in read_facts(journal, "weights") if missing & {*seen.facts["changed"], *seen.facts["unchanged"]}]
    if not samples:
        return [], [], None
    last = samples[-1]
    changed = sorted({name for seen in samples for name in seen.facts["changed"] if name in missing})
    return changed, [name for name in last.facts["unchanged"] if name in missing], last


def _found_by_error(journal: Journal, error: ErrorRaised, event: GradientsMissed | None) -> Found:
    result = Evidence(f"the program ended with: {get_error_text(error).line}", None, None, (error,))
    if event is not None:
        return _found(journal, event, Certainty.CERTAIN, result, are_still=False)
    read = [seen for seen in read_facts(journal, "trainable") if seen.facts.get("loss_cut_at")]
    place = shorten_path(journal, read[-1].facts["loss_cut_at"]) if read else None
    evidence = [result]
    if read:
        evidence.append(Evidence(f"your loss calls {read[-1].facts['loss_cut_by']} at {place}", None, None, (read[-1],)))
    by = f" Your loss calls {read[-1].facts['loss_cut_by']} at {place}." if read else ""
    return Found(
        certainty=Certainty.CERTAIN,
        summary=f"The loss has no gradient: it does not depend on any weight in a way that can be differentiated.{by}",
        evidence=tuple(evidence),
        actions=_action(read[-1].facts["loss_cut_by"] if read else ""),
        where=place or find_user_line(error, find_program_folder(journal)),
        effect=Effect.STOPS,
    )


def _found(journal: Journal, event: GradientsMissed, certainty: Certainty, more: Evidence, are_still: bool) -> Found:
    names = event.feeding or event.missing
    nothing = event.missing_parameters >= event.parameters
    who = (
        f"None of the {event.total} weights has a gradient."
        if nothing
        else f"{format_list(names)} {'has' if len(names) == 1 else 'have'} no gradient."
    )
    place = shorten_path(journal, event.cut_at)
    asked = shorten_path(journal, event.where)
    cut = _cut_words(event.cut_by, place) if place else " The loss does not depend on them." if event.feeding == [] else ""
    share = event.missing_parameters / max(1, event.parameters)
    claim = f"{event.missing_parameters:,} of {event.parameters:,} parameters ({share * 100:.0f} %) get no gradient"
    evidence = [Evidence(claim + (f", asked for at {asked}" if asked else ""), share, None, (event,))]
    if event.feeding:
        evidence.append(
            Evidence(
                "the loss does depend on them: the way from them to the loss was followed", len(event.feeding), None, (event,)
            )
        )
    never = " Nothing can be learned." if nothing else " They stay as they were at the start." if are_still else ""
    return Found(
        certainty=certainty,
        summary=f"{who}{cut}{never}",
        evidence=(*evidence, more),
        actions=_action(event.cut_by),
        where=place or asked,
        effect=Effect.STOPS if nothing else Effect.SPOILS,
    )


def _cut_words(by: str, place: str) -> str:
    if by == "computed outside the tape":
        return f" The loss is computed at {place}, after the tape has closed."
    return f" The gradient is lost at {place}: {by} has none." if by else f" The gradient is lost at {place}."


def _action(by: str) -> tuple[str, ...]:
    lowered = by.lower()
    if by == "computed outside the tape":
        return ("compute the loss inside the `with tf.GradientTape()` block",)
    if "numpy" in lowered or lowered.startswith("np.") or "item" in lowered or "pyfunc" in lowered:
        return ("keep the computation in the framework's own operations; do not go through NumPy before the loss",)
    if "stop" in lowered or "detach" in lowered or "no_grad" in lowered:
        return (f"take {by} out, if these weights are to learn", "if they are not, set trainable = False on their layers")
    if lowered.startswith("arg"):
        return ("compute the loss from the probabilities themselves (cross-entropy), and use argmax in a metric only",)
    if lowered in {"round", "rint", "floor", "ceil", "sign"}:
        return ("leave the rounding out of the loss; round in a metric only",)
    return ("use operations that have a gradient between the weights and the loss",)
