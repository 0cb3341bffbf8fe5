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
from unstall.config.detectors import ranges
from unstall.config.detectors.defaults import FPN_CHANNELS, RESNET50, RESNET_STEM_CHANNELS, Precision
from unstall.config.settings import setting

Backbone = Literal["resnet", "mobilenet_v3_large"]


@dataclass(frozen=True)
class FasterRCNNSettings:
    classes: int = setting(90, "without background")
    image_px: tuple[int, int] = setting((800, 800), "height, width")
    backbone: Backbone = setting("resnet", "or mobilenet_v3_large")
    anchor_sizes_px: tuple[tuple[float, ...], ...] = setting(
        ((32,), (64,), (128,), (256,), (512,)), "of each level, the finest first"
    )
    anchor_ratios: tuple[float, ...] = setting((0.5, 1.0, 2.0), "height / width")
    # the first stage
    proposer_convs: int = setting(1, "of the first stage, before its outputs")
    anchor_foreground_iou: float = setting(0.7, "from this overlap with a box on an anchor is an object")
    anchor_background_iou: float = setting(0.3, "below this it is background; between the two it is left out")
    anchor_samples: int = setting(256, "of an image, that learn")
    anchor_object_share: float = setting(0.5, "of these, at most")
    most_per_level: tuple[int, int] = setting(
        (2000, 1000), "proposals of a level that suppression sees, in training and in detection"
    )
    most_proposals: tuple[int, int] = setting((2000, 1000), "of an image")
    proposal_most_iou: float = setting(0.7, "of two proposals of a level: the less likely one goes")
    proposal_least_score: float = setting(0.0, "a proposal less likely than this is none")
    # the second stage
    region_foreground_iou: float = setting(0.5, "from this overlap with a box on a region is an object, below it background")
    region_samples: int = setting(512, "of an image, that learn")
    region_object_share: float = setting(0.25, "of these, at most")
    head_convs: int = setting(0, "over each region, each with a norm; none: two dense layers instead")
    head_units: int = setting(1024, "of a dense layer")
    # what comes out
    least_score: float = setting(0.05, "a detection less likely than this is none")
    most_iou: float = setting(0.5, "of two detections of a class: the less likely one goes")
    most_candidates: int = setting(2000, "of an image, that suppression sees: see `detections_of`")
    most_detections: int = setting(100, "of an image")
    trainable_stages: int = setting(3, "of the backbone's: five, MobileNet's six")
    frozen_norms: bool = setting(True, "norms keep the statistics that came with the weights, and learn nothing")
    norm_epsilon: float = setting(1e-5, "what variances are enlarged by")
    pyramid_norms: bool = setting(False, "norms in the pyramid, in the place of biases")
    blocks: tuple[int, ...] = setting(RESNET50, "of each stage of the ResNet")
    width: int = setting(RESNET_STEM_CHANNELS, "channels of the ResNet's stem")
    channels: int = setting(FPN_CHANNELS, "of the pyramid")
    precision: Precision = setting("float32", "that layers compute in; losses are in float32 always")
    remat: bool = setting(False, "compute the backbone's blocks again when gradients need them, rather than keep their outputs")

    def __post_init__(self) -> None:
        ranges.image_size(self)
        ranges.one_of(self, Backbone, "backbone")
        ranges.one_of(self, Precision, "precision")
        ranges.flags(self, "frozen_norms", "pyramid_norms", "remat")
        ranges.whole(self, 1, None, "classes", "anchor_samples", "region_samples", "proposer_convs", "head_units")
        ranges.whole(self, 1, None, "most_candidates", "most_detections", "width", "channels")
        ranges.whole(self, 0, None, "head_convs")
        ranges.positive(self, "anchor_sizes_px", "anchor_ratios", "blocks", "most_per_level", "most_proposals")
        ranges.as_many(self, 2, "in training and in detection", "most_per_level", "most_proposals")
        ranges.as_many(self, 4, "one for each stage after the stem", "blocks")
        ranges.share(self, "anchor_foreground_iou", "anchor_background_iou", "anchor_object_share", "proposal_most_iou")
        ranges.share(self, "proposal_least_score", "region_foreground_iou", "region_object_share", "least_score", "most_iou")
        ranges.ordered(self, "anchor_background_iou", "anchor_foreground_iou")
        ranges.at_least(self, 0, "norm_epsilon")
        is_resnet = self.backbone == "resnet"
        ranges.as_many(self, 5 if is_resnet else 3, "one for each level of the pyramid", "anchor_sizes_px")
        ranges.whole(self, 0, 5 if is_resnet else 6, "trainable_stages")
        if len({len(sizes) for sizes in self.anchor_sizes_px}) > 1:
            raise InvalidInputError(f"anchor_sizes_px: expected as many sizes on every level. Received: {self.anchor_sizes_px}")


VARIANTS = {
    "fasterrcnn_resnet50_fpn": FasterRCNNSettings(),
    "fasterrcnn_resnet50_fpn_v2": FasterRCNNSettings(
        proposer_convs=2, head_convs=4, pyramid_norms=True, frozen_norms=False, trainable_stages=5
    ),
    "fasterrcnn_mobilenet_v3_large_fpn": FasterRCNNSettings(
        backbone="mobilenet_v3_large",
        anchor_sizes_px=((32, 64, 128, 256, 512),) * 3,
        proposal_least_score=0.05,
    ),
    "faster_rcnn_tiny": FasterRCNNSettings(
        classes=6,  # of the embedded shapes
        image_px=(128, 128),
        blocks=(1, 1, 1, 1),
        width=16,
        channels=32,
        anchor_sizes_px=((12,), (24,), (48,), (96,), (192,)),
        anchor_samples=64,
        most_per_level=(100, 100),
        most_proposals=(100, 100),
        region_samples=32,
        head_units=128,
        most_candidates=300,
        pyramid_norms=True,
        frozen_norms=False,
        trainable_stages=5,
    ),
}
