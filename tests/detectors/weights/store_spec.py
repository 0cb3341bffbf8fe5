"""Weights are loaded into the right places, turned the right way, and come back as they were."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
from keras import ops

from tests.detectors.seeded import set_weights
from tests.detectors.weights.checkpoints import checkpoint
from unstall.base.errors import InvalidInputError
from unstall.detectors import create_model
from unstall.detectors.detector import Detector
from unstall.detectors.layers.conv_norm import BatchNorm, Conv, DepthwiseConv
from unstall.detectors.weights.description import Description, read_description
from unstall.detectors.weights.layout import list_slots
from unstall.detectors.weights.store import build_from, load, save, write

TINY = "retinanet_tiny"
SMALL = {"image_size": (64, 96)}


class Flattened(keras.layers.Dense):
    flattened_from = (3, 4, 2)  # height, width, channels


class L2Norm(keras.layers.Layer):
    def build(self, shape: Any) -> None:
        self.scale = self.add_weight(name="scale_weight", shape=(shape[-1],), initializer="ones")

    def call(self, x: Any) -> Any:
        return x * self.scale


@pytest.fixture
def network() -> keras.Model:
    """One layer of each kind, on images of 3×4."""
    inputs = keras.Input((3, 4, 3))
    x = Conv(2, 3, name="a.conv")(inputs)
    x = BatchNorm(name="a.norm", trainable=False)(x)
    x = DepthwiseConv(3, name="b.conv", use_bias=False)(x)
    x = L2Norm(name="backbone")(x)
    return keras.Model(inputs, Flattened(5, name="d")(keras.layers.Flatten()(x)))


def as_pytorch(weights: dict[str, np.ndarray], image: np.ndarray) -> np.ndarray:
    """The same network on (channels, height, width), by PyTorch's definitions, number by number."""

    def conv(x: np.ndarray, kernel: np.ndarray, is_depthwise: bool) -> np.ndarray:
        padded = np.pad(x, ((0, 0), (1, 1), (1, 1)))
        out = np.zeros((len(kernel), *x.shape[1:]))
        for place in np.ndindex(*out.shape):
            window = padded[:, place[1] : place[1] + 3, place[2] : place[2] + 3]
            seen = window[place[0] : place[0] + 1] if is_depthwise else window
            out[place] = (seen * kernel[place[0]]).sum()
        return out

    def column(key: str) -> np.ndarray:
        return weights[key][:, None, None]

    x = conv(image, weights["a.conv.weight"], False) + column("a.conv.bias")
    x = (x - column("a.norm.running_mean")) / np.sqrt(column("a.norm.running_var") + 1e-5)
    x = x * column("a.norm.weight") + column("a.norm.bias")
    x = conv(x, weights["b.conv.weight"], True) * column("backbone.scale_weight")
    return weights["d.weight"] @ x.reshape(-1) + weights["d.bias"]


def test_each_kind_of_layer_computes_what_pytorchs_would(network: keras.Model) -> None:
    random = np.random.default_rng(0)
    places = list_slots(network)
    weights = {key: random.uniform(0.5, 1.5, slot.shape) * random.choice([1, -1], slot.shape) for key, slot in places.items()}
    weights["a.norm.running_var"] = np.abs(weights["a.norm.running_var"])
    assert {key: slot.shape for key, slot in places.items()} == {
        "a.conv.weight": (2, 3, 3, 3), "a.conv.bias": (2,), "a.norm.weight": (2,), "a.norm.bias": (2,),
        "a.norm.running_mean": (2,), "a.norm.running_var": (2,), "b.conv.weight": (2, 1, 3, 3), "backbone.scale_weight": (2,),
        "d.weight": (5, 24), "d.bias": (5,),
    }  # fmt: skip
    for key, slot in places.items():
        slot.variable.assign(slot.to_ours(weights[key]).astype(np.float32))
        np.testing.assert_allclose(slot.to_torch(ops.convert_to_numpy(slot.variable)), weights[key], rtol=1e-6)
    image = random.normal(size=(3, 3, 4))
    ours = ops.convert_to_numpy(network(image.transpose(1, 2, 0)[None].astype(np.float32)))[0]
    np.testing.assert_allclose(ours, as_pytorch(weights, image), rtol=1e-4)


def tensors_of(detector: Any) -> dict[str, np.ndarray]:
    return {key: np.array(slot.to_torch(ops.convert_to_numpy(slot.variable))) for key, slot in list_slots(detector).items()}


