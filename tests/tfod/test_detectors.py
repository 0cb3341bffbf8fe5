"""The detector's settings: sizes, anchors, losses, thresholds."""

from __future__ import annotations

import pytest

from tests.tfod.configs import FASTER_RCNN, RETINANET, SSD, converted, row_of, written
from unstall.tfod.anchors import assign_to_levels, select_wide_ratios
from unstall.tfod.config import Node
from unstall.tfod.detectors import convert_image_size
from unstall.tfod.ledger import Ledger
from unstall.tfod.models import ModelChoice


def test_ssd() -> None:
    found = converted(written(SSD))
    assert found.settings["detector"] == {
        "trainable_backbone_layers": 6,
        "freeze_batch_norm": False,
        "image_size": [300, 320],
        "fg_iou_threshold": 0.5,
        "score_threshold": 1e-8,
        "nms_iou_threshold": 0.6,
        "max_detections": 90,
        "scales": [0.2, 0.35, 0.5, 0.65, 0.8, 0.95, 1.0],
        "aspect_ratios": [[2.0], *[[2.0, 3.0]] * 5],
        "neg_pos_ratio": 4.0,
    }
    assert row_of(found, "hard_example_miner.num_hard_examples").became == "left out"
    assert "softmax" in row_of(found, "classification_loss.weighted_sigmoid").why
    assert row_of(found, "weighted_smooth_l1").became == "carried over"
    assert row_of(found, "score_converter").why == "softmax makes the scores"
    assert row_of(found, "num_classes").became == "carried over"


def test_ssd_with_scales_of_its_own_and_fewer_levels() -> None:
    text = "num_layers: 4 scales: [0.1, 0.3, 0.5, 0.7] reduce_boxes_in_lowest_layer: false aspect_ratios: 1 aspect_ratios: 2"
    found = converted(
        written(SSD.replace("num_layers: 6 min_scale: 0.2 max_scale: 0.95", text).replace("[1.0, 2.0, 0.5, 3.0, 0.3333]", "3"))
    )
    assert found.settings["detector"]["scales"] == [0.1, 0.3, 0.5, 0.7, 1.0]
    assert found.settings["detector"]["aspect_ratios"] == [[2.0, 3.0]] * 4
    assert row_of(found, "reduce_boxes_in_lowest_layer").became == "carried over"
    assert {row.became for row in found.rows if row.field.endswith("aspect_ratios")} == {"changed"}, "2 and 3 stand here, too"


def test_vgg_has_as_many_levels_as_fit_into_the_image() -> None:
    vgg = SSD.replace("ssd_mobilenet_v2", "ssd_vgg16")
    assert len(converted(written(vgg)).settings["detector"]["aspect_ratios"]) == 6
    small = converted(written(vgg.replace("height: 300 width: 320", "height: 256 width: 320")))
    assert len(small.settings["detector"]["aspect_ratios"]) == 5
    assert len(small.settings["detector"]["scales"]) == 6
    assert "2 to 5 levels fit into the image" in row_of(small, "num_layers").why


@pytest.mark.parametrize(
    ("asked", "lying", "is_exact"),
    [([1, 2, 0.5, 3, 0.3333], [2.0, 3.0], True), ([1, 2], [2.0], False), ([2, 0.5], [2.0], False), ([1], [2.0], False)],
)
def test_ratios_lie_and_stand(asked: list[float], lying: list[float], is_exact: bool) -> None:
    assert select_wide_ratios(asked) == (lying, is_exact)


