"""What a checkpoint is of is recognised, and what does not fit is said. Of the large variants only names and shapes are made."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from tests.detectors.weights.checkpoints import checkpoint as torch_file
from unstall.base.errors import InvalidInputError
from unstall.config.detectors import list_variants
from unstall.detectors.weights import compatibility
from unstall.detectors.weights.compatibility import with_classes
from unstall.detectors.weights.description import read_description
from unstall.detectors.weights.importer import NAMES, import_checkpoint, import_file, write
from unstall.detectors.weights.names import BACKBONE_RULES, DETECTOR_RULES, list_prefixes
from unstall.detectors.weights.reader import Checkpoint
from unstall.detectors.weights.tensors import Array, StoredTensor

V1, V2, TINY = "retinanet_resnet50_fpn", "retinanet_resnet50_fpn_v2", "retinanet_tiny"


def unread() -> Array:
    raise AssertionError("names and shapes are enough")


def of_shapes(wanted: dict[str, tuple[int, ...]]) -> Checkpoint:
    return Checkpoint(
        Path("weights.pth"), "PyTorch", {name: StoredTensor(shape, "float32", unread) for name, shape in wanted.items()}
    )


def of_variant(variant: str, classes: int | None = None) -> dict[str, tuple[int, ...]]:
    known = compatibility.list_known_variants()[variant]
    return with_classes(known.shapes, known.classes, known.classes if classes is None else classes)


def backbone_of(variant: str) -> dict[str, tuple[int, ...]]:
    """As the ImageNet network has them, with its classifier."""
    own = {
        key.removeprefix("backbone.body."): shape
        for key, shape in of_variant(variant).items()
        if key.startswith("backbone.body.")
    }
    return {**own, "fc.weight": (1000, 2048), "fc.bias": (1000,), "bn1.num_batches_tracked": ()}


def test_the_shapes_of_every_variant_are_known() -> None:
    assert list(compatibility.list_known_variants()) == list(list_variants()), (
        "Write them again: python -m unstall.detectors.weights.compatibility"
    )


@pytest.mark.parametrize("variant", list_variants())
def test_a_detector_is_recognised_by_its_tensors(variant: str) -> None:
    found = import_checkpoint(of_shapes(of_variant(variant)))
    assert found.description.variant == variant
    assert found.description.holds == "detector" and not found.fit.new and not found.fit.left_out


def test_the_two_published_for_coco_without_epsilon_get_none() -> None:
    plain = of_variant(V1)
    found = import_checkpoint(of_shapes(plain))
    assert found.description.settings == {"num_classes": 90, "norm_epsilon": 0.0}
    assert found.description.class_names == NAMES and len(NAMES) == 90
    trained = {**plain, "backbone.body.bn1.num_batches_tracked": ()}
    assert "norm_epsilon" not in import_checkpoint(of_shapes(trained)).description.settings
    assert "norm_epsilon" not in import_checkpoint(of_shapes(of_variant(V1, classes=4))).description.settings
    assert "norm_epsilon" not in import_checkpoint(of_shapes(of_variant(V2))).description.settings
    assert import_checkpoint(of_shapes(plain), norm_epsilon=1e-5).description.settings["norm_epsilon"] == 1e-5


@pytest.mark.parametrize("classes", [1, 4, 200])
def test_a_detector_trained_for_other_classes_keeps_them(classes: int) -> None:
    found = import_checkpoint(of_shapes(of_variant(V2, classes)))
    assert (found.description.variant, found.classes, found.description.holds) == (V2, classes, "detector")
    assert found.description.class_names == ()


def test_for_other_classes_than_the_files_the_head_is_new() -> None:
    found = import_checkpoint(of_shapes(of_variant(V1)), classes=7)
    assert found.description.settings["num_classes"] == 7 and found.description.holds == "headless"
    assert set(found.fit.new) == {"head.classification_head.cls_logits.weight", "head.classification_head.cls_logits.bias"}
    (group,) = found.as_plain()["new"]  # one reason, whatever the shapes
    assert group["count"] == 2
    assert group["why"] == "classes differ, the head is new, as (819, 256, 3, 3) in the file, (72, 256, 3, 3) here"


def test_names_of_older_versions_are_understood() -> None:
    def older(name: str) -> str:
        name = re.sub(r"(fpn\.(inner|layer)_blocks\.\d)\.0\.", r"\1.", name)
        return re.sub(r"_head\.conv\.(\d)\.0\.", lambda found: f"_head.conv.{2 * int(found[1])}.", name)

    old = {older(name): shape for name, shape in of_variant(V1).items()}
    assert "backbone.fpn.inner_blocks.0.weight" in old and "head.regression_head.conv.6.bias" in old
    found = import_checkpoint(of_shapes(old))
    assert found.description.variant == V1 and found.description.holds == "detector"
    assert found.fit.taken["head.regression_head.conv.3.0.bias"] == "head.regression_head.conv.6.bias"


@pytest.mark.parametrize("prefix", ["module.", "model.module.", "module.pre."])
def test_prefixes_that_all_names_share_do_not_count(prefix: str) -> None:
    found = import_checkpoint(of_shapes({prefix + name: shape for name, shape in of_variant(V2).items()}))
    assert found.description.variant == V2 and found.description.holds == "detector"
    alone = import_checkpoint(of_shapes({prefix + name: shape for name, shape in backbone_of(V2).items()}), V2)
    assert alone.description.holds == "backbone"


def test_a_counter_or_a_loss_beside_the_network_does_not_hide_it() -> None:
    """As averaged models and Lightning's checkpoints have them."""
    shapes = {f"module.{name}": shape for name, shape in of_variant(V2).items()}
    found = import_checkpoint(of_shapes({"n_averaged": (), "criterion.weight": (3,), **shapes}))
    assert found.description.variant == V2 and found.description.holds == "detector"
    assert {"n_averaged", "criterion.weight"} <= set(found.fit.left_out)


