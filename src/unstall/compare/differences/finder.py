"""What differs between two runs, by their records: the important first, each once, with the line of source that makes it so.

A change shows in several places: `BATCH = 32` is a line of source, an argument of a stage and the shape of each batch. What it
does is the difference; where it was made stands beside it. A line that nothing else explains is a difference of its own.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Any

from unstall.compare.differences import source_diff
from unstall.compare.differences.arguments import find_named_file_differences, pair_sources
from unstall.compare.differences.data import find_data_differences, find_input_differences
from unstall.compare.differences.difference import (
    COMPUTE,
    EVERYTHING,
    INPUT,
    KINDS,
    LOSS,
    MAX_LINES,
    MEMORY,
    VALIDATION,
    Difference,
    create_difference,
    format_value,
)
from unstall.compare.differences.environment import find_environment_differences
from unstall.compare.differences.model import find_model_differences
from unstall.compare.differences.source_diff import Change
from unstall.compare.record import facts

FOLLOWS = {  # a difference, and what then is no other one but its consequence
    "model": frozenset({"filters", "layers"}),
    "backend": frozenset({"execution"}),
    "boxes": frozenset({"data_contents"}),
    "large_images": frozenset({"data_contents"}),
}
# What is a number: a line that speaks of such a thing makes it only where it writes the number, too.
BY_NUMBER = frozenset(
    {"batch", "image_size", "filters", "boxes", "data_size", "cores", "learning_rate", "micro_batch_size", "length"}
)
BY_WORDS = frozenset({"labels", "loss", "optimizer", "augmentation", "weights", "precision"})
GUESSED = (
    "augmentation",
    "labels",
    "weights",
    "loss",
    "seed",
    "length",
)  # kinds that a line of source is known to be by what it speaks of
GUESSED_OF_CONFIGURATION = ("learning_rate", "batch", "optimizer")  # whose lines name what they set, and do nothing else
ORIGINS = frozenset({"command", "environment", "setting"})  # that something else may be the consequence of
SMALL_NUMBER = 3  # small numbers stand for many things
SAYS_LITTLE = frozenset({"given", "true", "false", "yes", "no", "on", "off", "none", "auto", "default"})
SHORT_NAMES = {  # of losses, as Keras takes them
    "mse": "meansquarederror", "mae": "meanabsoluteerror", "mape": "meanabsolutepercentageerror",
    "msle": "meansquaredlogarithmicerror", "kld": "kldivergence", "kullbackleiblerdivergence": "kldivergence",
    "bce": "binarycrossentropy", "huberloss": "huber",
}  # fmt: skip
# A line that speaks of this can change that alone. Read in this order; a line that speaks of nothing known can change anything.
SPEAKS_OF: tuple[tuple[str, frozenset[str]], ...] = (
    (r"\bprint\(|\blogg(er|ing)\b|verbose", frozenset()),
    (r"validation|evaluate\(", frozenset({VALIDATION})),
    (r"label|target|\by_|\by\b|loss|seed|shuffle", frozenset({LOSS, COMPUTE, MEMORY})),
    (r"sleep|open\(|read|decode|load|path|dataset|\.map|yield|imread|resize", frozenset({INPUT, LOSS, MEMORY})),
)


def find_differences(before: dict[str, Any], after: dict[str, Any]) -> list[Difference]:
    """Empty: nothing that can matter differs."""
    found = [
        *find_environment_differences(before, after), *find_data_differences(before, after),
        *find_input_differences(before, after), *find_model_differences(before, after),
        *find_named_file_differences(before, after),
    ]  # fmt: skip
    found = _each_once(found)
    changed = source_diff.find_changes(*pair_sources(before, after))
    found = _with_their_origins(found, changed)
    return sorted(found, key=lambda each: -each.weight)


def _each_once(found: list[Difference]) -> list[Difference]:
    """Of one kind, the first: settings stand before what follows from them."""
    kept: list[Difference] = []
    for each in found:
        others = [other for other in kept if other.section != each.section]
        same = [other for other in others if other.name == each.name or _is_same_fact(other, each)]
        if same and each.name not in ORIGINS | {"version"}:
            continue
        kept.append(each)
    names = {each.name for each in kept}
    consequences = {consequence for name in names for consequence in FOLLOWS.get(name, ())}
    return [each for each in kept if each.name not in consequences]


def _is_same_fact(one: Difference, other: Difference) -> bool:
    """A setting of the run that is one of its optimizer, too: `warmup_steps` is not told twice under two kinds."""
    return bool(one.detail) and (one.detail, one.before, one.after) == (other.detail, other.before, other.after)


# --- where a difference was made ---


def _with_their_origins(found: list[Difference], changed: list[Change]) -> list[Difference]:
    """Each difference with the lines and arguments that made it; those that made none are differences themselves."""
    effects = [each for each in found if each.name not in ORIGINS]
    origins = [each for each in found if each.name in ORIGINS]
    unexplained: list[Change] = []
    for change in changed:
        places = [place for place, each in enumerate(effects) if each.section != "versions" and can_cause(change, each)]
        for place in places:
            effects[place] = effects[place].made_at(change.where, change.lines)
        if not places:
            unexplained.append(change)
    left = []
    for origin in origins:
        places = [place for place, each in enumerate(effects) if _argument_makes(origin, each)]
        for place in places:
            effects[place] = effects[place].made_at(f"{origin.detail} {format_value(origin.after, origin.absent)}", ())
        if not places:
            left.append(origin)
    return [*(_named_by_its_lines(each) for each in effects), *left, *_of_source(unexplained)]


def _named_by_its_lines(each: Difference) -> Difference:
    """A stage or a layer that augments is an augmentation."""
    augments = KINDS["augmentation"]
    if each.name in {"stages", "layers"} and each.section in {"input", "model"} and augments.is_spoken_of("\n".join(each.lines)):
        touches = augments.touches if each.name == "stages" else each.touches | augments.touches
        return replace(each, name="augmentation", weight=augments.weight, touches=touches, words=f"augmentation: {each.words}")
    return each


def can_cause(change: Change, effect: Difference) -> bool:
    """Whether this line makes that difference: it writes its value, names it, or adds or removes what such a thing is done by."""
    kind = KINDS[effect.name]
    values = list(zip(_values(effect.before), _values(effect.after), strict=False))
    speaks = kind.is_spoken_of("\n".join((change.text, *change.uses)))
    if any(change.turns(was, is_now) for was, is_now in values) and (speaks or not _is_ambiguous(effect)):
        return True
    if effect.detail and re.search(rf"\b{re.escape(effect.detail.split('.')[-1])}\b", change.text):
        return True
    if effect.name == "layers" and kind.is_spoken_of("\n".join(change.names)):
        return True  # BLOCKS = 2: how many layers come of it is not written there
    if effect.name in BY_NUMBER:
        return kind.is_spoken_of(change.text) and any(change.writes(is_now) or change.wrote(was) for was, is_now in values)
    if effect.name in BY_WORDS and kind.is_spoken_of(change.text):
        return True
    is_all_words = not any(isinstance(value, int | float) for pair in values for value in pair)
    before, after = ("\n".join(lines) for lines in (change.before, change.after))
    return kind.is_spoken_of(after) != kind.is_spoken_of(before) or (is_all_words and kind.is_spoken_of(change.text))


def _is_ambiguous(effect: Difference) -> bool:
    """Small numbers stand for many things: 1 → 2 alone shows nothing."""
    return all(
        isinstance(value, int) and abs(value) <= SMALL_NUMBER for value in (*_values(effect.before), *_values(effect.after))
    )


def _values(value: Any) -> list[Any]:
    return [each for item in value for each in _values(item)] if isinstance(value, list | tuple) else [value]


def _argument_makes(origin: Difference, effect: Difference) -> bool:
    """By its name, or by its values: `--opt sgd` where the optimizer became SGD. One that is not given leaves a default, which
    nobody knows; then what is known of it must say enough."""
    if KINDS[effect.name].is_spoken_of(str(origin.detail)):
        return True
    pairs = list(zip(_values(effect.before), _values(effect.after), strict=False))
    if any(_is_meant(origin.before, was) and _is_meant(origin.after, is_now) for was, is_now in pairs):
        return True
    if (origin.before is not None and origin.after is not None) or effect.section == "versions":
        return False
    given, side = (origin.after, 1) if origin.before is None else (origin.before, 0)
    return _says_enough(origin, given) and any(_is_meant(given, pair[side]) for pair in pairs if pair[0] != pair[1])


def _is_meant(given: Any, value: Any) -> bool:
    """Whether an argument, which is text, means this value: 1e-3 is 0.001, sgd is SGD, mse is MeanSquaredError."""
    number = _as_number(given)
    if number is not None and isinstance(value, int | float) and not isinstance(value, bool):
        return bool(facts.are_equal(number, float(value)))
    return str(given) == str(value) or (bool(_word(given)) and _word(given) == _word(value))


def _says_enough(origin: Difference, given: Any) -> bool:
    """A word does, but `given` and on or off. A number stands for many things: only one of an option that names nothing known."""
    number = _as_number(given)
    if number is None:
        return len(_word(given)) > 1 and _word(given) not in SAYS_LITTLE
    speaks = any(kind.is_spoken_of(str(origin.detail)) for kind in KINDS.values())
    return origin.name == "command" and not speaks and not (number == int(number) and abs(number) <= SMALL_NUMBER)


def _as_number(given: Any) -> float | None:
    try:
        number = float(given)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def _word(value: Any) -> str:
    """Without what names of the same thing differ by."""
    plain = re.sub(r"[^a-z0-9]", "", str(value).lower()) if value is not None else ""
    return SHORT_NAMES.get(plain, plain)


def _of_source(unexplained: list[Change]) -> list[Difference]:
    """By file and by what the lines speak of: what changed there, and what it may change."""
    found = []
    groups = dict.fromkeys((change.file, _guessed(change)) for change in unexplained)
    for file, kind in groups:
        own = [change for change in unexplained if (change.file, _guessed(change)) == (file, kind)]
        first = next((change for change in own if not change.only_imports), own[0])  # what is done says more than by what
        more = f" and {len(own) - 1} more" if len(own) > 1 else ""
        touches = frozenset[str]().union(*(_touched_by(change) for change in own)) if kind == "source" else KINDS[kind].touches
        lines = tuple(line for change in own for line in change.lines)
        result = create_difference("sources", kind, list(first.before), list(first.after), f"{first.words}{more}", file, touches)
        found.append(replace(result, where=first.where, lines=lines[:MAX_LINES]))
    return found


def _guessed(change: Change) -> str:
    """The one kind that the changed lines speak of; 'source' where it is none, or more than one."""
    guessed = GUESSED if change.is_program else (*GUESSED, *GUESSED_OF_CONFIGURATION)
    kinds = [kind for kind in guessed if KINDS[kind].is_spoken_of(change.text)]
    return kinds[0] if len(kinds) == 1 else "source"


def _touched_by(change: Change) -> frozenset[str]:
    text = "\n".join((change.text, *change.uses))
    for pattern, touches in SPEAKS_OF:
        if re.search(pattern, text, re.IGNORECASE):
            return touches
    return EVERYTHING
