"""Settings of a config are trained by: a few steps, on one backend, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tfod.configs import FASTER_RCNN, RETINANET, SSD, converted, written
from unstall.data.synthetic.shapes import Shapes, write_shapes
from unstall.tfod.conversion import write
from unstall.tfod.inputs import PathOverrides

PROGRAM = """
import sys
from pathlib import Path
from unstall.config.detectors import create_settings
from unstall.config.sources import resolve
from unstall.training.loop import setup
from unstall.training.loop.datasets import load_datasets
from unstall.training.step.step import Step

ssd, *others = sys.argv[1:]
for file in others:
    settings = resolve({}, file).settings
    create_settings(settings.model, **settings.detector)
settings = resolve({"detector": {"image_size": [64, 64]}}, ssd).settings
learned = load_datasets(settings, (64, 64), Path("."))
detector = setup.build_detector(settings, learned.classes, print)
pipeline = setup.create_pipeline(settings, detector, learned.train)
step = Step(detector, settings, settings.epochs * pipeline.steps_per_epoch)
with pipeline.batches(epochs=settings.epochs) as batches:
    numbers = [step(batch.inputs()).read() for batch in batches]
print(len(numbers), all(each.is_applied for each in numbers), detector.settings.num_classes)
"""


@pytest.mark.torch
def test_each_family_is_built_and_ssd_is_trained_for_the_steps_of_the_config(tmp_path: Path) -> None:
    write_shapes(tmp_path / "data", Shapes(8, 64, 64, 0), "tfrecord", splits={})
    records, labels = str(tmp_path / "data" / "data.record"), str(tmp_path / "data" / "label_map.pbtxt")
    files = []
    for number, model in enumerate((SSD, RETINANET, FASTER_RCNN)):
        text = written(model, train="batch_size: 4 num_steps: 2 data_augmentation_options { ssd_random_crop { } }")
        write(converted(text, PathOverrides(records, labels, records)), str(tmp_path / str(number)))
        files.append(str(tmp_path / str(number) / "unstall.toml"))
    environment = {**os.environ, "KERAS_BACKEND": "torch", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *files], capture_output=True, text=True, check=False, env=environment, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.splitlines()[-1] == "2 True 6"
