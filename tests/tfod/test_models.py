"""Which detector takes the place of which."""

from __future__ import annotations

import pytest

from tests.tfod.configs import FASTER_RCNN, RETINANET, SSD, converted, parsed, row_of, written
from unstall.base.errors import InvalidInputError
from unstall.tfod.models import RESNETS, choose_model

LITE, VGG = "ssdlite320_mobilenet_v3_large", "ssd300_vgg16"


@pytest.mark.parametrize(
    ("kind", "model", "is_same"),
    [
        ("ssd_mobilenet_v3_large", LITE, True),
        ("ssd_mobilenet_v1", LITE, False),
        ("ssd_mobiledet_cpu", LITE, False),
        ("ssd_vgg16", VGG, True),
        ("ssd_inception_v3", VGG, False),
        ("ssd_resnet50", VGG, False),
    ],
)
def test_ssd_on_the_nearest_backbone_and_what_is_other_is_said(kind: str, model: str, is_same: bool) -> None:
    found = converted(written(SSD.replace("ssd_mobilenet_v2", kind)))
    row = row_of(found, "feature_extractor.type")
    assert (found.model, row.became) == (model, "carried over" if is_same else "changed")
    assert is_same or (kind.removeprefix("ssd_") in row.why and row.why in found.remarks)


@pytest.mark.parametrize(
    ("kind", "blocks"),
    [("ssd_resnet50_v1_fpn", None), ("ssd_resnet101_v1_fpn_keras", RESNETS[101]), ("ssd_resnet152_v1_fpn_keras", RESNETS[152])],
)
def test_ssd_with_a_pyramid_is_a_retinanet_with_the_same_resnet(kind: str, blocks: tuple[int, ...] | None) -> None:
    taken = choose_model(parsed(written(RETINANET.replace("ssd_resnet101_v1_fpn_keras", kind))))
    assert (taken.family, taken.model, taken.said, taken.blocks) == ("retinanet", "retinanet_resnet50_fpn_v2", "", blocks)


def test_heads_without_norms_are_those_of_the_first_retinanet() -> None:
    assert choose_model(parsed(written(RETINANET.replace("batch_norm { decay: 0.99 }", "")))).model == "retinanet_resnet50_fpn"


@pytest.mark.parametrize("kind", ["ssd_mobilenet_v2_fpn_keras", "ssd_efficientnet-b0_bifpn_keras"])
def test_small_backbones_with_a_pyramid_become_larger_ones_which_is_said(kind: str) -> None:
    taken = choose_model(parsed(written(RETINANET.replace("ssd_resnet101_v1_fpn_keras", kind))))
    assert taken.family == "retinanet" and "larger and slower" in taken.said


@pytest.mark.parametrize(
    ("kind", "model", "is_same", "blocks"),
    [
        ("faster_rcnn_resnet50_fpn_keras", "fasterrcnn_resnet50_fpn", True, None),
        ("faster_rcnn_resnet101", "fasterrcnn_resnet50_fpn", False, RESNETS[101]),
        ("faster_rcnn_inception_resnet_v2", "fasterrcnn_resnet50_fpn", False, None),
        ("faster_rcnn_nas", "fasterrcnn_resnet50_fpn", False, None),
        ("faster_rcnn_mobilenet_v1", "fasterrcnn_mobilenet_v3_large_fpn", False, None),
    ],
)
def test_faster_rcnn(kind: str, model: str, is_same: bool, blocks: tuple[int, ...] | None) -> None:
    taken = choose_model(parsed(written(FASTER_RCNN.replace("faster_rcnn_resnet50", kind))))
    assert (taken.model, taken.said == "", taken.blocks) == (model, is_same, blocks)


def test_masks_and_r_fcn_are_said_to_be_left_out() -> None:
    predictor = "second_stage_box_predictor { mask_rcnn_box_predictor { predict_instance_masks: true use_dropout: false } }"
    found = converted(written(FASTER_RCNN.replace("num_classes: 3", f"num_classes: 3 number_of_stages: 3 {predictor}")))
    assert any("Mask R-CNN has no counterpart" in remark for remark in found.remarks)
    assert row_of(found, "predict_instance_masks").why == "boxes are learned, masks are not"
    assert "second stage" in row_of(found, "use_dropout").why
    other = "second_stage_box_predictor { rfcn_box_predictor { crop_height: 18 } }"
    found = converted(written(FASTER_RCNN.replace("num_classes: 3", f"num_classes: 3 {other}")))
    assert any("R-FCN has no counterpart" in remark for remark in found.remarks)


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (
            "center_net { num_classes: 90 }",
            "pipeline.config:1: model: expected the meta-architecture ssd or faster_rcnn. Received: CenterNet",
        ),
        ("something_new { }", "Received: 'something_new'"),
        ("", "There is none: is this a pipeline.config?"),
    ],
)
def test_other_meta_architectures_are_refused_with_the_nearest(model: str, said: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        converted(written(model))
    assert said in str(caught.value)
    assert not model or "The nearest is retinanet_resnet50_fpn_v2" in str(caught.value)
