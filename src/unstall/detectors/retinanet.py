"""RetinaNet: one stage, dense anchors on a pyramid, and a loss that lets the easy background weigh little.

Paper: Lin and others, "Focal Loss for Dense Object Detection", 2017. As torchvision trains and runs it; its published weights on COCO
score AP 36.4 (`retinanet_resnet50_fpn`) and 41.5 (`retinanet_resnet50_fpn_v2`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import keras
import numpy as np
from keras import ops

from unstall.detectors.detector import Detector, Targets
from unstall.detectors.parts import boxes as box
from unstall.detectors.parts import losses
from unstall.detectors.parts.anchors import pyramid_anchors
from unstall.detectors.parts.boxes import Tensor
from unstall.detectors.parts.layers import Conv, Precision, precision
from unstall.detectors.parts.matching import match, of_matched
from unstall.detectors.parts.nms import Detections, suppressed
from unstall.detectors.parts.pyramid import CHANNELS, Pyramid
from unstall.detectors.parts.resnet import RESNET50, STEM_CHANNELS, Norms, ResNet

IMAGENET_MEAN, IMAGENET_STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
CODE_WEIGHTS = (1.0, 1.0, 1.0, 1.0)
HEAD_CONVS = 4
GROUPS = 32  # of group norm


def three_sizes(px: int) -> tuple[int, ...]:
    """An octave in three steps, in whole pixels as published."""
    return tuple(int(px * 2 ** (step / 3)) for step in range(3))


@dataclass(frozen=True)
class RetinaNetSettings:
    classes: int = 90  # without background: there is one more output, which never learns an object, as in the published weights
    image_px: tuple[int, int] = (800, 800)  # height, width
    anchor_sizes_px: tuple[tuple[float, ...], ...] = tuple(three_sizes(px) for px in (32, 64, 128, 256, 512))
    anchor_ratios: tuple[float, ...] = (0.5, 1.0, 2.0)  # height / width
    focal_alpha: float = 0.25
    focal_gamma: float = 2.0
    box_loss: Literal["l1", "giou"] = "l1"
    foreground_iou: float = 0.5
    background_iou: float = 0.4
    least_score: float = 0.05
    most_iou: float = 0.5
    most_candidates: int = 1000  # of a level, that suppression sees
    most_detections: int = 300
    trainable_stages: int = 3  # of the backbone's five
    frozen_norms: bool = True
    norm_epsilon: float = 1e-5
    group_norm: bool = False  # in the heads
    coarse_from_backbone: bool = False  # the sixth level from the backbone's last map rather than from the pyramid's
    prior: float = 0.01  # of an object, that the class outputs begin with
    blocks: tuple[int, ...] = RESNET50
    width: int = STEM_CHANNELS
    channels: int = CHANNELS
    precision: Precision = "float32"
    remat: bool = False  # compute the backbone's blocks again when gradients need them, rather than keep their outputs


VARIANTS = {
    "retinanet_resnet50_fpn": RetinaNetSettings(),
    "retinanet_resnet50_fpn_v2": RetinaNetSettings(
        box_loss="giou", frozen_norms=False, group_norm=True, coarse_from_backbone=True, trainable_stages=5
    ),
    "retinanet_tiny": RetinaNetSettings(
        classes=3,
        image_px=(128, 128),
        blocks=(1, 1, 1, 1),
        width=16,
        channels=32,
        group_norm=True,
        frozen_norms=False,
        anchor_sizes_px=tuple(three_sizes(px) for px in (16, 32, 64, 128, 256)),
        trainable_stages=5,
        box_loss="giou",
    ),  # fmt: skip
}


class Head(keras.layers.Layer):  # type: ignore[misc]
    """Convolutions that are the same for every level, then one output."""

    def __init__(self, settings: RetinaNetSettings, name: str, output: str, filters: int, bias: float) -> None:
        super().__init__(name=name)
        normal = keras.initializers.RandomNormal(stddev=0.01)
        self.convs = [
            Conv(
                settings.channels, 3, use_bias=not settings.group_norm, kernel_initializer=normal, name=f"{name}.conv.{number}.0"
            )  # fmt: skip
            for number in range(HEAD_CONVS)
        ]
        self.norms = [
            keras.layers.GroupNormalization(GROUPS, epsilon=1e-5, name=f"{name}.conv.{number}.1") for number in range(HEAD_CONVS)
        ]
        if not settings.group_norm:
            self.norms = []
        start = keras.initializers.Constant(bias)
        self.output_conv = Conv(filters, 3, kernel_initializer=normal, bias_initializer=start, name=f"{name}.{output}")

    def call(self, x: Tensor) -> Tensor:
        for number, conv in enumerate(self.convs):
            x = conv(x)
            x = ops.relu(self.norms[number](x) if self.norms else x)
        return self.output_conv(x)


class RetinaNet(Detector):
    def __init__(self, settings: RetinaNetSettings, name: str = "retinanet") -> None:
        super().__init__(settings, IMAGENET_MEAN, IMAGENET_STD, name)
        norms = Norms(settings.frozen_norms, settings.norm_epsilon)
        per_cell = len(settings.anchor_sizes_px[0]) * len(settings.anchor_ratios)
        self.outputs_per_anchor = settings.classes + 1
        with precision(settings.precision):
            self.backbone = ResNet(settings.blocks, settings.width, norms, settings.remat)
            self.pyramid = Pyramid(levels=3, channels=settings.channels)
            self.p6 = Conv(settings.channels, 3, stride=2, name="backbone.fpn.extra_blocks.p6")
            self.p7 = Conv(settings.channels, 3, stride=2, name="backbone.fpn.extra_blocks.p7")
            bias = -math.log((1 - settings.prior) / settings.prior)
            self.class_head = Head(
                settings, "head.classification_head", "cls_logits", per_cell * self.outputs_per_anchor, bias
            )  # fmt: skip
            self.box_head = Head(settings, "head.regression_head", "bbox_reg", per_cell * 4, 0.0)
        self.build_all()
        self.backbone.freeze(settings.trainable_stages)
        levels = self.level_shapes()
        self.anchors_of_level = pyramid_anchors(settings.image_px, levels, settings.anchor_sizes_px, settings.anchor_ratios)
        self.anchors = np.concatenate(self.anchors_of_level)

    def call(self, images: Tensor, training: bool | None = None) -> dict[str, list[Tensor]]:
        """For each level (batch, anchors of the level, classes + 1) logits and (batch, anchors of the level, 4) codes."""
        levels = self.levels(self.prepared(images), training)
        return {
            "classes": [_by_anchor(self.class_head(level), self.outputs_per_anchor) for level in levels],
            "boxes": [_by_anchor(self.box_head(level), 4) for level in levels],
        }

    def levels(self, pixels: Tensor, training: bool | None) -> list[Tensor]:
        _, *stages = self.backbone(pixels, training=training)
        levels = self.pyramid(stages, training=training)
        sixth = self.p6(stages[-1] if self.settings.coarse_from_backbone else levels[-1])
        return [*levels, sixth, self.p7(ops.relu(sixth))]

    def level_shapes(self) -> list[tuple[int, int]]:
        """Of the five levels: every halving rounds up."""
        height, width = self.settings.image_px
        shapes = []
        for halvings in range(1, 8):
            height, width = math.ceil(height / 2), math.ceil(width / 2)
            if halvings >= 3:
                shapes.append((height, width))
        return shapes

    def training_losses(self, images: Tensor, targets: Targets, seed: Any = None) -> dict[str, Tensor]:
        raw = self(images, training=True)
        return self.losses_of(raw, targets)

    def losses_of(self, raw: dict[str, list[Tensor]], targets: Targets) -> dict[str, Tensor]:
        """Each image's sums over its own objects, then the mean over the images."""
        settings = self.settings
        logits, codes = (ops.concatenate(raw[key], axis=1) for key in ("classes", "boxes"))
        matches = match(
            box.iou(ops.convert_to_tensor(self.anchors)[None], targets.boxes), targets.mask,
            settings.foreground_iou, settings.background_iou, low_quality=True,
        )  # fmt: skip
        objects = ops.sum(ops.cast(matches.is_object, "float32"), axis=1)
        label = ops.where(matches.is_object, of_matched(ops.cast(targets.classes, "int32"), matches) + 1, -1)
        is_class = label[..., None] == ops.arange(self.outputs_per_anchor, dtype="int32")
        counts = ops.cast(matches.is_object | matches.is_background, "float32")
        focal = losses.focal(logits, is_class, settings.focal_alpha, settings.focal_gamma)
        class_sums = ops.sum(ops.sum(focal, axis=2) * counts, axis=1)
        wanted = of_matched(targets.boxes, matches)
        distance = ops.where(matches.is_object, self._box_distance(codes, wanted, matches.is_object), 0.0)
        return {
            "class": ops.mean(losses.share(class_sums, objects)),
            "box": ops.mean(losses.share(ops.sum(distance, axis=1), objects)),
        }

    def _box_distance(self, codes: Tensor, wanted: Tensor, is_object: Tensor) -> Tensor:
        """What is not an object is compared with its own anchor: finite, and masked by whoever asks."""
        anchors = ops.convert_to_tensor(self.anchors)
        wanted = ops.where(is_object[..., None], wanted, anchors)
        if self.settings.box_loss == "giou":
            return box.giou_loss(box.decode(codes, anchors, CODE_WEIGHTS), wanted)
        return losses.smooth_l1(codes, box.encode(wanted, anchors, CODE_WEIGHTS), beta=0.0)

    def detect(self, images: Tensor, sizes: Tensor | None = None) -> Detections:
        raw = self(images, training=False)
        return self.detections_of(raw, sizes)

    def detections_of(self, raw: dict[str, list[Tensor]], sizes: Tensor | None = None) -> Detections:
        settings = self.settings
        candidates = [
            self._candidates(logits, codes, anchors)
            for logits, codes, anchors in zip(raw["classes"], raw["boxes"], self.anchors_of_level, strict=True)
        ]
        boxes, scores, classes = (ops.concatenate(parts, axis=1) for parts in zip(*candidates, strict=True))
        boxes = box.clip(boxes, *extent(settings.image_px, sizes))
        return suppressed(boxes, scores, classes, settings.most_iou, settings.most_detections)

    def _candidates(self, logits: Tensor, codes: Tensor, anchors: np.ndarray) -> Sequence[Tensor]:
        """The best pairs of anchor and class of one level; the output that stands for background is never one."""
        scores = ops.sigmoid(ops.cast(logits, "float32"))[..., 1:]
        scores = ops.where(scores > self.settings.least_score, scores, 0.0)
        count = min(self.settings.most_candidates, scores.shape[1] * scores.shape[2])
        scores, place = ops.top_k(ops.reshape(scores, (-1, scores.shape[1] * scores.shape[2])), count)
        anchor, of_class = place // self.settings.classes, place % self.settings.classes
        codes = ops.take_along_axis(ops.cast(codes, "float32"), anchor[..., None], axis=1)
        own = ops.take(ops.convert_to_tensor(anchors), anchor, axis=0)
        return box.decode(codes, own, CODE_WEIGHTS), scores, of_class


def extent(image_px: tuple[int, int], sizes: Tensor | None) -> tuple[Any, Any]:
    """Height and width that boxes are cut to: the input's, or each image's own."""
    if sizes is None:
        return float(image_px[0]), float(image_px[1])
    sizes = ops.cast(sizes, "float32")
    return sizes[:, 0][:, None], sizes[:, 1][:, None]


def _by_anchor(outputs: Tensor, values: int) -> Tensor:
    _, height, width, channels = outputs.shape
    return ops.reshape(outputs, (-1, height * width * (channels // values), values))
