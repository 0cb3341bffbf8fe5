"""`unstall plan` as a person meets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.test_cli import as_json, call


def test_it_lists_the_cards() -> None:
    done = call("plan", "--list-devices")
    assert done.returncode == 0 and "h200" in done.stdout and "NVIDIA A100-SXM4-80GB" in done.stdout
    assert {each["name"] for each in as_json("plan", "--list-devices")["devices"]} >= {"h200", "h100", "a100", "t4"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--device", "h20"], "There is no device 'h20' in the table. Did you mean 'h200'?"),
        (["--model", "retinanet_tini"], "There is no detector 'retinanet_tini'. Did you mean 'retinanet_tiny'?"),
        (["--device", "h200", "--device-table", "absent.json"], "Cannot read the table of cards 'absent.json': No such file"),
        (["--batch-size", "0"], "--batch-size: expected a whole number from 1"),
    ],
)
def test_what_is_wrong_is_refused_at_once(options: list[str], said: str) -> None:
    done = call("plan", *options)
    assert done.returncode == 2 and said in done.stderr and "Traceback" not in done.stderr


@pytest.mark.jax
def test_a_tiny_detector_on_this_machines_cores(tmp_path: Path) -> None:
    text = tmp_path / "plan.json"
    options = ["--backend", "jax", "--device", "cpu", "--batch-size", "4", "--detector", "image_size=64,64", "--quick"]
    done = call("plan", *options, "--json", str(text), XDG_CACHE_HOME=str(tmp_path), COLUMNS="160")
    assert done.returncode == 0, done.stderr
    plain = json.loads(text.read_text())
    assert plain["fits"] and plain["changes"] == {} and plain["method"] == "estimated"
    assert "a batch of 4 fits as wanted" in done.stdout and "largest outputs" in done.stdout
