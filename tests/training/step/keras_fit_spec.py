"""Training by Keras's `fit`, on the batches of the pipeline."""

from __future__ import annotations

from dataclasses import replace

import keras
import numpy as np
import pytest

from unstall.data.pipeline import Batch, Pipeline, Settings
from unstall.data.synthetic.files import as_data_set, create_draft
from unstall.data.synthetic.shapes import Shapes
from unstall.detectors import build
from unstall.training.step.keras_fit import Fitting, feed, select_inputs

PX = 64
EPOCHS = 2


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Pipeline:
    folder = tmp_path_factory.mktemp("shapes")
    data = as_data_set(create_draft(Shapes(16, PX, PX, seed=1, empty_share=0.3), folder, {}), folder, "coco")
    return Pipeline(data, Settings(batch_size=4, height_px=PX, width_px=PX, max_boxes_per_image=9, num_input_workers=1))


@pytest.fixture(scope="module")
def fitting() -> Fitting:
    made = Fitting(build("retinanet_tiny", image_px=(PX, PX)))
    made.compile(keras.optimizers.Adam(1e-3))
    return made


def statistics(fitting: Fitting) -> list[np.ndarray]:
    found = [each for each in fitting.detector.non_trainable_variables if "moving" in each.name]
    assert found
    return [keras.ops.convert_to_numpy(each).copy() for each in found]


def test_losses_are_shown_as_the_means_of_the_epoch(pipeline: Pipeline, fitting: Fitting) -> None:
    steps = pipeline.steps_per_epoch
    of_steps: list[dict[str, float]] = []
    watch = keras.callbacks.LambdaCallback(on_train_batch_end=lambda _, logs: of_steps.append(dict(logs)))
    with pipeline.batches(epochs=EPOCHS) as batches:
        history = fitting.fit(feed(batches), steps_per_epoch=steps, epochs=EPOCHS, verbose=0, callbacks=[watch]).history
    assert set(history) == {"loss", "class_loss", "box_loss"}
    assert len(history["loss"]) == EPOCHS and len(of_steps) == EPOCHS * steps
    for epoch in range(EPOCHS):
        last = of_steps[(epoch + 1) * steps - 1]  # what is shown after a step is the mean so far
        assert np.isclose(history["loss"][epoch], last["loss"], rtol=1e-5)
        assert np.isclose(history["loss"][epoch], history["class_loss"][epoch] + history["box_loss"][epoch], rtol=1e-4)
    assert not np.isclose(of_steps[0]["loss"], of_steps[steps - 1]["loss"], rtol=1e-6)


def test_validation_changes_neither_weights_nor_statistics(pipeline: Pipeline, fitting: Fitting) -> None:
    before = [*statistics(fitting), *(keras.ops.convert_to_numpy(each).copy() for each in fitting.trainable_variables)]
    with pipeline.batches() as batches:
        found = fitting.evaluate(feed(batches), steps=2, verbose=0, return_dict=True)
    after = [*statistics(fitting), *(keras.ops.convert_to_numpy(each) for each in fitting.trainable_variables)]
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))
    assert set(found) == {"loss", "class_loss", "box_loss"} and all(np.isfinite(value) for value in found.values())


def test_training_changes_both(pipeline: Pipeline, fitting: Fitting) -> None:
    before = [*statistics(fitting), keras.ops.convert_to_numpy(fitting.trainable_variables[0]).copy()]
    with pipeline.batches() as batches:
        fitting.fit(feed(batches), steps_per_epoch=1, verbose=0)
    after = [*statistics(fitting), keras.ops.convert_to_numpy(fitting.trainable_variables[0])]
    assert not any(np.array_equal(a, b) for a, b in zip(before, after, strict=True))


def test_crowds_are_not_learned(pipeline: Pipeline) -> None:
    with pipeline.batches() as batches:
        batch: Batch = next(batches)
    crowd = batch.mask.copy()
    crowd[:, 1:] = False
    given = select_inputs(replace(batch, crowd=crowd))
    assert not given["mask"][:, 0].any() and (given["mask"][:, 1:] == batch.mask[:, 1:]).all()
    assert set(given) == {"images", "boxes", "classes", "mask"}


def test_a_policy_of_the_program_does_not_narrow_boxes(fitting: Fitting) -> None:
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        made = Fitting(build("retinanet_tiny", image_px=(PX, PX)))
    finally:
        keras.config.set_dtype_policy("float32")
    assert made.compute_dtype == made.detector.compute_dtype == "float32"
    assert {layer.compute_dtype for layer in made.detector.class_head.convs} == {"float32"}  # the setting says so
