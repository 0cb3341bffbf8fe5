"""A compiled function is traced again and again, and the tracing takes the time.

What it is
----------
A `tf.function` is compiled for each new kind of argument: a tensor of a new shape, or a new value of a Python number. Made anew
inside the loop, it starts from nothing each time. Tracing costs a hundred times what the call itself does, and each trace
stays in memory. On JAX the same happens with `jit`, which compiles for each new shape and each new value of a static argument.

How we know
-----------
Traces are counted where they are made, with the time that each takes, and compared with the calls. A few traces at the
beginning are normal (training and validation, a short last batch, some lengths to pad to): nothing is said unless they go on, at
most calls, and take a good part of the time.

When this is wrong
------------------
If the shapes are many but finite, it ends by itself when all have been seen: the verdict is then taken back.

What to do
----------
Give the function tensors instead of Python numbers (`tf.constant(step)`), pad batches to a few lengths or give it an
`input_signature` with `None` for what varies, and make it once, outside the loop.
"""

from __future__ import annotations

from unstall.diagnosis.probe_facts import find_missing_probe, shorten_path
from unstall.diagnosis.verdict import Certainty, Clear, Effect, Evidence, Found, Verdict
from unstall.journal.events import FitBegan, FunctionTraced
from unstall.journal.reader import Journal

EXPLAINS = ("compiling_long", "eager_execution", "input_starved", "device_unused")
MIN_TRACES = 40  # of one function, before anything is said
MIN_SLOW_TRACES = 20  # the same, where they have taken MIN_SLOW_SECONDS and most of the time
MIN_SLOW_SECONDS = 15.0
MIN_SLOW_SHARE = 0.6
MIN_SECONDS = 8.0  # between its first trace and its last
CALLS_PER_TRACE = 3.0  # at most so many calls for each trace, over all and lately
MIN_SHARE = 0.3  # of the time since the first trace that went into tracing
LATELY = 10  # events looked at to see whether it still goes on
OVER_AFTER_S = 20.0  # without a trace for so long it is over


def examine(journal: Journal) -> Verdict:
    unseen = find_missing_probe(journal)
    if unseen is not None:
        return unseen
    by_function: dict[tuple[str, str | None], list[FunctionTraced]] = {}
    for event in journal.of(FunctionTraced):
        by_function.setdefault((event.function, event.where), []).append(event)
    candidates = [(share, traces) for traces in by_function.values() if (share := _share(journal, traces)) is not None]
    if not candidates:
        return Clear("no function is traced again and again")
    share, traces = max(candidates, key=lambda candidate: candidate[0])
    return _found(journal, share, traces)


def _share(journal: Journal, traces: list[FunctionTraced]) -> float | None:
    """The share of the time that goes into tracing this function; None if it is traced as it should be."""
    first, last = traces[0], traces[-1]
    elapsed = last.at - first.at
    if last.count < MIN_SLOW_TRACES or elapsed < MIN_SECONDS or not last.calls:
        return None
    if last.where is None and last.objects > last.count / 2:
        return None  # a function of the framework's for each of many models: as it must be
    before = traces[-LATELY] if len(traces) > LATELY else first
    lately = (last.calls - before.calls) / max(1, last.count - before.count)
    if max(last.calls / last.count, lately) > CALLS_PER_TRACE or journal.now - last.at > OVER_AFTER_S + elapsed / 4:
        return None
    share = (last.seconds - first.seconds) / elapsed
    is_slow = last.seconds >= MIN_SLOW_SECONDS and share >= MIN_SLOW_SHARE
    return share if is_slow or (last.count >= MIN_TRACES and share >= MIN_SHARE) else None


def _found(journal: Journal, share: float, traces: list[FunctionTraced]) -> Found:
    first, last = traces[0], traces[-1]
    name = last.function.rpartition(".")[2]
    place = shorten_path(journal, last.where or last.called_at)
    called = shorten_path(journal, last.called_at)
    each = (last.seconds - first.seconds) / max(1, last.count - first.count)
    evidence = [
        Evidence(f"{name} was traced {last.count:,} times in {last.calls:,} calls", last.count, MIN_TRACES, (last,)),
        Evidence(
            f"tracing took {share * 100:.0f} % of the {last.at - first.at:.0f} s from the first to the last, {each:.2g} s each",
            share,
            MIN_SHARE,
            (first, last),
        ),
    ]
    fit = journal.last(FitBegan)
    reason, actions = _reason(last, name, called, is_jax=fit is not None and fit.backend == "jax")
    if reason:
        evidence.append(Evidence(reason, last.why, None, (last,)))
    at = f" ({place})" if place else ""
    because = f" The last time, {reason}." if reason else ""
    return Found(
        certainty=Certainty.CERTAIN,
        summary=f"{name}{at} is traced again and again: {last.count:,} times in {last.calls:,} calls.{because}",
        evidence=tuple(evidence),
        actions=actions,
        where=place,
        effect=Effect.SLOWS,
    )


def _reason(last: FunctionTraced, name: str, called: str | None, is_jax: bool) -> tuple[str, tuple[str, ...]]:
    at = f" at {called}" if called else ""
    if last.why == "made anew":
        return f"the function was made anew before it was called{at}", (f"make {name} once, outside the loop, and call it there",)
    if last.why == "new shape":
        return f"it was given shapes that it had not seen before{at}", (
            "pad every batch to one length, or to a few: each new shape is compiled anew",
            "and drop a last batch that is shorter than the others",
        )
    kind, _, argument = last.why.partition(" of ")
    if kind == "value":
        as_tensor = f"give `{argument}` as a tensor: tf.constant({argument}), or a tf.Variable that is counted up"
        as_array = f"do not make `{argument}` a static argument of jax.jit: given as a number or an array, it may differ"
        return f"the Python value of `{argument}` differed{at}", (as_array if is_jax else as_tensor,)
    if kind == "shape":
        pad = f"pad `{argument}` to one length, or to a few"
        relax = "or give tf.function an input_signature with None for what varies (or reduce_retracing=True)"
        return f"the shape of `{argument}` differed{at}", (pad,) if is_jax else (pad, relax)
    if kind == "type":
        return f"the type of `{argument}` differed{at}", (f"give `{argument}` always the same kind of value",)
    kind = "arrays" if is_jax else "tensors"
    return "", (f"give the function {kind} of one shape, and make it once, outside the loop",)
