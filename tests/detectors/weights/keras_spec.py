"""Networks of keras.applications, as Keras saves them, and what they compute in torchvision's layout."""

from __future__ import annotations

from pathlib import Path

import h5py
import keras
import numpy as np
import pytest
from keras import ops

from tests.detectors.seeded import drawn
from unstall.base.errors import InvalidInputError
from unstall.detectors.layers.resnet import Norms, ResNet
from unstall.detectors.weights.formats.keras_files import PIXELS_PER_STD
from unstall.detectors.weights.layout import list_slots
from unstall.detectors.weights.names import BACKBONE_RULES
from unstall.detectors.weights.reader import read


def filled(model: keras.Model) -> keras.Model:
    for layer in model.layers:
        for variable in layer.variables:
            variable.assign(drawn(f"{layer.name}/{variable.name}", tuple(variable.shape)))
    return model


@pytest.fixture(scope="module")
def resnet() -> keras.Model:
    return filled(keras.applications.ResNet50(weights=None, include_top=False, input_shape=(64, 64, 3)))


@pytest.mark.parametrize("name", ["a.keras", "a.weights.h5", "a.h5"])
def test_resnet50_is_read_however_keras_wrote_it(name: str, resnet: keras.Model, tmp_path: Path) -> None:
    path = tmp_path / name
    resnet.save_weights(path) if name.endswith(".weights.h5") else resnet.save(path)
    found = read(path)
    assert found.written_by == "Keras" and any("halves the size in the first 1×1" in note for note in found.notes)
    assert len(found.tensors) == 53 * 5
    kernel = ops.convert_to_numpy(resnet.get_layer("conv3_block1_2_conv").kernel)
    np.testing.assert_array_equal(found.tensors["layer2.0.conv2.weight"].read(), kernel.transpose(3, 2, 0, 1))
    bias = ops.convert_to_numpy(resnet.get_layer("conv3_block1_2_conv").bias)
    mean = ops.convert_to_numpy(resnet.get_layer("conv3_block1_2_bn").moving_mean)
    np.testing.assert_allclose(found.tensors["layer2.0.bn2.running_mean"].read(), mean - bias, rtol=1e-6)


def test_the_first_stage_of_resnet50_computes_the_same(resnet: keras.Model, tmp_path: Path) -> None:
    """It does not halve the size, so that even where the stride lies makes no difference. Only the padding's colour does: at the
    border, zeros are the mean of Caffe there and torchvision's here."""
    resnet.save(tmp_path / "a.keras")
    tensors = read(tmp_path / "a.keras").tensors
    ours = ResNet(norms=Norms(epsilon=1.001e-5))
    ours(keras.KerasTensor((1, 64, 64, 3)))
    rule = BACKBONE_RULES["a ResNet"]
    sources = {rule(name): stored for name, stored in tensors.items()}
    for key, slot in list_slots(ours).items():
        slot.variable.assign(slot.to_ours(sources[key].read()))
    caffe = np.random.default_rng(0).normal(0, 60, (1, 64, 64, 3)).astype(np.float32)  # BGR, the mean taken away
    theirs = keras.Model(resnet.input, resnet.get_layer("conv2_block3_out").output)(caffe)
    here = ours(caffe[..., ::-1] / PIXELS_PER_STD)[0]
    scale = float(ops.max(ops.abs(theirs)))
    np.testing.assert_allclose(ops.convert_to_numpy(here) / scale, ops.convert_to_numpy(theirs) / scale, atol=1e-5)


def test_vgg16_and_mobilenet_v3_have_the_keys_of_torchvisions(tmp_path: Path) -> None:
    vgg = keras.applications.VGG16(weights=None, include_top=False, input_shape=(32, 32, 3))
    vgg.save(tmp_path / "vgg.keras")
    found = read(tmp_path / "vgg.keras").tensors
    convs = (0, 2, 5, 7, 10, 12, 14, 17, 19, 21, 24, 26, 28)
    assert set(found) == {f"features.{number}.{kind}" for number in convs for kind in ("weight", "bias")}
    first = ops.convert_to_numpy(vgg.get_layer("block1_conv1").kernel)
    np.testing.assert_array_equal(found["features.0.weight"].read(), first[:, :, ::-1].transpose(3, 2, 0, 1))
    keras.applications.MobileNetV3Large(weights=None, include_top=False, input_shape=(64, 64, 3)).save(tmp_path / "mobile.keras")
    found = read(tmp_path / "mobile.keras").tensors
    shapes = {name: stored.shape for name, stored in found.items()}
    assert shapes["features.0.0.weight"] == (16, 3, 3, 3) and shapes["features.16.1.running_var"] == (960,)
    assert shapes["features.1.block.1.0.weight"] == (16, 16, 1, 1)  # the first block expands nothing
    assert shapes["features.4.block.1.0.weight"] == (72, 1, 5, 5) and shapes["features.4.block.2.fc1.weight"] == (24, 72, 1, 1)
    assert shapes["features.13.block.3.0.weight"] == (160, 672, 1, 1)
    assert len(shapes) == 46 * 5 + 8 * 4  # convolutions with their norms, and eight squeezes of two convolutions with biases


def test_another_network_is_refused_with_those_that_can_be_taken(tmp_path: Path) -> None:
    keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)]).save(tmp_path / "a.keras")
    with pytest.raises(InvalidInputError, match="ResNet50, VGG16 and MobileNetV3Large can be taken"):
        read(tmp_path / "a.keras")


def test_what_lies_in_another_file_is_not_opened(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["secret"] = np.ones(3, np.float32)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["conv2_block1_0_conv"] = h5py.ExternalLink(str(tmp_path / "other.h5"), "/secret")
    with pytest.raises(InvalidInputError, match="Its layers are named: none"):
        read(tmp_path / "a.h5")
    (tmp_path / "raw").write_bytes(bytes(12))
    with h5py.File(tmp_path / "b.h5", "w") as file:
        file.create_dataset("layer/kernel", (3,), np.float32, external=[(str(tmp_path / "raw"), 0, 12)])
    with pytest.raises(InvalidInputError, match="lies in another file"):
        read(tmp_path / "b.h5")


@pytest.mark.parametrize("share", [0.3, 0.9])
def test_a_file_that_is_cut_off_is_refused(share: float, tmp_path: Path) -> None:
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(200)])
    for name in ("a.h5", "a.keras"):
        model.save(tmp_path / name)
        raw = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(raw[: int(len(raw) * share)])
        with pytest.raises(InvalidInputError, match="cut off"):
            read(tmp_path / name)
