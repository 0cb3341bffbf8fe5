"""Every step trains on the same batch, because the data set is started again for each one.

What it is
----------
`next(iter(dataset))` in the loop begins the data set from the front each time, so that only its first batch is ever used. A
generator that does not move its position gives the same arrays again and again. The loss falls quickly, the model has seen
next to nothing, and on other data it is useless.

How we know
-----------
Some of the batches are compared by a checksum of all their numbers: all were equal. For a data set we also see that an
iterator was made for each batch and dropped after it. A data set that has one batch, or that was told to give one
(`take(1)`), is left alone: that is how one checks on purpose that a model can learn a batch by heart. So is a generator that
has nothing else to give: it must hold more examples, or more file names, than the one batch.

When this is wrong
------------------
If a generator gives one batch on purpose though it holds more.

What to do
----------
Make the iterator once, before the loop, or write `for batch in dataset`. In a generator, move the position inside the loop that
yields.
"""

from __future__ import annotations

from unstall.diagnosis.probe_facts import find_current_fit, find_missing_probe, read_facts, shorten_path
from unstall.diagnosis.verdict import Certainty, Clear, Effect, Evidence, Found, Unknown, Verdict
from unstall.journal.events import LoopSeen
from unstall.journal.reader import Journal

EXPLAINS = ("input_starved", "loss_not_falling")
MIN_LOOKS = 12  # batches compared
MIN_BATCHES = 40  # batches fetched meanwhile
MIN_SECONDS = 3.0
STARTS_PER_BATCH = 0.9  # an iterator was made for at least this share of the batches


def examine(journal: Journal) -> Verdict:
    unseen = find_missing_probe(journal)
    if unseen is not None:
        return unseen
    if find_current_fit(journal) is None:
        return Clear("no training was seen")
    latest: dict[tuple[str, str | None], LoopSeen] = {}
    for event in read_facts(journal, "batches"):
        latest[(event.facts["source"], event.facts["where"])] = event
    if not latest:
        return Unknown("batches that pass through Python", "")
    for event in latest.values():
        if _is_constant(event):
            return _found(journal, event)
    return Clear("batches differ")


def _is_constant(event: LoopSeen) -> bool:
    seen = event.facts
    enough = seen["looks"] >= MIN_LOOKS and seen["batches"] >= MIN_BATCHES and seen["seconds"] >= MIN_SECONDS
    if not seen["same"] or not enough:
        return False
    if seen["source"] != "tf.data":
        return bool(seen.get("holds"))  # it has more to give than it gives
    return seen["starts"] >= STARTS_PER_BATCH * seen["batches"] and seen["ended"] == 0 and seen.get("cardinality") != 1


def _found(journal: Journal, event: LoopSeen) -> Found:
    seen = event.facts
    place = shorten_path(journal, seen["where"])
    at = f" at {place}" if place else ""
    evidence = [
        Evidence(
            f"{seen['looks']} of {seen['batches']:,} batches were compared, all were equal", seen["looks"], MIN_LOOKS, (event,)
        )
    ]
    if seen["source"] == "tf.data":
        often = "each one" if seen["starts"] >= seen["batches"] else "nearly each one"
        started = f"the data set is started again{at} for {often}"
        evidence.append(
            Evidence(
                f"{seen['starts']:,} iterators were made for {seen['batches']:,} batches{at}",
                seen["starts"],
                None,
                (event,),
            )
        )
        return Found(
            certainty=Certainty.CERTAIN,
            summary=f"All {seen['looks']} batches that were compared are equal: {started}.",
            evidence=tuple(evidence),
            actions=("make the iterator once, before the loop, and call next() on it", "or write: for batch in dataset"),
            where=place,
            effect=Effect.SPOILS,
        )
    what = "generator" if seen["source"] == "generator" else "PyDataset"
    evidence.append(Evidence(f"your {what} has more to give: {seen['holds']}", seen["holds"], None, (event,)))
    return Found(
        certainty=Certainty.LIKELY,
        summary=f"All {seen['looks']} batches that were compared are equal: your {what} gives the same arrays again{at}.",
        evidence=tuple(evidence),
        actions=(
            "move the position on inside the loop that yields"
            if what == "generator"
            else "use the index that __getitem__ is given",
            "if one batch is what you want, to see whether the model can learn it by heart, nothing is wrong",
        ),
        where=place,
        effect=Effect.SPOILS,
    )
