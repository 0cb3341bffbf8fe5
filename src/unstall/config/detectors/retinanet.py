"""RetinaNet: one stage, dense anchors on a pyramid, and a loss that lets the easy background weigh little.

Paper: Lin and others, "Focal Loss for Dense Object Detection", 2017. As torchvision trains and runs it; its published weights
score AP 36.4 (`retinanet_resnet50_fpn`) and 41.5 (`retinanet_resnet50_fpn_v2`) on COCO.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from unstall.base.errors import InvalidInputError
from unstall.config.detectors import ranges
from unstall.config.detectors.defaults import FPN_CHANNELS, RESNET50, RESNET_STEM_CHANNELS, Precision
from unstall.config.settings import setting

LEVELS = 5  # of the pyramid


def three_sizes(px: int) -> tuple[int, ...]:
    """An octave in three steps, in whole pixels as published."""
    return tuple(int(px * 2 ** (step / 3)) for step in range(3))


@dataclass(frozen=True)
class RetinaNetSettings:
    classes: int = setting(
        90, "without background: there is one more output, which never learns an object, as in the published weights"
    )
    image_px: tuple[int, int] = setting((800, 800), "height, width")
    anchor_sizes_px: tuple[tuple[float, ...], ...] = setting(
        tuple(three_sizes(px) for px in (32, 64, 128, 256, 512)), "of each level"
    )
    anchor_ratios: tuple[float, ...] = setting((0.5, 1.0, 2.0), "height / width")
    focal_alpha: float = setting(0.25, "what an object weighs; background weighs the rest to 1")
    focal_gamma: float = setting(2.0, "how much less the easy ones weigh; 0: they weigh the same")
    box_loss: Literal["l1", "giou"] = setting("l1", "of codes, or of the boxes themselves")
    foreground_iou: float = setting(0.5, "an anchor that overlaps a box by this learns it")
    background_iou: float = setting(0.4, "one that overlaps none by this learns background; between, nothing")
    least_score: float = setting(0.05, "of a detection")
    most_iou: float = setting(0.5, "of two detections of one class")
    most_candidates: int = setting(1000, "of a level, that suppression sees")
    most_detections: int = setting(300, "of an image")
    trainable_stages: int = setting(3, "of the backbone's five")
    frozen_norms: bool = setting(True, "batch norms of the backbone use the statistics that came with the weights")
    norm_epsilon: float = setting(1e-5, "of the backbone's norms")
    head_convs: int = setting(4, "before the output of each head")
    group_norm: bool = setting(False, "in the heads")
    groups: int = setting(32, "of group norm")
    coarse_from_backbone: bool = setting(False, "the sixth level from the backbone's last map rather than from the pyramid's")
    prior: float = setting(0.01, "of an object, that the class outputs begin with")
    blocks: tuple[int, ...] = setting(RESNET50, "of the backbone's four stages")
    width: int = setting(RESNET_STEM_CHANNELS, "channels of the backbone's first convolution")
    channels: int = setting(FPN_CHANNELS, "of the pyramid and the heads")
    precision: Precision = setting("float32", "that layers compute in; weights and losses stay in float32")
    remat: bool = setting(False, "compute the backbone's blocks again when gradients need them, rather than keep their outputs")

    def __post_init__(self) -> None:
        ranges.image_size(self)
        ranges.whole(self, 1, None, "classes", "most_candidates", "most_detections", "width", "channels", "head_convs", "groups")
        ranges.positive(self, "anchor_sizes_px", "anchor_ratios", "blocks")
        ranges.as_many(self, LEVELS, "one for each level of the pyramid", "anchor_sizes_px")
        ranges.as_many(self, 4, "one for each stage after the stem", "blocks")
        ranges.share(self, "focal_alpha", "foreground_iou", "background_iou", "least_score", "most_iou", "prior")
        ranges.ordered(self, "background_iou", "foreground_iou")
        ranges.at_least(self, 0, "focal_gamma", "norm_epsilon")
        ranges.whole(self, 0, 5, "trainable_stages")
        ranges.one_of(self, Literal["l1", "giou"], "box_loss")
        ranges.one_of(self, Precision, "precision")
        ranges.flags(self, "frozen_norms", "group_norm", "coarse_from_backbone", "remat")
        if len({len(sizes) for sizes in self.anchor_sizes_px}) > 1:
            raise InvalidInputError(f"anchor_sizes_px: expected as many sizes on every level. Received: {self.anchor_sizes_px}")
        if self.prior in (0, 1):
            raise InvalidInputError(f"prior: expected a share between 0 and 1, neither of them. Received: {self.prior}")
        if self.group_norm and self.channels % self.groups:
            raise InvalidInputError(
                f"channels: expected a multiple of the {self.groups} groups of the norm. Received: {self.channels}"
            )


VARIANTS = {
    "retinanet_resnet50_fpn": RetinaNetSettings(),
    "retinanet_resnet50_fpn_v2": RetinaNetSettings(
        box_loss="giou", frozen_norms=False, group_norm=True, coarse_from_backbone=True, trainable_stages=5
    ),
    # Small enough for two cores, and with anchors of the sizes that the embedded shapes have.
    "retinanet_tiny": RetinaNetSettings(
        classes=6,
        image_px=(192, 192),
        anchor_sizes_px=tuple(three_sizes(px) for px in (18, 36, 72, 144, 288)),
        focal_alpha=0.5,  # in so short a training objects that weigh a quarter are learned late
        focal_gamma=1.0,
        box_loss="giou",
        trainable_stages=5,
        frozen_norms=False,
        group_norm=True,
        groups=8,
        head_convs=2,
        most_candidates=200,
        most_detections=100,
        blocks=(1, 1, 1, 1),
        width=16,
        channels=64,
    ),
}
