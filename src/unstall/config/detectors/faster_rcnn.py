"""Faster R-CNN: a first stage proposes regions, a second one looks at each of them again and names it.

Paper: Ren and others, "Faster R-CNN", 2015; its pyramid: Lin and others, "Feature Pyramid Networks for Object Detection", 2017;
the variant v2: Li and others, "Benchmarking Detection Transfer Learning with Vision Transformers", 2021. As torchvision trains
and runs it; its published weights score AP 37.0 (`fasterrcnn_resnet50_fpn`), 46.7 (`fasterrcnn_resnet50_fpn_v2`) and 32.8
(`fasterrcnn_mobilenet_v3_large_fpn`) on COCO.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from unstall.base.errors import InvalidInputError
from unstall.config.detectors import Recipe, ranges
from unstall.config.detectors.ranges import FPN_CHANNELS, RESNET50, RESNET_STEM_CHANNELS, Precision
from unstall.config.settings import define_setting

Backbone = Literal["resnet", "mobilenet_v3_large"]


@dataclass(frozen=True)
class FasterRCNNSettings:
    num_classes: int = define_setting(90, "without background")
    image_size: tuple[int, int] = define_setting((800, 800), "height, width")
    backbone: Backbone = define_setting("resnet", "or mobilenet_v3_large")
    anchor_sizes: tuple[tuple[float, ...], ...] = define_setting(
        ((32,), (64,), (128,), (256,), (512,)), "of each level, the finest first"
    )
    aspect_ratios: tuple[float, ...] = define_setting((0.5, 1.0, 2.0), "height / width")
    # the first stage
    num_rpn_convs: int = define_setting(1, "of the first stage, before its outputs")
    rpn_fg_iou_threshold: float = define_setting(0.7, "from this overlap with a box on an anchor is an object")
    rpn_bg_iou_threshold: float = define_setting(0.3, "below this it is background; between the two it is left out")
    rpn_batch_size_per_image: int = define_setting(256, "of an image, that learn")
    rpn_positive_fraction: float = define_setting(0.5, "of these, at most")
    rpn_pre_nms_top_n: tuple[int, int] = define_setting(
        (2000, 1000), "proposals of a level that suppression sees, in training and in detection"
    )
    rpn_post_nms_top_n: tuple[int, int] = define_setting((2000, 1000), "of an image")
    rpn_nms_threshold: float = define_setting(0.7, "of two proposals of a level: the less likely one goes")
    rpn_score_threshold: float = define_setting(0.0, "a proposal less likely than this is none")
    # the second stage
    box_fg_iou_threshold: float = define_setting(
        0.5, "from this overlap with a box on a region is an object, below it background"
    )
    box_batch_size_per_image: int = define_setting(512, "of an image, that learn")
    box_positive_fraction: float = define_setting(0.25, "of these, at most")
    num_head_convs: int = define_setting(0, "over each region, each with a norm; none: two dense layers instead")
    head_units: int = define_setting(1024, "of a dense layer")
    # what comes out
    score_threshold: float = define_setting(0.05, "a detection less likely than this is none")
    nms_iou_threshold: float = define_setting(0.5, "of two detections of a class: the less likely one goes")
    pre_nms_top_k: int = define_setting(2000, "of an image, that suppression sees: see `select_detections`")
    max_detections: int = define_setting(100, "of an image")
    trainable_backbone_layers: int = define_setting(3, "of the backbone's: five, MobileNet's six")
    freeze_batch_norm: bool = define_setting(True, "norms keep the statistics that came with the weights, and learn nothing")
    norm_epsilon: float = define_setting(1e-5, "what variances are enlarged by")
    fpn_batch_norm: bool = define_setting(False, "norms in the pyramid, in the place of biases")
    stage_blocks: tuple[int, ...] = define_setting(RESNET50, "of each stage of the ResNet")
    stem_channels: int = define_setting(RESNET_STEM_CHANNELS, "channels of the ResNet's stem")
    fpn_channels: int = define_setting(FPN_CHANNELS, "of the pyramid")
    precision: Precision = define_setting("float32", "that layers compute in; losses are in float32 always")
    remat: bool = define_setting(
        False, "compute the backbone's blocks again when gradients need them, rather than keep their outputs"
    )

    def __post_init__(self) -> None:
        ranges.check_image_size(self)
        ranges.check_choices(self, Backbone, "backbone")
        ranges.check_choices(self, Precision, "precision")
        ranges.check_flags(self, "freeze_batch_norm", "fpn_batch_norm", "remat")
        ranges.check_whole_numbers(self, 1, None, "num_classes", "rpn_batch_size_per_image", "box_batch_size_per_image")
        ranges.check_whole_numbers(
            self, 1, None, "num_rpn_convs", "head_units", "pre_nms_top_k", "max_detections", "stem_channels", "fpn_channels"
        )
        ranges.check_whole_numbers(self, 0, None, "num_head_convs")
        ranges.check_positive(self, "anchor_sizes", "aspect_ratios", "stage_blocks", "rpn_pre_nms_top_n", "rpn_post_nms_top_n")
        ranges.check_same_length(self, 2, "in training and in detection", "rpn_pre_nms_top_n", "rpn_post_nms_top_n")
        ranges.check_same_length(self, 4, "one for each stage after the stem", "stage_blocks")
        ranges.check_fractions(self, "rpn_fg_iou_threshold", "rpn_bg_iou_threshold", "rpn_positive_fraction", "rpn_nms_threshold")
        ranges.check_fractions(self, "rpn_score_threshold", "box_fg_iou_threshold", "box_positive_fraction")
        ranges.check_fractions(self, "score_threshold", "nms_iou_threshold")
        ranges.check_ordered(self, "rpn_bg_iou_threshold", "rpn_fg_iou_threshold")
        ranges.check_at_least(self, 0, "norm_epsilon")
        is_resnet = self.backbone == "resnet"
        ranges.check_same_length(self, 5 if is_resnet else 3, "one for each level of the pyramid", "anchor_sizes")
        ranges.check_whole_numbers(self, 0, 5 if is_resnet else 6, "trainable_backbone_layers")
        if len({len(sizes) for sizes in self.anchor_sizes}) > 1:
            raise InvalidInputError(f"anchor_sizes: expected as many sizes on every level. Received: {self.anchor_sizes}")


VARIANTS = {
    "fasterrcnn_resnet50_fpn": FasterRCNNSettings(),
    "fasterrcnn_resnet50_fpn_v2": FasterRCNNSettings(
        num_rpn_convs=2, num_head_convs=4, fpn_batch_norm=True, freeze_batch_norm=False, trainable_backbone_layers=5
    ),
    "fasterrcnn_mobilenet_v3_large_fpn": FasterRCNNSettings(
        backbone="mobilenet_v3_large",
        anchor_sizes=((32, 64, 128, 256, 512),) * 3,
        rpn_score_threshold=0.05,
    ),
    "faster_rcnn_tiny": FasterRCNNSettings(
        num_classes=6,  # of the embedded shapes
        image_size=(128, 128),
        stage_blocks=(1, 1, 1, 1),
        stem_channels=16,
        fpn_channels=32,
        anchor_sizes=((12,), (24,), (48,), (96,), (192,)),
        rpn_batch_size_per_image=64,
        rpn_pre_nms_top_n=(100, 100),
        rpn_post_nms_top_n=(100, 100),
        box_batch_size_per_image=32,
        head_units=128,
        pre_nms_top_k=300,
        fpn_batch_norm=True,
        freeze_batch_norm=False,
        trainable_backbone_layers=5,
    ),
}

_TWICE = (16 / 26, 22 / 26)  # shares of the training at which the rate drops
RECIPES = {
    "fasterrcnn_resnet50_fpn": Recipe("sgd", 0.01, warmup_steps=1000, lr_schedule="step", drops_at=_TWICE),
    "fasterrcnn_resnet50_fpn_v2": Recipe(
        "sgd", 0.0125, epochs=400, warmup_steps=1000, lr_schedule="step", drops_at=(352 / 400, 384 / 400), weight_decay=4e-5
    ),
    "fasterrcnn_mobilenet_v3_large_fpn": Recipe("sgd", 0.01, warmup_steps=1000, lr_schedule="step", drops_at=_TWICE),
    "faster_rcnn_tiny": Recipe(epochs=4),
}  # fmt: skip
