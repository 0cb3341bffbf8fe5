"""RetinaNet: one stage, dense anchors on a pyramid, and a loss that lets the easy background weigh little.

Paper: Lin and others, "Focal Loss for Dense Object Detection", 2017. As torchvision trains and runs it; its published weights
score AP 36.4 (`retinanet_resnet50_fpn`) and 41.5 (`retinanet_resnet50_fpn_v2`) on COCO.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from unstall.base.errors import InvalidInputError
from unstall.config.detectors import Recipe, ranges
from unstall.config.detectors.ranges import FPN_CHANNELS, RESNET50, RESNET_STEM_CHANNELS, Precision
from unstall.config.settings import define_setting

LEVELS = 5  # of the pyramid


def compute_three_sizes(px: int) -> tuple[int, ...]:
    """An octave in three steps, in whole pixels as published."""
    return tuple(int(px * 2 ** (step / 3)) for step in range(3))


@dataclass(frozen=True)
class RetinaNetSettings:
    num_classes: int = define_setting(
        90, "without background: there is one more output, which never learns an object, as in the published weights"
    )
    image_size: tuple[int, int] = define_setting((800, 800), "height, width")
    anchor_sizes: tuple[tuple[float, ...], ...] = define_setting(
        tuple(compute_three_sizes(px) for px in (32, 64, 128, 256, 512)), "of each level"
    )
    aspect_ratios: tuple[float, ...] = define_setting((0.5, 1.0, 2.0), "height / width")
    focal_alpha: float = define_setting(0.25, "what an object weighs; background weighs the rest to 1")
    focal_gamma: float = define_setting(2.0, "how much less the easy ones weigh; 0: they weigh the same")
    box_loss: Literal["l1", "giou"] = define_setting("l1", "of codes, or of the boxes themselves")
    fg_iou_threshold: float = define_setting(0.5, "an anchor that overlaps a box by this learns it")
    bg_iou_threshold: float = define_setting(0.4, "one that overlaps none by this learns background; between, nothing")
    score_threshold: float = define_setting(0.05, "of a detection")
    nms_iou_threshold: float = define_setting(0.5, "of two detections of one class")
    pre_nms_top_k: int = define_setting(1000, "of a level, that suppression sees")
    max_detections: int = define_setting(300, "of an image")
    trainable_backbone_layers: int = define_setting(3, "of the backbone's five")
    freeze_batch_norm: bool = define_setting(True, "batch norms of the backbone use the statistics that came with the weights")
    norm_epsilon: float = define_setting(1e-5, "of the backbone's norms")
    num_head_convs: int = define_setting(4, "before the output of each head")
    use_group_norm: bool = define_setting(False, "in the heads")
    num_groups: int = define_setting(32, "of group norm")
    coarse_from_backbone: bool = define_setting(
        False, "the sixth level from the backbone's last map rather than from the pyramid's"
    )
    prior_probability: float = define_setting(0.01, "of an object, that the class outputs begin with")
    stage_blocks: tuple[int, ...] = define_setting(RESNET50, "of the backbone's four stages")
    stem_channels: int = define_setting(RESNET_STEM_CHANNELS, "channels of the backbone's first convolution")
    fpn_channels: int = define_setting(FPN_CHANNELS, "of the pyramid and the heads")
    precision: Precision = define_setting("float32", "that layers compute in; weights and losses stay in float32")
    remat: bool = define_setting(
        False, "compute the backbone's blocks again when gradients need them, rather than keep their outputs"
    )

    def __post_init__(self) -> None:
        ranges.check_image_size(self)
        ranges.check_whole_numbers(
            self, 1, None, "num_classes", "pre_nms_top_k", "max_detections", "stem_channels", "fpn_channels"
        )
        ranges.check_whole_numbers(self, 1, None, "num_head_convs", "num_groups")
        ranges.check_positive(self, "anchor_sizes", "aspect_ratios", "stage_blocks")
        ranges.check_same_length(self, LEVELS, "one for each level of the pyramid", "anchor_sizes")
        ranges.check_same_length(self, 4, "one for each stage after the stem", "stage_blocks")
        ranges.check_fractions(self, "focal_alpha", "fg_iou_threshold", "bg_iou_threshold")
        ranges.check_fractions(self, "score_threshold", "nms_iou_threshold", "prior_probability")
        ranges.check_ordered(self, "bg_iou_threshold", "fg_iou_threshold")
        ranges.check_at_least(self, 0, "focal_gamma", "norm_epsilon")
        ranges.check_whole_numbers(self, 0, 5, "trainable_backbone_layers")
        ranges.check_choices(self, Literal["l1", "giou"], "box_loss")
        ranges.check_choices(self, Precision, "precision")
        ranges.check_flags(self, "freeze_batch_norm", "use_group_norm", "coarse_from_backbone", "remat")
        if len({len(sizes) for sizes in self.anchor_sizes}) > 1:
            raise InvalidInputError(f"anchor_sizes: expected as many sizes on every level. Received: {self.anchor_sizes}")
        if self.prior_probability in (0, 1):
            raise InvalidInputError(
                f"prior_probability: expected a share between 0 and 1, neither of them. Received: {self.prior_probability}"
            )
        if self.use_group_norm and self.fpn_channels % self.num_groups:
            raise InvalidInputError(
                f"fpn_channels: expected a multiple of the {self.num_groups} groups of the norm. Received: {self.fpn_channels}"
            )


VARIANTS = {
    "retinanet_resnet50_fpn": RetinaNetSettings(),
    "retinanet_resnet50_fpn_v2": RetinaNetSettings(
        box_loss="giou", freeze_batch_norm=False, use_group_norm=True, coarse_from_backbone=True, trainable_backbone_layers=5
    ),
    # Small enough for two cores, and with anchors of the sizes that the embedded shapes have.
    "retinanet_tiny": RetinaNetSettings(
        num_classes=6,
        image_size=(192, 192),
        anchor_sizes=tuple(compute_three_sizes(px) for px in (18, 36, 72, 144, 288)),
        focal_alpha=0.5,  # in so short a training objects that weigh a quarter are learned late
        focal_gamma=1.0,
        box_loss="giou",
        trainable_backbone_layers=5,
        freeze_batch_norm=False,
        use_group_norm=True,
        num_groups=8,
        num_head_convs=2,
        pre_nms_top_k=200,
        max_detections=100,
        stage_blocks=(1, 1, 1, 1),
        stem_channels=16,
        fpn_channels=64,
    ),
}

_TWICE = (16 / 26, 22 / 26)  # shares of the training at which the rate drops
RECIPES = {
    "retinanet_resnet50_fpn": Recipe("sgd", 5e-3, warmup_steps=1000, lr_schedule="step", drops_at=_TWICE),
    "retinanet_resnet50_fpn_v2": Recipe("adamw", 5e-5, warmup_steps=1000, lr_schedule="step", drops_at=_TWICE, weight_decay=0.05),
    "retinanet_tiny": Recipe(learning_rate=3e-3, epochs=4),
}  # fmt: skip
