from __future__ import annotations

import pytest

from unstall.base.formatting import find_closest_name, find_closest_names, suggest_closest

KNOWN = ("epochs", "epoch_size", "batch_size")


@pytest.mark.parametrize(("typed", "meant"), [("epoch", "epochs"), ("batchsize", "batch_size"), ("zzz", "")])
def test_the_most_similar_name_or_none(typed: str, meant: str) -> None:
    assert find_closest_name(typed, KNOWN) == meant
    assert suggest_closest(typed, iter(KNOWN)) == (f" Did you mean '{meant}'?" if meant else "")


def test_several_names_the_most_similar_first() -> None:
    assert find_closest_names("epoch", KNOWN, 3) == ["epochs", "epoch_size"]
    assert find_closest_names("epoch", KNOWN, 1) == ["epochs"]
    assert find_closest_names("epoch", KNOWN, 3, cutoff=0.9) == ["epochs"]
