"""Which machine is the cheapest that fits: by plans of memory whose answers are known, so that no compiler is asked."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.test_cli import call
from tests.planning.memory.test_planner import MIB, SETTINGS, Known
from unstall.cloud import machines
from unstall.cloud import plan as machine_plan
from unstall.cloud.plan import Input, Offer, Plan, TrainingRequest, measure_input
from unstall.planning import memory
from unstall.planning.memory import client, compiler
from unstall.planning.memory.devices import Device

TABLE = machines.load_table()
WANTED = TrainingRequest(SETTINGS, parameters=34_000_000, images=1000, largest_pixels=640 * 480, input=Input())


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> Known:
    """Every answer of the compiler is remembered."""
    knows = Known(400 * MIB)
    monkeypatch.setattr(client, "recall_answer", knows.recall)
    monkeypatch.setattr(compiler, "can_compile", lambda for_card: True)
    return knows


def plan_of(wanted: TrainingRequest) -> Plan:
    def plan(device: Device) -> memory.MemoryPlan:
        return memory.plan(wanted.settings, device, 20, largest_pixels=wanted.largest_pixels, finds_largest=False)

    return plan


def offers_of(wanted: TrainingRequest, looks_at_all: bool = False) -> list[Offer]:
    return machine_plan.plan_machines(wanted, TABLE, plan_of(wanted), looks_at_all=looks_at_all)


def chosen_for(wanted: TrainingRequest) -> Offer:
    found = machine_plan.choose_machine(offers_of(wanted))
    assert found is not None
    return found


# --- the cheapest ---


def test_the_cheapest_card_that_fits_is_chosen_and_the_dearer_ones_are_not_looked_at(known: Known) -> None:
    offers = offers_of(WANTED)
    best = machine_plan.choose_machine(offers)
    assert best is not None and best.machine.name == "g2-standard-4" and best.changes == {}
    after = offers[offers.index(best) + 1 :]
    assert after and all(each.status == "not looked at" and each.need_bytes is None for each in after)
    assert len({str(asked.card.get("description")) for asked in known.asked}) == 1  # one plan serves all machines with an L4


def test_a_batch_that_fits_only_with_changes_says_them(known: Known) -> None:
    known.per_image = 2000 * MIB
    best = chosen_for(WANTED)
    assert best.machine.card == "l4" and best.changes["precision"] == "bfloat16"


def test_what_no_l4_can_hold_goes_to_the_next_card(known: Known) -> None:
    known.per_image = 80_000 * MIB
    offers = offers_of(WANTED)
    refused = next(each for each in offers if each.machine.name == "g2-standard-4")
    assert refused.status == "does not fit" and "of" in refused.why and "NVIDIA L4" in refused.why
    assert chosen_for(WANTED).machine.card == "a100_40gb"


def test_a_price_that_is_not_known_comes_last_and_is_never_the_cheapest(known: Known) -> None:
    unpriced = [each for each in offers_of(WANTED, looks_at_all=True) if each.price is None]
    assert any(each.fits for each in unpriced)
    only = replace(TABLE, machines=tuple(each.machine for each in unpriced))
    assert machine_plan.choose_machine(machine_plan.plan_machines(WANTED, only, plan_of(WANTED))) is None


def test_spot_prices_are_asked_for(known: Known) -> None:
    on_demand, spot = chosen_for(WANTED), chosen_for(replace(WANTED, is_spot=True))
    assert on_demand.price == on_demand.machine.per_hour and spot.price == spot.machine.per_hour_spot


def test_a_large_detector_is_not_sent_to_a_machine_without_a_card(known: Known) -> None:
    refused = [each for each in offers_of(WANTED) if each.machine.card is None and each.status != "not looked at"]
    assert refused and all("no card for 34.0 million weights" in each.why for each in refused)
    assert chosen_for(replace(WANTED, parameters=400_000)).machine.card is None


def test_the_machines_own_memory_must_hold_the_cache(known: Known) -> None:
    wanted = replace(WANTED, settings=replace(SETTINGS, cache_bytes=40 * 2**30))
    refused = next(each for each in offers_of(wanted) if each.machine.name == "g2-standard-4")
    assert "of the machine's own memory" in refused.why
    assert chosen_for(wanted).machine.memory_gib > 40


# --- what feeds it ---


def test_cores_that_decode_too_little_for_the_card_do_not_fit(known: Known) -> None:
    wanted = replace(WANTED, input=Input(core_images_per_s=50.0, image_bytes=1e5), images_per_s=400.0)
    best = chosen_for(wanted)
    assert best.machine.name == "g2-standard-12" and best.fed_images_per_s == 550.0  # 11 of its 12 vCPUs
    starved = next(each for each in offers_of(wanted) if each.machine.name == "g2-standard-8")
    assert starved.why == "its cores make 350 images/s ready, the steps take 400"


def test_without_the_rate_of_the_steps_nothing_is_claimed_of_feeding_or_cost(known: Known) -> None:
    best = chosen_for(replace(WANTED, input=Input(core_images_per_s=50.0)))
    assert best.is_fed is None and machine_plan.compute_cost(WANTED, best) is None
    timed = replace(WANTED, images_per_s=10.0)
    assert machine_plan.compute_cost(timed, best) == pytest.approx(
        {"hours": 1000 * 12 / 36000, "money": 1000 * 12 / 36000 * 0.706832}
    )


def test_shapes_are_not_read() -> None:
    found = measure_input(None, SETTINGS)
    assert found.images_per_s(8) is None and "drawn" in found.why_not


def test_the_rate_of_a_core_is_that_of_the_trainings_own_pipeline(tmp_path: Path) -> None:
    from unstall.data.formats import read

    assert call("data", "shapes", str(tmp_path / "shapes"), "--num-images", "12").returncode == 0
    found = measure_input(read(str(tmp_path / "shapes")), replace(SETTINGS, detector={"image_size": [64, 64]}))
    assert (found.core_images_per_s or 0) > 0 and (found.image_bytes or 0) > 0 and found.read_images_per_s is None


# --- many workers ---


def test_each_worker_has_a_card_and_its_share_of_the_batch(known: Known) -> None:
    wanted = replace(WANTED, settings=replace(SETTINGS, num_workers=4))
    best = chosen_for(wanted)
    assert (best.machine.name, best.count) == ("g2-standard-4", 4) and best.price == pytest.approx(4 * 0.706832)
    assert {asked.settings["batch_size"] for asked in known.asked if asked.phase == "training"} == {4}


# --- as a person meets it ---


@pytest.mark.jax
def test_the_command_names_the_cheapest_for_the_shapes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("KERAS_BACKEND", "jax")
    text = tmp_path / "plan.json"
    done = call("cloud", "plan", "--batch-size", "4", "--detector", "image_size=64,64", "--json", str(text), COLUMNS="160")
    plain = json.loads(text.read_text())
    assert plain["chosen"]["machine"] == "e2-standard-4" and plain["cost"] is None
    assert f"the cheapest that fits: e2-standard-4, 0.13 USD/h at the price of {TABLE.taken_on}" in done.stdout
    assert "input: unknown" in done.stdout


def test_a_wrong_table_is_refused_before_anything_is_planned() -> None:
    done = call("cloud", "plan", "--prices", "absent.json")
    assert done.returncode == 2 and "Cannot read the table of machines 'absent.json'" in done.stderr


def test_old_prices_are_said_to_be_old_and_fresh_ones_are_not() -> None:
    import io

    from rich.console import Console

    from unstall.cloud.terminal import show_plan

    def shown(age_days: int) -> str:
        table = {**TABLE.said(), "age_days": age_days}
        plain = {
            "model": "ssd_tiny", "batch_size": 8, "is_spot": False, "images_per_s": None, "table": table, "offers": [],
            "input": Input(why_not="none").as_plain(), "chosen": None, "cost": None,
        }  # fmt: skip
        out = io.StringIO()
        show_plan(plain, Console(file=out, width=200))
        return out.getvalue()

    assert "these prices are 20 months old; put yours in their place: --prices FILE" in shown(619)
    assert "old" not in shown(10)