def test_retinanet() -> None:
    found = converted(written(RETINANET))
    detector = found.settings["detector"]
    assert detector["stage_blocks"] == [3, 4, 23, 3]
    assert detector["anchor_sizes"] == [[px, round(px * 2**0.5, 2)] for px in (32.0, 64.0, 128.0, 256.0, 512.0)]
    assert detector["aspect_ratios"] == [0.5, 1.0, 2.0]
    assert (detector["fg_iou_threshold"], detector["bg_iou_threshold"]) == (0.6, 0.4)
    assert (detector["focal_alpha"], detector["focal_gamma"], detector["box_loss"]) == (0.3, 1.5, "l1")
    assert (detector["fpn_channels"], detector["num_head_convs"], detector["freeze_batch_norm"]) == (128, 3, True)
    assert detector["prior_probability"] == pytest.approx(0.00995, abs=1e-5)
    assert detector["image_size"] == [640, 640]
    assert (detector["nms_iou_threshold"], detector["max_detections"]) == (0.6, 100), "the API's defaults"
    assert found.settings["weight_decay"] == 0.0004
    assert row_of(found, "fpn.max_level").became == "carried over"
    assert "without a smooth foot" in row_of(found, "weighted_smooth_l1").why


def test_retinanet_with_giou_other_levels_and_odd_channels() -> None:
    changed = RETINANET.replace("weighted_smooth_l1", "weighted_giou").replace(
        "min_level: 3 max_level: 7 a", "min_level: 4 max_level: 6 a"
    )
    found = converted(written(changed.replace("depth: 128", "depth: 88")))
    detector = found.settings["detector"]
    assert (detector["box_loss"], detector["fpn_channels"], detector["num_groups"]) == ("giou", 88, 22)
    assert row_of(found, "weighted_giou").became == "carried over"
    assert "levels 3 to 7 here, not 4 to 6" in row_of(found, "multiscale_anchor_generator.min_level").why


def test_plain_sigmoid_is_the_focal_loss_that_lets_nothing_weigh_less() -> None:
    detector = converted(
        written(RETINANET.replace("weighted_sigmoid_focal { alpha: 0.3 gamma: 1.5 }", "weighted_sigmoid { }"))
    ).settings
    assert (detector["detector"]["focal_alpha"], detector["detector"]["focal_gamma"]) == (0.5, 0.0)


def test_faster_rcnn() -> None:
    found = converted(written(FASTER_RCNN))
    detector = found.settings["detector"]
    assert detector["anchor_sizes"] == [[32.0], [64.0], [128.0], [256.0], [512.0]]
    assert detector["rpn_post_nms_top_n"] == [300, 300]
    assert (detector["rpn_nms_threshold"], detector["box_batch_size_per_image"], detector["rpn_batch_size_per_image"]) == (
        0.65,
        64,
        256,
    )
    assert (detector["score_threshold"], detector["nms_iou_threshold"], detector["max_detections"]) == (0.1, 0.6, 200)
    assert (detector["freeze_batch_norm"], detector["trainable_backbone_layers"]) == (True, 5)
    assert row_of(found, "first_stage_localization_loss_weight").why == "losses weigh the same"
    assert "blocks" not in detector


@pytest.mark.parametrize(
    ("sizes", "levels"),
    [
        ([64.0, 128.0, 256.0, 512.0], [[32.0], [64.0], [128.0], [256.0], [512.0]]),
        ([25.6, 64.0, 128.0, 256.0, 700.0], [[25.6], [64.0], [128.0], [256.0], [700.0]]),
        ([8.0, 32.0], [[8.0, 32.0], [64.0, 90.51], [128.0, 181.02], [256.0, 362.04], [512.0, 724.08]]),
    ],
)
def test_sizes_of_one_map_go_to_the_levels_that_are_made_for_them(sizes: list[float], levels: list[list[float]]) -> None:
    assert assign_to_levels(sizes) == levels


@pytest.mark.parametrize(("lying", "size"), [(None, [1024, 1024]), (0.5, [1024, 1024]), (0.9, [608, 1024]), (0.0, [1024, 608])])
def test_one_size_for_images_that_keep_their_shape(lying: float | None, size: list[int]) -> None:
    from tests.tfod.configs import parsed

    model: Node = parsed("image_resizer { keep_aspect_ratio_resizer { min_dimension: 600 max_dimension: 1024 } }")
    assert convert_image_size(model, ModelChoice("faster_rcnn", "fasterrcnn_resnet50_fpn", ""), lying, Ledger()) == size
