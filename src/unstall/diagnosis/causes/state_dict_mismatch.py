"""The state that load_state_dict was given does not fit the model or the optimizer.

What it is
----------
PyTorch loads weights by name, and each must have the shape that the model has. Names differ where the weights were saved from a
model inside DataParallel or `torch.compile`, where a whole checkpoint is given instead of the weights in it, or where the model
is another one. Shapes differ where the model was made with another number of classes, or of features.

How we know
-----------
The error lists the names and shapes that do not fit. Unstall compares the names of both sides with each other, and with the keys
of what was given.

When this is wrong
------------------
If the checkpoint is the wrong file: then nothing is to be changed in the names or in the model.

What to do
----------
Load the weights into the model that they were saved from. To go on with another head, leave the head's weights out of what is
loaded: `strict=False` skips names that are missing, and no shapes that differ.
"""

from __future__ import annotations

import re

from unstall.base.formatting import format_count
from unstall.diagnosis.errors.evidence import describe_failure
from unstall.diagnosis.errors.failures import Failure, Shape, find_failure, format_shape, parse_shapes
from unstall.diagnosis.errors.fatal_error import find_unseen_end
from unstall.diagnosis.verdict import Certainty, Clear, Found, Verdict
from unstall.journal.reader import Journal

MAX_NAMES = 4  # that a sentence lists
_SIZE = re.compile(
    r"size mismatch for (?P<name>\S+): copying a param with shape (?P<saved>.*?) from checkpoint, "
    r".*? is (?P<own>torch\.Size\(\[.*?\]\))"
)
_KEYS = r'{} key\(s\) in state_dict: (?P<keys>(?:"[^"]*"(?:, )?)+)'
_OPTIMIZER = re.compile(
    r"loaded state dict (?:has a different number of parameter groups|contains a parameter group that doesn't match)"
)
_WRAPPERS = {"module.": "DataParallel or DistributedDataParallel", "_orig_mod.": "torch.compile"}
_Said = tuple[str, tuple[str, ...]]


def examine(journal: Journal) -> Verdict:
    failure = find_failure(journal)
    if failure is None:
        return find_unseen_end(journal) or Clear("no error ended the program")
    message = failure.error.message
    said = (
        _of_optimizer(failure)
        if _OPTIMIZER.search(message)
        else _of_model(failure)
        if "loading state_dict for" in message
        else None
    )
    if said is None:
        return Clear("the error is about something else")
    return Found(
        certainty=Certainty.CERTAIN,
        summary=said[0],
        evidence=describe_failure(failure),
        actions=said[1],
        where=failure.raised.where if failure.raised is not None else None,
    )


def _of_model(failure: Failure) -> _Said | None:
    missing, unexpected = _keys(failure, "Missing"), _keys(failure, "Unexpected")
    sizes = [(each["name"], _shape(each["saved"]), _shape(each["own"])) for each in _SIZE.finditer(failure.error.message)]
    if not (missing or unexpected or sizes):
        return None
    if not unexpected and _is_shortened(failure):
        given = failure.argument("load_state_dict", "state_dict")
        listed = [str(key) for key in (given.facts.get("keys") if given is not None else None) or []]
        return _prefixed(missing[: len(listed)], listed) or _different(failure, missing, [], sizes)
    return (
        _prefixed(missing, unexpected) or _whole(failure, missing, unexpected) or _different(failure, missing, unexpected, sizes)
    )


def _prefixed(missing: list[str], unexpected: list[str]) -> _Said | None:
    """All names differ by what stands before them."""
    if not missing or not unexpected:
        return None
    for shorter, longer, is_saved in ((missing, unexpected, True), (unexpected, missing, False)):
        prefix = longer[0][: -len(shorter[0])] if longer[0].endswith(shorter[0]) else ""
        if not prefix or set(longer) != {f"{prefix}{name}" for name in shorter}:
            continue
        wrapper = _WRAPPERS.get(prefix, "")
        usual = f" {wrapper} puts that before the names." if wrapper else ""
        if is_saved:
            fix = f"take it off before loading: {{name.removeprefix({prefix!r}): value for name, value in state.items()}}"
            return f"The names in the state dict begin with {prefix!r}, and those of the model do not.{usual}", (
                fix,
                "or save the weights of the model inside the wrapper",
            )
        return f"The names of the model begin with {prefix!r}, and those in the state dict do not.{usual}", (
            "load the weights before the model is wrapped, or into the model inside the wrapper",
            f"or put it before the names: {{{prefix!r} + name: value for name, value in state.items()}}",
        )
    return None