def test_a_backbone_within_another_network_is_no_backbone() -> None:
    """DETR has a ResNet-50, and much else."""
    shapes = {f"backbone.0.body.{name}": shape for name, shape in backbone_of(V2).items()}
    others = {f"transformer.encoder.layers.{number}.linear1.weight": (2048, 256) for number in range(len(shapes) // 2)}
    with pytest.raises(InvalidInputError, match="fits no detector"):
        import_checkpoint(of_shapes({**others, **shapes}), V2)


def test_a_name_that_is_a_prefix_itself_ends_the_search() -> None:
    assert list_prefixes(["a.b.c", "a.b.d"]) == ["", "a.", "a.b."]
    assert list_prefixes(["a.b", "a.b"]) == ["", "a."] and list_prefixes(["x", "y.z"]) == [""] and list_prefixes([]) == [""]


def test_a_backbone_alone_is_taken_for_the_variant_that_is_named() -> None:
    found = import_checkpoint(of_shapes(backbone_of(V1)), V1)
    assert found.description.holds == "backbone" and V2 in found.also_fits
    assert all(key.startswith("backbone.body.") for key in found.fit.taken)
    assert found.fit.left_out == {
        "fc.weight": "the classifier of ImageNet, not needed",
        "fc.bias": "the classifier of ImageNet, not needed",
        "bn1.num_batches_tracked": "a counter of PyTorch's norms, not needed",
    }
    with pytest.raises(InvalidInputError, match=f"a ResNet, a backbone for several: .*{V1}, {V2}.* Say which with --variant"):
        import_checkpoint(of_shapes(backbone_of(V1)))


def test_a_deeper_network_is_not_taken_for_its_first_half() -> None:
    deeper = backbone_of(V1)
    block = {name.removeprefix("layer3.5."): shape for name, shape in deeper.items() if name.startswith("layer3.5.")}
    deeper |= {f"layer3.{number}.{name}": shape for number in range(6, 23) for name, shape in block.items()}
    with pytest.raises(
        InvalidInputError, match=r"fits no detector. The nearest is .*'layer3\.6\..*', for which there is no place"
    ):
        import_checkpoint(of_shapes(deeper))


def test_what_fits_nothing_is_refused_with_the_nearest() -> None:
    with pytest.raises(InvalidInputError, match=r"'weights.pth' fits no detector. The nearest is "):
        import_checkpoint(of_shapes({"encoder.weight": (3, 3), "backbone.body.conv1.weight": (64, 3, 7, 7)}))


def test_what_shares_nothing_has_no_nearest() -> None:
    with pytest.raises(
        InvalidInputError, match=r"none of its 1 tensors has .* 'encoder.weight', for which .* Detectors: .*ssd300_vgg16"
    ):
        import_checkpoint(of_shapes({"encoder.weight": (3, 3)}))


def test_the_wrong_variant_is_refused_with_the_right_one() -> None:
    with pytest.raises(InvalidInputError, match=rf"does not fit {TINY}: .* It fits {V2}: (\d+) of \1\."):
        import_checkpoint(of_shapes(of_variant(V2)), TINY)
    with pytest.raises(InvalidInputError, match=r"There is no variant 'yolo'. Variants: "):
        import_checkpoint(of_shapes(of_variant(V2)), "yolo")


def test_the_parts_of_a_backbone_find_their_places_in_the_detectors() -> None:
    ssd, lite, frcnn = (BACKBONE_RULES[name] for name in ("a VGG", "a MobileNetV3, cut in two", "a MobileNetV3"))
    assert ssd("features.21.bias") == "backbone.features.21.bias"
    assert ssd("features.28.weight") == "backbone.extra.0.5.weight"
    assert ssd("classifier.0.weight") is None
    assert lite("features.12.block.0.1.bias") == "backbone.features.0.12.block.0.1.bias"
    assert lite("features.13.block.0.0.weight") == "backbone.features.0.13.0.weight"
    assert lite("features.13.block.2.fc1.weight") == "backbone.features.1.0.2.fc1.weight"
    assert lite("features.16.0.weight") == "backbone.features.1.3.0.weight"
    assert frcnn("features.4.block.1.0.weight") == "backbone.body.4.block.1.0.weight"
    assert DETECTOR_RULES["a detector, by older names"]("rpn.head.conv.weight") == "rpn.head.conv.0.0.weight"


def test_the_file_that_is_written_says_what_it_is(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    arrays = {name: random.normal(size=shape).astype(np.float32) for name, shape in of_variant(TINY, 2).items()}
    path = torch_file(tmp_path / "tiny.pth", arrays, nested="model", prefix="module.")
    imported = import_file(path)
    write(imported, tmp_path / "tiny.safetensors")
    stored, description = read_description(tmp_path / "tiny.safetensors")
    assert (description.variant, description.settings, description.source) == (TINY, {"num_classes": 2}, "tiny.pth")
    assert set(stored.tensors) == set(arrays)
    for name, array in arrays.items():
        np.testing.assert_array_equal(stored.tensors[name].read(), array)


def test_a_checkpoint_is_no_weights_file_until_it_is_imported(tmp_path: Path) -> None:
    path = torch_file(tmp_path / "a.pth", {"w": np.ones(2, np.float32)})
    with pytest.raises(InvalidInputError, match="Import it first: unstall weights import"):
        read_description(path)


def test_an_imagenet_mobilenet_is_a_start_for_both_detectors_that_have_one() -> None:
    body, name = "backbone.body.", "fasterrcnn_mobilenet_v3_large_fpn"
    imagenet = {f"features.{key.removeprefix(body)}": shape for key, shape in of_variant(name).items() if key.startswith(body)}
    whole = import_checkpoint(of_shapes(imagenet), name)
    assert len(whole.fit.taken) == len(imagenet) and not whole.fit.left_out
    lite = import_checkpoint(of_shapes(imagenet), "ssdlite320_mobilenet_v3_large")
    assert len(lite.fit.taken) > 200 and lite.description.holds == "backbone"
    assert all(why.startswith("shapes differ") for why in lite.fit.left_out.values())  # its tail has half the channels


def test_an_imagenet_vgg_fills_the_backbone_of_ssd() -> None:
    convs = {0: (64, 3, 3, 3), 21: (512, 512, 3, 3), 28: (512, 512, 3, 3)}
    imagenet = {f"features.{number}.weight": shape for number, shape in convs.items()} | {"classifier.0.weight": (4096, 25088)}
    found = import_checkpoint(of_shapes(imagenet))
    assert found.description.variant == "ssd300_vgg16" and len(found.fit.taken) == 3
    assert "IMAGENET1K_FEATURES" in found.as_plain()["notes"][0]
