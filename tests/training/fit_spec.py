"""Training from Python: `fit` makes the steps of `unstall train`, and callbacks of Keras work with it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest

from unstall.base.errors import InvalidInputError
from unstall.data.pipeline import Batch, Pipeline, PipelineSettings
from unstall.data.synthetic.shapes import Shapes, as_data_set, create_draft, write_shapes
from unstall.detectors import create_model
from unstall.detectors.detector import Detector
from unstall.training.fit import fit, resolve_step_settings
from unstall.training.step.step import Step

PX = 64
EPOCHS = 2
RULES = {"learning_rate": 1e-3, "warmup_steps": 0}


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Pipeline:
    folder = tmp_path_factory.mktemp("shapes")
    data = as_data_set(create_draft(Shapes(16, PX, PX, seed=1, empty_share=0.3), folder, {}), folder, "coco")
    return Pipeline(data, PipelineSettings(batch_size=4, height_px=PX, width_px=PX, max_boxes_per_image=9, num_input_workers=1))


def tiny() -> Detector:
    keras.utils.set_random_seed(3)
    return create_model("retinanet_tiny", image_size=(PX, PX), num_head_convs=1, fpn_channels=16, num_groups=2)


def weights_of(detector: Detector) -> list[np.ndarray]:
    return [keras.ops.convert_to_numpy(each).copy() for each in detector.trainable_variables]


def test_the_history_has_the_mean_losses_of_each_epoch_and_callbacks_see_them_grow(pipeline: Pipeline) -> None:
    of_steps: list[dict[str, float]] = []
    watch = keras.callbacks.LambdaCallback(on_train_batch_end=lambda _, logs: of_steps.append(dict(logs)))
    detector = tiny()
    before = weights_of(detector)
    history = fit(detector, pipeline, epochs=EPOCHS, verbose=0, callbacks=[watch], **RULES).history
    steps = pipeline.steps_per_epoch
    assert set(history) == {"loss", "class_loss", "box_loss"}
    assert len(history["loss"]) == EPOCHS and len(of_steps) == EPOCHS * steps
    for epoch in range(EPOCHS):
        assert history["loss"][epoch] == of_steps[(epoch + 1) * steps - 1]["loss"]
        assert np.isclose(history["loss"][epoch], history["class_loss"][epoch] + history["box_loss"][epoch], rtol=1e-4)
    assert any(not np.array_equal(a, b) for a, b in zip(before, weights_of(detector), strict=True))


def statistics_of(detector: Detector) -> list[np.ndarray]:
    found = [each for each in detector.non_trainable_variables if "moving" in each.name]
    assert found
    return [keras.ops.convert_to_numpy(each).copy() for each in found]


def test_training_changes_weights_and_the_statistics_of_norms(pipeline: Pipeline) -> None:
    detector = tiny()
    before = [*statistics_of(detector), weights_of(detector)[0]]
    fit(detector, pipeline, verbose=0, **RULES)
    after = [*statistics_of(detector), weights_of(detector)[0]]
    assert not any(np.array_equal(a, b) for a, b in zip(before, after, strict=True))


def test_a_validation_changes_neither_weights_nor_statistics(pipeline: Pipeline) -> None:
    validated, plain = tiny(), tiny()
    fit(validated, pipeline, epochs=EPOCHS, validation_data=pipeline.data, verbose=0, **RULES)
    fit(plain, pipeline, epochs=EPOCHS, verbose=0, **RULES)
    for of in (weights_of, statistics_of):
        assert all(np.array_equal(a, b) for a, b in zip(of(validated), of(plain), strict=True))


def test_its_steps_are_those_of_unstall_train(pipeline: Pipeline) -> None:
    fitted, stepped = tiny(), tiny()
    fit(fitted, pipeline, verbose=0, **RULES)
    step = Step(stepped, resolve_step_settings(stepped, pipeline, 1, RULES), pipeline.steps_per_epoch)
    with pipeline.batches() as batches:
        for batch in batches:
            step(batch.inputs())
    assert all(np.array_equal(a, b) for a, b in zip(weights_of(fitted), weights_of(stepped), strict=True))


def test_a_callback_stops_it_and_a_validation_is_in_its_logs(pipeline: Pipeline) -> None:
    seen: list[dict[str, float]] = []

    class Stops(keras.callbacks.Callback):  # type: ignore[misc]
        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            seen.append(dict(logs))
            self.model.stop_training = True

    history = fit(tiny(), pipeline, epochs=5, validation_data=pipeline.data, verbose=0, callbacks=[Stops()], **RULES)
    assert len(history.history["loss"]) == 1
    assert 0 <= seen[0]["val_AP"] <= 1 and 0 <= seen[0]["val_AP50"] <= 1


def test_the_detector_ends_with_the_averages_of_its_weights(pipeline: Pipeline) -> None:
    averaged, plain = tiny(), tiny()
    fit(averaged, pipeline, verbose=0, ema_decay=0.9, **RULES)
    fit(plain, pipeline, verbose=0, **RULES)
    assert any(not np.array_equal(a, b) for a, b in zip(weights_of(averaged), weights_of(plain), strict=True))


def test_a_setting_that_is_not_of_a_step_is_refused_by_name(pipeline: Pipeline) -> None:
    with pytest.raises(InvalidInputError, match=r"there is no setting 'learning_rat'.*learning_rate"):
        fit(tiny(), pipeline, learning_rat=1.0)
    with pytest.raises(InvalidInputError, match=r"learning_rate: expected a number from 0 to 100\. Received: -1\.0"):
        fit(tiny(), pipeline, learning_rate=-1.0)


def test_the_example_in_the_docs_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a smaller model, smaller images and fewer epochs."""
    write_shapes(tmp_path / "photographs", Shapes(16, PX, PX, 1), "coco", splits={})
    monkeypatch.chdir(tmp_path)
    text = (Path(__file__).parents[2] / "docs" / "training.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    for written, smaller in {
        'retinanet_resnet50_fpn_v2"': 'retinanet_tiny", num_head_convs=1', "640": str(PX), "epochs=12": "epochs=1", ', precision="mixed_bfloat16"': "",
    }.items():  # fmt: skip
        assert written in code
        code = code.replace(written, smaller)
    names: dict[str, Any] = {}
    exec(code, names)
    assert np.isfinite(names["history"].history["loss"]).all() and names["boxes"].shape[-1] == 4


