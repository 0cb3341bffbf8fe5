"""state_dict_mismatch: which names and shapes do not fit, a prefix of a wrapper, and a whole checkpoint instead of its weights."""

from __future__ import annotations

from typing import Any

import pytest

from tests.diagnosis.error_builders import call, ended, line, unseen
from unstall.diagnosis.causes import state_dict_mismatch
from unstall.diagnosis.verdict import Clear, Found, Unknown

HEAD = "Error(s) in loading state_dict for Net:\n\t"
SIZES = (
    f"{HEAD}size mismatch for head.weight: copying a param with shape torch.Size([63, 32]) from checkpoint, the shape in current model is "
    "torch.Size([6, 32]).\n\tsize mismatch for head.bias: copying a param with shape torch.Size([63]) from checkpoint, the shape in current "
    "model is torch.Size([6])."
)


def found(message: str, **given: Any) -> Found:
    calls = [call("load_state_dict", *({"name": name, **facts} for name, facts in given.items()))]
    verdict = state_dict_mismatch.examine(ended("RuntimeError", message, line("model.load_state_dict(state)"), calls=calls))
    assert isinstance(verdict, Found)
    assert verdict.where == "train.py:43"
    return verdict


def keys(missing: list[str], unexpected: list[str]) -> str:
    def listed(names: list[str]) -> str:
        return ", ".join(f'"{name}"' for name in names)

    return f"{HEAD}Missing key(s) in state_dict: {listed(missing)}. \n\tUnexpected key(s) in state_dict: {listed(unexpected)}. "


def test_found_with_both_shapes_and_what_strict_does() -> None:
    verdict = found(SIZES, strict={"type": "bool", "text": "False"})
    assert "`head.weight` is (63, 32) in the state dict and (6, 32) in the model" in verdict.summary
    assert "strict=False skips names" in verdict.summary
    assert "`head`" in verdict.actions[0]


def test_nothing_is_said_of_strict_where_it_is_not_used() -> None:
    assert "strict" not in found(SIZES, strict={"type": "bool", "text": "True"}).summary


@pytest.mark.parametrize(
    ("missing", "unexpected", "said"),
    [
        (["a.weight", "a.bias"], ["module.a.weight", "module.a.bias"], "The names in the state dict begin with 'module.'"),
        (["module.a.weight"], ["a.weight"], "The names of the model begin with 'module.'"),
        (["a.weight"], ["_orig_mod.a.weight"], "torch.compile puts that"),
        (["a.weight", "a.bias"], ["module.a.weight", "b.bias"], "The model has `a.weight`, `a.bias`"),
    ],
)
def test_found_of_names(missing: list[str], unexpected: list[str], said: str) -> None:
    assert said in found(keys(missing, unexpected)).summary


def test_found_of_a_whole_checkpoint() -> None:
    items = [{"type": "int", "text": "3"}, {"type": "dict", "keys": ["a.weight"], "length": 1}]
    state = {"type": "dict", "keys": ["epoch", "model"], "length": 2, "items": items}
    verdict = found(keys(["a.weight"], ["epoch", "model"]), state_dict=state)
    assert verdict.summary.startswith("A whole checkpoint was given")
    assert "checkpoint['model']" in verdict.actions[0]


def shortened(prefix: str, name: str = "layer") -> Found:
    names = [f"layer{number}.weight" for number in range(9)]
    message = keys(names, ["x"]).partition("\n\tUnexpected")[0] + '"layer9\n…\nlayer80.bias", "layer81.bias". '
    return found(
        message, state_dict={"type": "dict", "keys": [f"{prefix}{name}{number}.weight" for number in range(5)], "length": 300}
    )


def test_of_a_shortened_message_the_prefix_is_found_and_no_numbers_are_counted() -> None:
    assert shortened("module.").summary.startswith("The names in the state dict begin with 'module.'")
    other = shortened("", "block").summary
    assert "these are the first of its names" in other
    assert " more" not in other


def test_found_of_an_optimizer() -> None:
    assert "optimizer" in found("loaded state dict has a different number of parameter groups").summary


def test_clear_of_another_error() -> None:
    assert isinstance(state_dict_mismatch.examine(ended("RuntimeError", "CUDA error", line("f(x)"))), Clear)


def test_unknown_where_nothing_inside_was_seen() -> None:
    assert isinstance(state_dict_mismatch.examine(unseen()), Unknown)


@pytest.mark.parametrize(
    ("saved", "own", "said"),
    [
        ([6], [2], "It was saved for 6 parameters, and this AdamW has 2 parameters; it was made at train.py:31."),
        ([4, 2], [1], "It was saved for 2 groups of 4 and 2 parameters, and this AdamW has 1 parameter"),
    ],
)
def test_the_parameters_of_the_groups_are_counted(saved: list[int], own: list[int], said: str) -> None:
    optimizer = {"name": "optimizer", "type": "torch.AdamW", "made_at": 31, "made_by": ["optimizer = AdamW(parameters)"]}
    row = line("optimizer.load_state_dict(state)", optimizer)
    groups = {"what": "groups", "name": "AdamW", "saved": saved, "own": own}
    message = "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
    verdict = state_dict_mismatch.examine(ended("ValueError", message, row, makers=[groups]))
    assert isinstance(verdict, Found)
    assert said in verdict.summary
