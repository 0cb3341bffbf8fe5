"""The training step is not compiled, and most of its time is Python that hands out small operations one by one.

What it is
----------
TensorFlow runs a step in one of two ways: compiled into a graph, or eagerly, one operation after the other from Python. Eager is
for debugging. With many small operations the time goes into handing them out, and a GPU idles meanwhile. It is switched on
by `run_eagerly=True` in compile, by `tf.config.run_functions_eagerly(True)`, or by a loop of one's own without
`@tf.function`.

How we know
-----------
A few steps are profiled: how long was spent inside operations, and how long in the framework's Python code between them. It
is said only where that Python code takes most of the step, in hundreds of operations; in a loop of one's own, where eager may be
meant, only in very many.

When this is wrong
------------------
If the step cannot be compiled, because it needs Python in the middle. Then it is slow for that reason.

What to do
----------
Take the switch out, or put `@tf.function` above the function that computes the step.
"""

from __future__ import annotations

from statistics import median

from unstall.diagnosis.probe_facts import find_current_fit, find_missing_probe, read_facts, shorten_path, train_groups
from unstall.diagnosis.verdict import Certainty, Clear, Effect, Evidence, Found, Unknown, Verdict
from unstall.journal.events import LoopSeen
from unstall.journal.reader import Journal

EXPLAINS = ("device_unused",)
MIN_SHARE = 0.5  # of a step's time that is the framework's Python code
MIN_OPERATIONS = 100  # in a step, where a switch was left on
MIN_OPERATIONS_OWN_LOOP = 700  # in a step of one's own loop, where eager may well be meant
MIN_STEP_S = 0.008  # shorter steps are not worth the word
MIN_PROFILES = 2
MIN_LOST_S = 5.0  # in the whole training


def examine(journal: Journal) -> Verdict:
    unseen = find_missing_probe(journal)
    if unseen is not None:
        return unseen
    fit = find_current_fit(journal)
    if fit is None:
        return Clear("no training was seen")
    profiles = read_facts(journal, "eager", fit.at)
    if not profiles:
        return Clear("steps are compiled, or too few were seen")
    if len(profiles) < MIN_PROFILES:
        return Unknown("a second profile of a step", "let it run longer")
    recent = profiles[-MIN_PROFILES:]
    shares = [event.facts["framework_s"] / max(event.facts["step_s"], 1e-9) for event in recent]
    groups = [group for group in train_groups(journal) if group.first > 0]
    step_s = median([group.seconds / (group.last - group.first + 1) for group in groups]) if groups else 0.0
    lost_s = min(shares) * sum(group.seconds for group in groups)
    small = any(event.facts["operations"] < _min_operations(event) for event in recent)
    if min(shares) < MIN_SHARE or small or step_s < MIN_STEP_S or lost_s < MIN_LOST_S:
        return Clear("the operations themselves take the time, or it is not worth the word")
    return _found(journal, recent, min(shares), step_s)


def _min_operations(event: LoopSeen) -> int:
    return MIN_OPERATIONS_OWN_LOOP if event.facts["why"] == "own loop" else MIN_OPERATIONS


_WHY = {
    "run_eagerly": (
        "compile was told run_eagerly=True",
        "take run_eagerly=True out of compile; it is for debugging",
    ),
    "run_functions_eagerly": (
        "tf.config.run_functions_eagerly(True) makes every tf.function run as plain Python",
        "take tf.config.run_functions_eagerly(True) out; it is for debugging",
    ),
    "own loop": (
        "the loop computes its gradients without a tf.function around them",
        "put @tf.function above the function that computes the step",
    ),
}


def _found(journal: Journal, profiles: list[LoopSeen], share: float, step_s: float) -> Found:
    seen = profiles[-1].facts
    reason, action = _WHY[seen["why"]]
    place = shorten_path(journal, seen["where"])
    at = f" ({place})" if place else ""
    events = tuple(profiles)
    percent = f"{share * 100:.0f} %"
    profiled = f"in {len(profiles)} profiled steps the framework's Python code took {percent} of the time or more"
    size = f"a step is {seen['operations']:,} operations, one by one, and lasts {step_s * 1000:.0f} ms"
    return Found(
        certainty=Certainty.LIKELY if seen["why"] == "own loop" else Certainty.CERTAIN,
        summary=f"The training step runs eagerly: {reason}{at}. At least {percent} of a step is Python between its operations.",
        evidence=(
            Evidence(profiled, share, MIN_SHARE, events),
            Evidence(size, seen["operations"], _min_operations(profiles[-1]), events),
        ),
        actions=(action,),
        where=place,
        effect=Effect.SLOWS,
    )
