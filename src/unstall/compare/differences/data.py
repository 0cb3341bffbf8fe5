"""What differs in the data and in how it is fed: large images, boxes, examples, contents; stages, prefetching, workers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from unstall.compare.differences.difference import Difference, create_difference, format_value
from unstall.compare.record import facts

LARGER = 1.3  # times the widest before: an image that is new in its size
DIGESTS = ("labels_digest", "arrays_digest", "digest")
MORE_BOXES = 1.25  # times, of the mean or the most
PREFETCHES = ("prefetch", "prefetch_to_device", "PrefetchDataset")
# Of a stage, what somebody chose; what else is told of it follows from the data, or is a place.
CHOSEN = frozenset({
    "num_parallel_calls", "cycle_length", "block_length", "buffer_size", "batch_size", "count", "deterministic", "drop_remainder",
    "reshuffle_each_iteration", "compression_type", "num_parallel_reads", "num_shards", "index", "size", "shift", "stride",
})  # fmt: skip
PARALLEL = ("num_parallel_calls", "cycle_length", "workers", "num_workers", "use_multiprocessing", "num_parallel_reads")


def find_data_differences(before: dict[str, Any], after: dict[str, Any]) -> Iterator[Difference]:
    old, new = facts.get_section(before, "data"), facts.get_section(after, "data")
    result = list(_of_contents(old, new)) if old and new else []
    yield from result
    yield from _of_labels(before, after)
    if old and new and not result and _are_of_the_same_look(old, new):
        yield from _of_digests(old, new)


def _are_of_the_same_look(old: dict[str, Any], new: dict[str, Any]) -> bool:
    """Files that one run met by other means, or before all was looked at, are no other data."""
    is_whole = old.get("is_whole", True) and new.get("is_whole", True)
    return bool(is_whole and old.get("source") == new.get("source"))


def _of_digests(old: dict[str, Any], new: dict[str, Any]) -> Iterator[Difference]:
    """As many files as before, of the same images, and yet not the same."""
    differing = [name for name in DIGESTS if old.get(name) and new.get(name) and old[name] != new[name]]
    if "labels_digest" in differing:
        yield create_difference(
            "data", "labels", old["labels_digest"], new["labels_digest"], "the labels in the annotations changed"
        )
    elif differing:
        name = differing[0]
        yield create_difference(
            "data", "data_contents", old[name], new[name], "the data's contents changed, in as many files as before"
        )


def _of_contents(old: dict[str, Any], new: dict[str, Any]) -> Iterator[Difference]:
    was, is_now = facts.find_largest_side(old), facts.find_largest_side(new)
    if was and is_now and (is_now > LARGER * was or was > LARGER * is_now):
        count = facts.count_images_over(new, was) if is_now > was else facts.count_images_over(old, is_now)
        yield create_difference("data", "large_images", was, is_now, _large(was, is_now, count))
    old_boxes, new_boxes = facts.compute_boxes_per_image(old), facts.compute_boxes_per_image(new)
    if old_boxes and new_boxes and _differ(old_boxes, new_boxes, MORE_BOXES):
        words = f"boxes of an image: {_boxes(old_boxes)} → {_boxes(new_boxes)}"
        yield create_difference("data", "boxes", old_boxes[1], new_boxes[1], words)
    if not _are_of_the_same_look(old, new):
        return
    for name in ("examples", "files"):
        count, now = old.get(name), new.get(name)
        if count and now and count != now:
            yield create_difference("data", "data_size", count, now, f"{name} of the data {count:,} → {now:,}")
            return
    total, now_total = old.get("bytes"), new.get("bytes")
    if total and now_total and abs(now_total - total) > 0.02 * total and not (was and is_now and was != is_now):
        yield create_difference("data", "data_contents", total, now_total, f"bytes of the data {total:,} → {now_total:,}")


def _large(was: int, is_now: int, count: int | None) -> str:
    if is_now < was:
        return f"no image over {is_now:,} px any more (before: up to {was:,} px)"
    many = f"{count:,} image{'' if count == 1 else 's'}" if count else "images"
    return f"{many} over {was:,} px since then, up to {is_now:,} px"


def _differ(old: tuple[float, float], new: tuple[float, float], limit: float) -> bool:
    return any(max(a, b) > limit * max(min(a, b), 1e-9) and abs(a - b) >= 1 for a, b in zip(old, new, strict=True))


def _boxes(mean_most: tuple[float, float]) -> str:
    return f"{mean_most[0]:.3g} on average, at most {mean_most[1]:.0f}"


def _of_labels(before: dict[str, Any], after: dict[str, Any]) -> Iterator[Difference]:
    """By what the targets of batches were seen to hold: their range, how many different ones. Those of another form that came
    with another loss are what that loss asks for, and explain nothing by themselves."""
    old, new = facts.read_target_range(before), facts.read_target_range(after)
    if not old or not new or old == new:
        return
    words = f"labels from {format_value(old[0])} to {format_value(old[1])} → {format_value(new[0])} to {format_value(new[1])}"
    if facts.describe_target_form(before) != facts.describe_target_form(after) and facts.read_losses(before) != facts.read_losses(
        after
    ):
        words = f"{words}, in the form that the other loss asks for"
        yield create_difference("batch", "labels", list(old), list(new), words, touches=frozenset())
    else:
        yield create_difference("batch", "labels", list(old), list(new), words)


# --- how it is fed ---


def find_input_differences(before: dict[str, Any], after: dict[str, Any]) -> Iterator[Difference]:
    old, new = facts.get_section(before, "input"), facts.get_section(after, "input")
    if not old or not new:
        return
    if old.get("kind") and new.get("kind") and old["kind"] != new["kind"]:
        yield create_difference("input", "input_kind", old["kind"], new["kind"], f"fed by {old['kind']} → {new['kind']}")
    yield from _of_arguments(facts.read_input_arguments(old), facts.read_input_arguments(new))
    # What was built says other things than what was seen to run; and only a run that went on for a while was seen.
    name = "stages" if old.get("stages_are") == new.get("stages_are") else "stages_built"
    stages = facts.read_stages(old, name), facts.read_stages(new, name)
    if all(stages) and "tf.data" in str(new.get("kind")):  # what Keras builds around a generator is nobody's choice
        yield from _of_stages(*stages)


def _of_arguments(old: dict[str, Any], new: dict[str, Any]) -> Iterator[Difference]:
    for name in sorted({*old, *new}):
        was, is_now = old.get(name), new.get(name)
        if facts.are_equal(was, is_now):
            continue
        if name in PARALLEL:
            yield create_difference("input", "parallelism", was, is_now, detail=name)
        elif name in {"max_queue_size", "prefetch_factor", "prefetch"}:
            yield create_difference("input", "prefetch", was, is_now, detail=name)
        elif name == "threads":
            yield create_difference("input", "threads", was, is_now, f"threads {format_value(was)} → {format_value(is_now)}")


def _of_stages(old: list[dict[str, Any]], new: list[dict[str, Any]]) -> Iterator[Difference]:
    """Stages that are new or gone, and those with other arguments. The batch's is told as the batch."""
    for name in dict.fromkeys([stage["stage"] for stage in (*old, *new)]):
        were, are = ([stage for stage in stages if stage["stage"] == name] for stages in (old, new))
        if len(were) != len(are):
            yield _counted(name, len(were), len(are), (were or are)[0])
            continue
        for was, is_now in zip(were, are, strict=True):
            yield from _of_one_stage(name, was.get("arguments") or {}, is_now.get("arguments") or {})


def _counted(name: str, before: int, after: int, stage: dict[str, Any]) -> Difference:
    kind = "prefetch" if name in PREFETCHES else "cache" if name == "cache" else "stages"
    words = f"{name} {'gone' if not after else 'new' if not before else f'{before} → {after} times'}"
    return create_difference("input", kind, before, after, words, detail=name)


def _of_one_stage(name: str, was: dict[str, Any], is_now: dict[str, Any]) -> Iterator[Difference]:
    for argument in sorted({*was, *is_now}):
        old, new = was.get(argument), is_now.get(argument)
        if facts.are_equal(old, new) or name.endswith("batch") or argument not in CHOSEN:
            continue
        kind = "prefetch" if name in PREFETCHES else "parallelism" if argument in PARALLEL else "stages"
        words = f"{name}({argument}) {format_value(old)} → {format_value(new)}"
        yield create_difference("input", kind, old, new, words, detail=f"{name}.{argument}")