def _whole(failure: Failure, missing: list[str], unexpected: list[str]) -> _Said | None:
    """A checkpoint in which the weights are one entry among others."""
    given = failure.argument("load_state_dict", "state_dict")
    keys = [str(key) for key in (given.facts.get("keys") if given is not None else None) or unexpected]
    items = given.facts.get("items") if given is not None else None
    inner = [key for key in keys if "." not in key and re.search(r"state|model|weights|net", key, re.IGNORECASE)]
    held = [key for key, item in zip(keys, items or [], strict=False) if "keys" in item] if items else inner
    chosen = [key for key in inner if key in held or not items]
    if not missing or not chosen or any("." in name for name in unexpected):
        return None
    return (
        f"A whole checkpoint was given instead of the weights in it: it has the keys {_listed(keys)}, and "
        "no name of the model is among them.",
        (f"load the entry that holds the weights: load_state_dict(checkpoint[{chosen[0]!r}])",),
    )


def _different(
    failure: Failure, missing: list[str], unexpected: list[str], sizes: list[tuple[str, Shape | None, Shape | None]]
) -> _Said:
    rows: list[str] = []
    actions: list[str] = []
    if _is_shortened(failure):
        rows.append("The message is long, and these are the first of its names.")
        missing, unexpected, sizes = missing[:MAX_NAMES], unexpected[:MAX_NAMES], sizes[:MAX_NAMES]
    if sizes:
        listed = [
            f"`{name}` is {format_shape(saved)} in the state dict and {format_shape(own)} in the model"
            for name, saved, own in sizes
        ]
        more = f", and {len(listed) - MAX_NAMES} more" if len(listed) > MAX_NAMES else ""
        rows.append(f"Shapes differ: {'; '.join(listed[:MAX_NAMES])}{more}.")
        strict = failure.argument("load_state_dict", "strict")
        if strict is not None and strict.words == "False":
            rows.append("strict=False skips names that are missing or not known. It does not skip shapes that differ.")
        prefixes = sorted({name.rpartition(".")[0] for name, _, _ in sizes})
        actions.append(f"make the model as it was saved: with the same number of classes, if {_listed(prefixes)} is its head")
        actions.append(
            f"or leave {_listed([name for name, _, _ in sizes])} out of the dict before loading with strict=False, to train anew"
        )
    if missing:
        rows.append(f"The model has {_listed(missing)}, which the state dict does not have.")
    if unexpected:
        rows.append(f"The state dict has {_listed(unexpected)}, which the model does not have.")
    if missing or unexpected:
        actions.append("compare the names of both sides: was another class, version or option of the model saved?")
        actions.append("strict=False loads what has the same name and leaves the rest as it is: look at what it returns")
    return f"The state dict does not fit the model. {' '.join(rows)}", tuple(actions)


def _of_optimizer(failure: Failure) -> _Said:
    groups = failure.maker("groups")
    counts = ""
    if groups is not None:
        saved, own = groups.facts["saved"], groups.facts["own"]
        counts = f" It was saved for {_describe_groups(saved)}, and this {groups.name} has {_describe_groups(own)}"
        counts += f"; it was made at {_optimizer_place(failure)}." if _optimizer_place(failure) else "."
    return (
        f"The state of an optimizer was saved for other parameters: {failure.text.message.rstrip('.')}.{counts}",
        (
            "make the optimizer with the same parameters in the same groups as it was saved: frozen layers and own groups count",
            "or leave its state out, and let the optimizer begin anew with the loaded weights",
        ),
    )


def _describe_groups(counts: list[int]) -> str:
    """6 parameters; 2 groups of 4 and 2 parameters"""
    if len(counts) == 1:
        return format_count(counts[0], "parameter")
    return f"{len(counts)} groups of {' and '.join(map(str, counts))} parameters"


def _optimizer_place(failure: Failure) -> str | None:
    raised = failure.raised
    match = re.search(r"(\w+)\.load_state_dict\(", raised.code) if raised is not None else None
    value = raised.value(match[1]) if raised is not None and match is not None else None
    maker = raised.find_maker(value) if raised is not None and value is not None else None
    return maker.where if maker is not None else None


def _is_shortened(failure: Failure) -> bool:
    return "\n…\n" in failure.error.message


def _keys(failure: Failure, kind: str) -> list[str]:
    match = re.search(_KEYS.format(kind), failure.error.message)
    return re.findall(r'"([^"]*)"', match["keys"]) if match is not None else []


def _shape(text: str) -> Shape | None:
    shapes = parse_shapes(text)
    return shapes[0] if shapes else None


def _listed(names: list[str]) -> str:
    shown = ", ".join(f"`{name}`" for name in names[:MAX_NAMES])
    return f"{shown} and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else shown