def test_a_detector_that_is_no_published_variant_is_trained_by_the_usual_settings(pipeline: Pipeline) -> None:
    detector = tiny()
    detector.name = "retinanet"  # as one that was built from a weights file without a variant
    assert np.isfinite(fit(detector, pipeline, verbose=0, **RULES).history["loss"]).all()


def test_a_verbosity_that_keras_does_not_have_is_refused(pipeline: Pipeline) -> None:
    with pytest.raises(InvalidInputError, match=r"verbose: expected 'auto', 0, 1 or 2\. Received: 'loud'"):
        fit(tiny(), pipeline, verbose="loud")


def test_crowds_are_not_learned(pipeline: Pipeline) -> None:
    with pipeline.batches() as batches:
        batch: Batch = next(batches)
    crowd = batch.mask.copy()
    crowd[:, 1:] = False
    given = replace(batch, crowd=crowd).inputs()
    assert not given["mask"][:, 0].any() and (given["mask"][:, 1:] == batch.mask[:, 1:]).all()
    assert set(given) == {"images", "boxes", "classes", "mask"}


def test_a_policy_of_the_program_does_not_narrow_boxes() -> None:
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        made = tiny()
    finally:
        keras.config.set_dtype_policy("float32")
    assert made.compute_dtype == "float32"
    assert {layer.compute_dtype for layer in made.class_head.convs} == {"float32"}  # the setting says so
