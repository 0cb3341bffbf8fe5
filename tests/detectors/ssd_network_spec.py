"""The networks of SSD against the same networks in plain PyTorch modules; and what does not hang on a backend: sizes, settings, freezing.

KERAS_BACKEND=torch pytest tests/detectors/ssd_network_spec.py
"""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import pytest
import torch
from keras import ops

from tests.detectors import ssd_in_torch as plain
from tests.detectors.gradients import differentiated
from tests.detectors.layers.random_boxes import array
from tests.detectors.seeded import batch, set_weights
from unstall.base.errors import InvalidInputError
from unstall.detectors import create_model
from unstall.detectors.layers.conv_norm import list_leaf_layers
from unstall.detectors.layers.mobilenet_v3 import MobileNetV3
from unstall.detectors.layers.resnet import Norms
from unstall.training.step.step import LossModel

NORMS = {"gamma": "weight", "beta": "bias", "moving_mean": "running_mean", "moving_variance": "running_var", "bias": "bias"}
CLOSE = 1e-4  # of the largest value


def by_key(model: Any) -> dict[str, torch.Tensor]:
    """Our variables, by torchvision's keys and in its order of axes."""
    found = {}
    for layer in list_leaf_layers(model):
        for variable in (*layer._trainable_variables, *layer._non_trainable_variables):
            value = array(variable)
            if variable.name == "kernel" and isinstance(layer, keras.layers.DepthwiseConv2D):
                key, value = "weight", value.transpose(2, 3, 0, 1)
            elif variable.name == "kernel":
                key, value = "weight", value.transpose(3, 2, 0, 1)
            else:
                key = NORMS.get(variable.name, variable.name)
            assert f"{layer.name}.{key}" not in found, f"two variables for {layer.name}.{key}"
            found[f"{layer.name}.{key}"] = torch.tensor(np.ascontiguousarray(value))
    return found


def take(network: torch.nn.Module, model: Any) -> None:
    """Our weights into a plain network. Every key must be there, none may be left over, every shape must fit."""
    ours = by_key(model)
    theirs = {key for key in network.state_dict() if not key.endswith("num_batches_tracked")}
    assert set(ours) == theirs, (sorted(set(ours) - theirs)[:5], sorted(theirs - set(ours))[:5])
    network.load_state_dict(ours, strict=False)
    network.eval()


def parameters(model: Any) -> int:
    """As PyTorch counts: running statistics are none."""
    return sum(int(np.prod(each.shape)) for each in model.variables if not each.name.startswith("moving"))


