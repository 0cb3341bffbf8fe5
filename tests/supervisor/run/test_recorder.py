"""What the recorder notes of the data that a program has met."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from unstall.data.io import record_features, tfrecord_file
from unstall.journal.events import ClassesCompared, DataMeasured, DataMet, Event
from unstall.journal.run_folder import RunFolder
from unstall.supervisor.recorder import Recorder


def run_now(_: str, work: Callable[[], None]) -> None:
    work()


def test_the_classes_of_records_that_were_met_are_compared_with_the_label_map(tmp_path: Path) -> None:
    records, config = tmp_path / "train.record", tmp_path / "pipeline.config"
    with records.open("wb") as file:
        values: dict[str, record_features.Values] = {"image/encoded": [b"\xff\xd8\xff"], "image/object/class/label": [1, 7]}
        tfrecord_file.write(file, record_features.encode_example(values))
    (tmp_path / "labels.pbtxt").write_text("item { id: 1 name: 'cat' }\n")
    config.write_text("num_classes: 1\nlabel_map_path: 'labels.pbtxt'\n")
    (tmp_path / "run").mkdir()
    noted: list[Event] = []
    command = ["python", "train.py", str(config)]
    recorder = Recorder(RunFolder(tmp_path / "run"), os.getpid(), noted.append, command, str(tmp_path), {})
    recorder.begin({}, run_now)
    recorder.look([DataMet(at=time.time(), paths=[str(records)], how="TFRecordDataset")])
    recorder.finish()
    compared = [event for event in noted if isinstance(event, ClassesCompared)]
    assert any(isinstance(event, DataMeasured) for event in noted)
    assert [(event.objects, event.not_in_map, event.value) for event in compared] == [(2, 1, 7)]
