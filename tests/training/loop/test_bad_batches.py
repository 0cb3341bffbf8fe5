"""A batch whose update was not finite can be looked at afterwards."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from tests.data.pipeline.pictures import some_data
from unstall.data.pipeline import Pipeline, PipelineSettings
from unstall.training.loop import loss_monitor

LOSSES = {"class": float("nan"), "box": 0.5}


def test_it_is_written_with_the_names_of_its_examples(tmp_path: Path) -> None:
    data = some_data(tmp_path)
    with Pipeline(data, PipelineSettings(batch_size=4, height_px=64, width_px=96, num_input_workers=1)).batches() as batches:
        batch = next(batches)
    path = Path(loss_monitor.write_bad_batch(tmp_path / "bad", 17, batch, data, LOSSES, float("inf")))
    arrays = np.load(path)
    assert (arrays["images"] == batch.images).all() and (arrays["boxes"] == batch.boxes).all()
    plain = json.loads(path.with_suffix(".json").read_text())
    assert plain["step"] == 17 and plain["losses"] == {"class": "nan", "box": "0.5"} and plain["gradient_norm"] == "inf"
    rows = loss_monitor.list_batch_rows(batch)
    assert [each["row"] for each in plain["examples"]] == rows == batch.rows.tolist()
    assert [each["name"] for each in plain["examples"]] == [data.examples[row].name for row in rows]


def test_only_the_first_few_are_written_and_a_disk_that_refuses_costs_nothing(tmp_path: Path) -> None:
    data = some_data(tmp_path)
    with Pipeline(data, PipelineSettings(batch_size=4, height_px=64, width_px=96, num_input_workers=1)).batches() as batches:
        batch = next(batches)
    paths = [loss_monitor.write_bad_batch(tmp_path / "bad", step, batch, data, LOSSES, 1.0) for step in range(12)]
    assert all(paths[: loss_monitor.MAX_BAD_BATCHES]) and not any(paths[loss_monitor.MAX_BAD_BATCHES :])
    assert (
        loss_monitor.write_bad_batch(tmp_path / "bad", 0, batch, data, LOSSES, 1.0) == paths[0]
    )  # the same step of a run that went back
    (tmp_path / "file").write_text("in the way")
    assert loss_monitor.write_bad_batch(tmp_path / "file", 1, batch, data, LOSSES, 1.0) == ""
