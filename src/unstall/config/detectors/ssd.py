"""SSD: one stage, boxes of set shapes on maps of several sizes, and a loss that counts only the hardest background.

Paper: Liu and others, "SSD: Single Shot MultiBox Detector", 2015; with depthwise heads ("lite") Sandler and others,
"MobileNetV2", 2018. As torchvision trains and runs them; its published weights on COCO score AP 25.1 (`ssd300_vgg16`) and 21.3
(`ssdlite320_mobilenet_v3_large`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from unstall.base.errors import InvalidInputError
from unstall.config.detectors import Recipe, ranges
from unstall.config.detectors.ranges import MOBILENET_STAGES, VGG16, VGG_DILATION, VGG_WIDTH, Precision
from unstall.config.settings import define_setting

BACKBONE_MAPS = 2  # that the backbone gives
Backbone = Literal["vgg", "mobilenet_v3"]

# The maps that follow VGG's: channels as multiples of the width, and whether the map is halved (else it loses its border)
VGG_EXTRAS = ((4, 8, True), (2, 4, True), (2, 4, False), (2, 4, False))

SSD300_RATIOS = ((2.0,), (2.0, 3.0), (2.0, 3.0), (2.0, 3.0), (2.0,), (2.0,))


@dataclass(frozen=True)
class SSDSettings:
    num_classes: int = define_setting(90, "without background, which is one more output, the first")
    image_size: tuple[int, int] = define_setting((300, 300), "height, width")
    scales: tuple[float, ...] = define_setting(
        (0.07, 0.15, 0.33, 0.51, 0.69, 0.87, 1.05), "sides as shares of the image's, one more than levels"
    )
    aspect_ratios: tuple[tuple[float, ...], ...] = define_setting(
        SSD300_RATIOS, "of each level's boxes, lying and standing, beside squares"
    )
    fg_iou_threshold: float = define_setting(0.5, "a default box that overlaps a box by this learns it; others learn background")
    neg_pos_ratio: float = define_setting(
        3.0, "how many of the hardest background count, for each default box that learns an object"
    )
    score_threshold: float = define_setting(0.01, "of a detection")
    nms_iou_threshold: float = define_setting(0.45, "of two detections of one class")
    pre_nms_top_k: int = define_setting(400, "of a class, that suppression sees")
    max_detections: int = define_setting(200, "of an image")
    backbone: Backbone = define_setting("vgg", "MobileNet has the heads and further maps of SSDLite, too")
    trainable_backbone_layers: int = define_setting(4, "of the backbone's: VGG has five, MobileNet six")
    freeze_batch_norm: bool = define_setting(False, "norms use the statistics that came with the weights")
    stage_convs: tuple[int, ...] = define_setting(VGG16, "of VGG's stages")
    stem_channels: int = define_setting(VGG_WIDTH, "of VGG's first stage")
    dilation: int = define_setting(VGG_DILATION, "of the convolution after VGG's last stage")
    vgg_batch_norm: bool = define_setting(False, "the published VGG has none")
    reduced_tail: bool = define_setting(True, "MobileNet's last blocks have half the channels")
    precision: Precision = define_setting("float32", "that layers compute in; weights and losses stay in float32")
    remat: bool = define_setting(
        False, "compute the backbone's blocks again when gradients need them, rather than keep their outputs"
    )

    def __post_init__(self) -> None:
        ranges.check_image_size(self)
        ranges.check_whole_numbers(self, 1, None, "num_classes", "pre_nms_top_k", "max_detections", "stem_channels", "dilation")
        ranges.check_positive(self, "scales", "aspect_ratios", "stage_convs")
        ranges.check_fractions(self, "fg_iou_threshold", "score_threshold", "nms_iou_threshold")
        ranges.check_at_least(self, 0, "neg_pos_ratio")
        ranges.check_choices(self, Backbone, "backbone")
        ranges.check_choices(self, Precision, "precision")
        ranges.check_flags(self, "freeze_batch_norm", "vgg_batch_norm", "reduced_tail", "remat")
        ranges.check_whole_numbers(
            self, 0, len(VGG16 if self.backbone == "vgg" else MOBILENET_STAGES), "trainable_backbone_layers"
        )
        ranges.check_same_length(self, len(VGG16), "one for each stage of VGG", "stage_convs")
        levels = len(self.aspect_ratios)
        if not BACKBONE_MAPS <= levels <= BACKBONE_MAPS + len(VGG_EXTRAS):
            raise InvalidInputError(f"aspect_ratios: expected those of 2 to 6 levels. Received: {self.aspect_ratios}")
        ranges.check_same_length(self, levels + 1, "one more than the levels that aspect_ratios has", "scales")


VARIANTS = {
    "ssd300_vgg16": SSDSettings(),
    "ssdlite320_mobilenet_v3_large": SSDSettings(
        image_size=(320, 320),
        backbone="mobilenet_v3",
        scales=(0.2, 0.35, 0.5, 0.65, 0.8, 0.95, 1.0),
        aspect_ratios=((2.0, 3.0),) * 6,
        score_threshold=0.001,
        nms_iou_threshold=0.55,
        pre_nms_top_k=300,
        max_detections=300,
        trainable_backbone_layers=len(MOBILENET_STAGES),
    ),
    # Small enough for two cores, and with boxes of the sizes that the embedded shapes have.
    "ssd_tiny": SSDSettings(
        num_classes=6,
        image_size=(192, 192),
        scales=(0.09, 0.18, 0.36, 0.6),
        aspect_ratios=((2.0,), (2.0,), (2.0,)),
        trainable_backbone_layers=5,
        stage_convs=(1, 1, 1, 2, 1),
        stem_channels=8,
        dilation=2,
        vgg_batch_norm=True,
    ),
}

RECIPES = {
    "ssd300_vgg16": Recipe(
        "sgd", 2e-3, batch_size=32, epochs=120, warmup_steps=1000, lr_schedule="step", drops_at=(80 / 120, 110 / 120),
        weight_decay=5e-4,
    ),
    "ssdlite320_mobilenet_v3_large": Recipe("sgd", 0.025, batch_size=32, epochs=660, warmup_steps=1000, weight_decay=4e-5),
    "ssd_tiny": Recipe(learning_rate=3e-3, epochs=4),
}  # fmt: skip
