"""`unstall import tfod` as a person meets it, and a training by what it wrote."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.test_cli import as_json, call
from tests.tfod.configs import SSD, written


@pytest.fixture
def config(tmp_path: Path) -> str:
    path = tmp_path / "pipeline.config"
    path.write_text(written(SSD, train="batch_size: 4 num_steps: 2 sync_replicas: true"), encoding="utf-8")
    return str(path)


def test_settings_and_report_are_written_and_what_is_not_as_it_was_is_shown(tmp_path: Path, config: str) -> None:
    out = tmp_path / "out"
    done = call("import", "tfod", config, str(out))
    assert done.returncode == 0, done.stderr
    assert "sync_replicas: true" in done.stdout and "to be set: data" in done.stdout
    assert f"Next, once the paths are set: unstall train --config {out / 'unstall.toml'}" in done.stdout
    assert "| `train_config.sync_replicas` | `true` | left out |" in (out / "import.md").read_text(encoding="utf-8")
    settings = call("train", "--config", str(out / "unstall.toml"), "--show-settings", "--json", "-")
    assert settings.returncode == 0, settings.stderr
    assert json.loads(settings.stdout)["settings"]["detector"]["image_size"] == [300, 320]
    again = call("import", "tfod", config, str(out))
    assert again.returncode == 2 and "is there already, and is not overwritten" in again.stderr


def test_the_report_as_json(tmp_path: Path, config: str) -> None:
    result = as_json("import", "tfod", config, str(tmp_path / "out"))
    assert (result["model"], result["out"]) == ("ssdlite320_mobilenet_v3_large", str(tmp_path / "out" / "unstall.toml"))
    assert sum(result["count"].values()) == len(result["fields"])
    assert {"line", "field", "value", "became", "to", "why"} == set(result["fields"][0])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("model {\n  ssd {\n    num_classes: 3\n", "pipeline.config:2: The block 'ssd' is never closed"),
        ("model { center_net { } }", "Received: CenterNet"),
        (
            "model { ssd { } }\ntrain_config {\n batch_size: lots }",
            "pipeline.config:3: train_config.batch_size: expected a whole number",
        ),
    ],
)
def test_mistakes_are_named_and_nothing_is_written(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "pipeline.config").write_text(text, encoding="utf-8")
    done = call("import", "tfod", str(tmp_path / "pipeline.config"), str(tmp_path / "out"))
    assert (done.returncode, done.stdout) == (2, "") and said in done.stderr
    assert not (tmp_path / "out").exists()