def compared(variant: str, network: torch.nn.Module, mean: Any, std: float, count: int) -> None:
    detector = create_model(variant)
    set_weights(detector)
    assert parameters(detector) == count == sum(each.numel() for each in network.parameters())
    take(network, detector)
    images = np.random.default_rng(0).integers(0, 256, (1, *detector.settings.image_size, 3), np.uint8)
    with torch.no_grad():
        ours = detector(images, training=False)
        pixels = (torch.tensor(images).permute(0, 3, 1, 2) / 255.0 - torch.tensor(mean).view(1, 3, 1, 1)) / std
        theirs = network(pixels)
    for key, values in (("classes", 91), ("boxes", 4)):
        for level, (own, outputs) in enumerate(zip(ours[key], theirs[key], strict=True)):
            batch, channels, height, width = outputs.shape
            other = (
                outputs.view(batch, channels // values, values, height, width).permute(0, 3, 4, 1, 2).reshape(batch, -1, values)
            )
            assert own.shape == other.shape
            distance = float((own - other).abs().max() / other.abs().max())
            assert distance < CLOSE, (variant, key, level, distance)


def test_ssd300_is_the_published_network() -> None:
    compared("ssd300_vgg16", plain.ssd300(91), (0.48235, 0.45882, 0.40784), 1 / 255, 35_641_826)


def test_ssdlite_is_the_published_network() -> None:
    compared("ssdlite320_mobilenet_v3_large", plain.ssdlite(91), (0.5, 0.5, 0.5), 0.5, 3_440_060)


def test_mobilenet_gives_faster_r_cnn_the_published_maps() -> None:
    backbone = MobileNetV3(Norms(frozen=True, epsilon=1e-5))
    backbone(keras.KerasTensor((1, 96, 64, 3)))
    set_weights(backbone)
    network = plain.Body()
    take(network, backbone)
    pixels = np.random.default_rng(0).normal(0, 1, (1, 97, 70, 3)).astype(np.float32)
    with torch.no_grad():
        ours = backbone(pixels, training=False)
        theirs = network(torch.tensor(pixels).permute(0, 3, 1, 2))
    assert [each.shape[-1] for each in ours] == [160, 960]
    for own, other in zip(ours, theirs, strict=True):
        assert float((ops.transpose(own, (0, 3, 1, 2)) - other).abs().max() / other.abs().max()) < CLOSE


def test_computing_again_changes_nothing_in_mobilenet() -> None:
    """Of which the block that is cut in two is not computed again, and gives two maps."""
    images = batch((64, 64), 2, (2, 1))
    found = []
    for remat in (False, True):
        detector = create_model("ssdlite320_mobilenet_v3_large", num_classes=2, image_size=(64, 64), remat=remat)
        set_weights(detector)
        found.append(differentiated(LossModel(detector), images))
    kept, again = found
    assert again.losses == pytest.approx(kept.losses, rel=1e-5)
    for key, gradient in kept.gradients.items():
        assert np.allclose(again.gradients[key], gradient, rtol=1e-3, atol=1e-4 * np.abs(gradient).max()), key
    assert all(np.allclose(again.states[key], state, rtol=1e-4, atol=1e-5) for key, state in kept.states.items())


# --- sizes and settings ---


def test_grids_are_those_of_the_layers() -> None:
    for variant, changes, variant_sizes in (
        ("ssd_tiny", {"stem_channels": 4}, [(97, 131), (127, 90)]),
        ("ssd300_vgg16", {"stem_channels": 4, "num_classes": 2}, [(281, 411)]),
        ("ssdlite320_mobilenet_v3_large", {"num_classes": 2}, [(33, 300)]),
    ):
        for height, width in variant_sizes:
            detector = create_model(variant, **changes, image_size=(height, width))
            levels = detector.levels(keras.KerasTensor((1, height, width, 3)), False)
            assert [tuple(level.shape[1:3]) for level in levels] == detector.grids, (variant, height, width)
            raw = detector(keras.KerasTensor((1, height, width, 3)))
            assert sum(each.shape[1] for each in raw["boxes"]) == len(detector.anchors)


def test_an_image_too_small_is_refused_by_name() -> None:
    refused("image_size: 200×320 is too small for 6 levels", "ssd300_vgg16", image_size=(200, 320), stem_channels=4)
    refused("image_size: expected height and width", "ssd_tiny", image_size=(0, 320))


def test_wrong_settings_are_refused_by_name() -> None:
    refused("scales: expected 4 entries", "ssd_tiny", scales=(0.1, 0.2))
    refused("aspect_ratios: expected those of 2 to 6 levels", "ssd_tiny", aspect_ratios=((2.0,),))
    refused("backbone: expected one of vgg, mobilenet_v3", "ssd_tiny", backbone="resnet")
    refused("trainable_backbone_layers: expected a whole number from 0 to 5", "ssd_tiny", trainable_backbone_layers=6)
    refused("neg_pos_ratio: expected 0 or more", "ssd_tiny", neg_pos_ratio=-1)
    refused("fg_iou_threshold: expected a share", "ssd_tiny", fg_iou_threshold=1.5)


def refused(message: str, variant: str, **changes: Any) -> None:
    try:
        create_model(variant, **changes)
    except InvalidInputError as error:
        assert message in str(error), str(error)
    else:
        raise AssertionError(f"{variant} took {changes}")


def test_stages_are_frozen_from_the_first_on() -> None:
    def learning(variant: str, stages: int, **changes: Any) -> set[str]:
        detector = create_model(variant, num_classes=2, trainable_backbone_layers=stages, **changes)
        learned = {id(variable) for variable in detector.trainable_variables}
        return {
            each.name
            for each in list_leaf_layers(detector.backbone)
            if any(id(variable) in learned for variable in each.variables)
        }

    thin = {"stem_channels": 4, "image_size": (300, 300)}
    assert learning("ssd300_vgg16", 5, **thin) - learning("ssd300_vgg16", 4, **thin) == {
        "backbone.features.0",
        "backbone.features.2",
    }
    added = {"backbone.extra.0.7.1", "backbone.extra.0.7.3"}
    assert learning("ssd300_vgg16", 1, **thin) == {f"backbone.extra.0.{number}" for number in (1, 3, 5)} | added
    assert learning("ssd300_vgg16", 0, **thin) == added
    lite = {"image_size": (64, 64)}
    assert learning("ssdlite320_mobilenet_v3_large", 1, **lite) == {"backbone.features.1.3.0", "backbone.features.1.3.1"}