def assert_same(found: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> None:
    for key, array in expected.items():
        np.testing.assert_array_equal(found[key], array, err_msg=key)


@pytest.fixture(scope="module")
def source() -> Detector:
    """To build one takes seconds."""
    detector = create_model(TINY, **SMALL)
    set_weights(detector)
    return detector


def test_a_detector_saved_is_built_again_from_its_file_alone(source: Detector, tmp_path: Path) -> None:
    detector, names = source, ("a", "b", "c", "d", "e", "f")
    save(detector, tmp_path / "a.safetensors", names)
    again = build_from(tmp_path / "a.safetensors")
    assert again.settings == detector.settings and again.name == TINY
    assert read_description(tmp_path / "a.safetensors")[1].class_names == names
    assert_same(tensors_of(again), tensors_of(detector))
    with pytest.raises(InvalidInputError, match=r"expected 6, one for each class. Received: 1"):
        save(detector, tmp_path / "b.safetensors", ("cat",))
    with pytest.raises(InvalidInputError, match="Cannot write the weights"):
        save(detector, tmp_path / "absent" / "b.safetensors")


def test_a_torch_checkpoint_is_loaded_with_a_report(source: Detector, tmp_path: Path) -> None:
    detector = create_model(TINY, num_classes=5, **SMALL)
    arrays = tensors_of(source)
    before = tensors_of(detector)["head.classification_head.cls_logits.bias"]
    fit = load(detector, checkpoint(tmp_path / "a.pth", {**arrays, "odd": np.ones(3, np.float32)}, prefix="module."))
    new = {key for key in fit.new if "cls_logits" in key}
    assert set(fit.new) == new and len(new) == 2
    assert fit.left_out["module.odd"] == "no such tensor here"
    after = tensors_of(detector)
    assert_same(after, {key: arrays[key] for key in fit.taken})
    np.testing.assert_array_equal(after["head.classification_head.cls_logits.bias"], before)


def test_weights_of_something_else_are_refused(source: Detector, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=f"does not fit {TINY}: 0 of its"):
        load(source, checkpoint(tmp_path / "a.pth", {"w": np.ones(2, np.float32)}))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"holds": "backbone"}, "whose heads are not trained"),
        ({"holds": "headless"}, "whose class outputs are not trained"),
        ({"class_names": ("cat", "dog")}, "has 2 class_names, and 6 classes"),
        ({"settings": {"num_classes": 6, "colour": 1}}, "has no setting 'colour'"),
        ({"variant": "yolo", "detector": "yolo"}, "is of 'yolo', which is no detector here"),
        (
            {"settings": {"num_classes": 9}},
            "is not whole: 2 tensors are missing, the first is 'head.classification_head.cls_logits",
        ),
    ],
)
def test_a_file_from_which_no_whole_detector_can_be_built_is_refused(
    changes: dict[str, Any], said: str, source: Detector, tmp_path: Path
) -> None:
    arrays = tensors_of(source)
    path = tmp_path / "a.safetensors"
    write(path, arrays, Description(**{"variant": TINY, "settings": {"num_classes": 6}, **changes}))
    with pytest.raises(InvalidInputError, match=said):
        build_from(path)


def test_a_backbone_may_be_built_from_where_that_is_asked_for(source: Detector, tmp_path: Path) -> None:
    arrays = {key: array for key, array in tensors_of(source).items() if key.startswith("backbone.body.")}
    write(tmp_path / "a.safetensors", arrays, Description(TINY, holds="backbone"))
    detector = build_from(tmp_path / "a.safetensors", may_be_partial=True, num_classes=11, **SMALL)
    assert detector.settings.num_classes == 11
    assert_same(tensors_of(detector), arrays)


def test_classes_in_another_order_are_found_by_their_names(tmp_path: Path) -> None:
    names, others = ("red", "green", "blue"), ("blue", "red", "green")
    first, second = (create_model("ssd_tiny", num_classes=3, image_size=(64, 64)) for _ in range(2))
    set_weights(first)
    save(first, tmp_path / "w.safetensors", names)
    assert "each is taken by its name" in load(second, tmp_path / "w.safetensors", others).note
    images = np.random.default_rng(0).integers(0, 256, (1, 64, 64, 3), dtype=np.uint8)
    before, after = (each.detect(images) for each in (first, second))
    named = [
        [names_of[number] if number >= 0 else "" for number in ops.convert_to_numpy(found.classes)[0].tolist()]
        for found, names_of in ((before, names), (after, others))
    ]
    assert len(set(named[0])) > 1 and sorted(named[0]) == sorted(named[1])
    np.testing.assert_allclose(
        np.sort(ops.convert_to_numpy(before.scores)[0]), np.sort(ops.convert_to_numpy(after.scores)[0]), rtol=1e-5
    )
