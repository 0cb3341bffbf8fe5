"""The table of machine types and prices: ours is sound, and another's is checked field by field."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from unstall.base.errors import InvalidInputError
from unstall.cloud import machines

ROW = {"vcpus": 4, "memory_gib": 16, "card": "l4", "cards": 1, "accelerator": "NVIDIA_L4", "per_hour": 0.7, "per_hour_spot": None}
HEAD = {"taken_on": "2026-01-31", "region": "europe-west4", "currency": "EUR", "source": "our contract"}


def written(folder: Path, **changes: Any) -> str:
    stored = {**HEAD, "machines": {"g2-standard-4": ROW}, **changes}
    path = folder / "prices.json"
    path.write_text(json.dumps(stored), encoding="utf-8")
    return str(path)


def test_ours_says_its_date_and_source_and_what_it_does_not_know() -> None:
    table = machines.load_table()
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", table.taken_on) and "Compute Engine" in table.source
    smallest, unpriced = table.named("g2-standard-4"), table.named("a3-ultragpu-8g")
    assert smallest is not None and (smallest.card, smallest.cards, smallest.vcpus) == ("l4", 1, 4)
    assert unpriced is not None and unpriced.per_hour is None
    priced = [each for each in table.machines if each.per_hour is not None and each.per_hour_spot is not None]
    assert all((each.per_hour_spot or 0) < (each.per_hour or 0) for each in priced) and len(priced) > 20


def test_cards_are_called_as_vertex_calls_them() -> None:
    types = pytest.importorskip("google.cloud.aiplatform_v1.types", reason="needs pip install 'unstall[cloud]'")
    named = {each.accelerator for each in machines.load_table().machines if each.accelerator}
    assert named <= set(types.AcceleratorType.__members__) and len(named) > 5


def test_a_table_of_ones_own_in_json_and_in_toml(tmp_path: Path) -> None:
    table = machines.load_table(written(tmp_path))
    assert (table.currency, table.machines[0].price(False), table.machines[0].price(True)) == ("EUR", 0.7, None)
    path = tmp_path / "prices.toml"
    head = "\n".join(f'{name} = "{value}"' for name, value in HEAD.items())
    path.write_text(
        f"{head}\n[machines.e2-standard-4]\nvcpus = 4\nmemory_gib = 16\ncards = 0\nper_hour = 0.1\n", encoding="utf-8"
    )
    (machine,) = machines.load_table(str(path)).machines
    assert (machine.card, machine.per_hour, machine.per_hour_spot) == (None, 0.1, None)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"taken_on": "yesterday"}, "taken_on: expected a date, as in 2026-01-31. Received: 'yesterday'"),
        ({"source": ""}, "source: expected text. Received: ''"),
        ({"machines": {}}, "machines: expected machines by their names"),
        ({"machines": {"x": 4}}, "x: expected figures by their names. Received: 4"),
        ({"machines": {"x": {**ROW, "vcpus": 0}}}, "x: vcpus: expected a whole number of 1 or more. Received: 0"),
        ({"machines": {"x": {**ROW, "card": "l5"}}}, "x: card: expected one of a10, a100"),
        ({"machines": {"x": {**ROW, "cards": 0}}}, "x: card: expected none, as cards is 0. Received: 'l4'"),
        ({"machines": {"x": {**ROW, "accelerator": None}}}, "x: accelerator: expected a name of Vertex AI's"),
        ({"machines": {"x": {**ROW, "per_hour": -1}}}, "x: per_hour: expected a number above 0, or null. Received: -1"),
        ({"machines": {"x": {**ROW, "per_hour": True}}}, "x: per_hour: expected a number above 0, or null. Received: True"),
        ({"machines": {"x": {**ROW, "prize": 1}}}, "x: there is no field 'prize'"),
        ({"machines": {"x": {"vcpus": 4}}}, "x: 'memory_gib' is missing"),
        ({"price": 1}, "there is no field 'price'"),
    ],
)
def test_what_is_wrong_is_named_by_machine_and_field(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidInputError, match=re.escape(said)):
        machines.load_table(written(tmp_path, **changes))


@pytest.mark.parametrize(("name", "text"), [("a.json", "{"), ("a.toml", "= 1"), ("a.json", "[]"), ("a.json", "\udcff")])
def test_what_is_no_table_is_refused(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(InvalidInputError, match="expected"):
        machines.load_table(str(tmp_path / name))


def test_a_table_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"Cannot read the table of machines .*: No such file"):
        machines.load_table(str(tmp_path / "absent.json"))
