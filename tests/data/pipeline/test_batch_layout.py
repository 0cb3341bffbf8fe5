"""A batch packed into bytes is the same batch again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.data.pipeline.pictures import some_data
from unstall.data.pipeline import Pipeline, PipelineSettings
from unstall.data.pipeline.batch import Layout

SETTINGS = PipelineSettings(batch_size=3, height_px=64, width_px=80, num_input_workers=1)


@pytest.mark.parametrize("max_boxes_per_image", [1, 7])  # odd counts: numbers must still begin where their kind may
def test_what_is_packed_comes_back(tmp_path: Path, max_boxes_per_image: int) -> None:
    pipeline_settings = replace(SETTINGS, max_boxes_per_image=max_boxes_per_image)
    layout = Layout(pipeline_settings)
    with Pipeline(some_data(tmp_path, 7), pipeline_settings).batches(epoch=4) as batches:
        for batch in batches:
            packed = layout.packed(batch)
            assert packed.shape == (layout.bytes,)
            again = layout.batch(batch.images, packed)
            assert (again.epoch, again.step, again.images is batch.images) == (4, batch.step, True)
            for name, array in batch.arrays().items():
                other = again.arrays()[name]
                assert array.dtype == other.dtype and np.array_equal(array, other) and other.flags.aligned, name
