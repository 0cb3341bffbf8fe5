"""RetinaNet: one stage, dense anchors on a pyramid, and a loss that lets the easy background weigh little.

Its settings, its variants, the paper and the published scores: `config/detectors/retinanet.py`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import keras
import numpy as np
from keras import ops

from unstall.backends.devices import is_compiled_for_card
from unstall.config.detectors.retinanet import RetinaNetSettings
from unstall.data.anchors import create_pyramid_anchors
from unstall.detectors.detector import IMAGENET_MEAN, IMAGENET_STD, Detector, Targets, Term
from unstall.detectors.layers import boxes as box_ops
from unstall.detectors.layers import losses
from unstall.detectors.layers.boxes import Matches, Tensor, compute_overlaps, gather_matched, match
from unstall.detectors.layers.conv_norm import Conv, GroupNorm, precision, split_by_anchor
from unstall.detectors.layers.fpn import FeaturePyramidNetwork
from unstall.detectors.layers.initializers import normal, variance_scaling
from unstall.detectors.layers.nms import Detections, suppress
from unstall.detectors.layers.resnet import Norms, ResNet
from unstall.detectors.layers.rng import Draw

CODE_WEIGHTS = (1.0, 1.0, 1.0, 1.0)


def create_coarser_levels(channels: int, name: str) -> Conv:
    """A level of half the size."""
    return Conv(
        channels,
        3,
        stride=2,
        kernel_initializer=variance_scaling(1.0, "in", is_uniform=True),
        name=f"backbone.fpn.extra_blocks.{name}",
    )


class Head(keras.layers.Layer):  # type: ignore[misc]
    """Convolutions that are the same for every level, then one output."""

    def __init__(self, settings: RetinaNetSettings, name: str, output: str, filters: int, bias: float) -> None:
        super().__init__(name=name)
        small = normal(0.01)
        channels, has_bias = settings.fpn_channels, not settings.use_group_norm
        self.convs = [
            Conv(channels, 3, use_bias=has_bias, kernel_initializer=small, name=f"{name}.conv.{number}.0")
            for number in range(settings.num_head_convs)
        ]
        normed = range(settings.num_head_convs if settings.use_group_norm else 0)
        self.norms = [GroupNorm(settings.num_groups, name=f"{name}.conv.{number}.1") for number in normed]
        start = keras.initializers.Constant(bias)
        self.output_conv = Conv(filters, 3, kernel_initializer=small, bias_initializer=start, name=f"{name}.{output}")

    def call(self, x: Tensor) -> Tensor:
        for number, conv in enumerate(self.convs):
            x = conv(x)
            x = ops.relu(self.norms[number](x) if self.norms else x)
        return self.output_conv(x)


class RetinaNet(Detector):
    def __init__(self, settings: RetinaNetSettings, name: str = "retinanet") -> None:
        super().__init__(settings, IMAGENET_MEAN, IMAGENET_STD, name)
        norms = Norms(settings.freeze_batch_norm, settings.norm_epsilon)
        per_cell = len(settings.anchor_sizes[0]) * len(settings.aspect_ratios)
        self.outputs_per_anchor = settings.num_classes + 1
        with precision(settings.precision):
            self.backbone = ResNet(settings.stage_blocks, settings.stem_channels, norms, settings.remat)
            self.pyramid = FeaturePyramidNetwork(levels=3, channels=settings.fpn_channels)
            self.p6 = create_coarser_levels(settings.fpn_channels, "p6")
            self.p7 = create_coarser_levels(settings.fpn_channels, "p7")
            bias = -math.log((1 - settings.prior_probability) / settings.prior_probability)
            self.class_head = Head(
                settings, "head.classification_head", "cls_logits", per_cell * self.outputs_per_anchor, bias
            )  # fmt: skip
            self.box_head = Head(settings, "head.regression_head", "bbox_reg", per_cell * 4, 0.0)
        self.build_all()
        self.backbone.freeze(settings.trainable_backbone_layers)
        levels = self.list_level_shapes()
        self.anchors_of_level = create_pyramid_anchors(settings.image_size, levels, settings.anchor_sizes, settings.aspect_ratios)
        self.anchors = np.concatenate(self.anchors_of_level)

    def call(self, images: Tensor, training: bool | None = None) -> dict[str, list[Tensor]]:
        """For each level (batch, anchors of the level, classes + 1) logits and (batch, anchors of the level, 4) codes."""
        levels = self.levels(self.prepared(images), training)
        return {
            "classes": [split_by_anchor(self.class_head(level), self.outputs_per_anchor) for level in levels],
            "boxes": [split_by_anchor(self.box_head(level), 4) for level in levels],
        }

    def levels(self, pixels: Tensor, training: bool | None) -> list[Tensor]:
        _, *stages = self.backbone(pixels, training=training)
        levels = self.pyramid(stages, training=training)
        sixth = self.p6(stages[-1] if self.settings.coarse_from_backbone else levels[-1])
        return [*levels, sixth, self.p7(ops.relu(sixth))]

    def list_level_shapes(self) -> list[tuple[int, int]]:
        """Of the five levels: every halving rounds up."""
        height, width = self.settings.image_size
        shapes = []
        for halvings in range(1, 8):
            height, width = math.ceil(height / 2), math.ceil(width / 2)
            if halvings >= 3:
                shapes.append((height, width))
        return shapes

    def compute_loss_terms(self, images: Tensor, targets: Targets, draw: Draw, training: bool = True) -> dict[str, Term]:
        return self.compute_terms(self(images, training=training), targets)

    def compute_loss_counts(self, images: Tensor, targets: Targets, draw: Draw, training: bool = True) -> dict[str, Tensor]:
        count = ops.cast(ops.shape(images)[0], "float32")
        return {"class": count, "box": count}

    def compute_terms(self, raw: dict[str, list[Tensor]], targets: Targets) -> dict[str, Term]:
        """Each image's sums over its own objects, shared by the images."""
        settings = self.settings
        overlap = compute_overlaps(ops.convert_to_tensor(self.anchors)[None], ops.cast(targets.boxes, "float32"))
        matches = match(
            overlap, ops.cast(targets.mask, "bool"), settings.fg_iou_threshold, settings.bg_iou_threshold, low_quality=True
        )  # fmt: skip
        objects = ops.sum(ops.cast(matches.is_object, "float32"), axis=1)
        codes = ops.concatenate(raw["boxes"], axis=1)
        distance = self._box_distance(codes, gather_matched(targets.boxes, matches), matches.is_object)
        images = ops.cast(ops.shape(codes)[0], "float32")
        of_images = {"class": self._class_sums(raw["classes"], targets.classes, matches), "box": ops.sum(distance, axis=1)}
        return {name: Term(ops.sum(losses.compute_share(sums, objects)), images) for name, sums in of_images.items()}

    def _class_sums(self, logits: list[Tensor], classes: Tensor, matches: Matches) -> Tensor:
        """Of each image, level by level: the outputs of all classes are most of a step's numbers, and are not copied together."""
        label = ops.where(matches.is_object, gather_matched(ops.cast(classes, "int32"), matches) + 1, -1)
        counts = ops.cast(matches.is_object | matches.is_background, "float32")
        # XLA would keep each loss's own slope in float32 for the way back, twice the outputs; they are sooner computed again.
        summed = keras.remat(self._level_sums) if is_compiled_for_card() else self._level_sums
        begin, total = 0, 0.0
        for of_level in logits:
            end = begin + of_level.shape[1]
            total = total + summed(of_level, label[:, begin:end], counts[:, begin:end])
            begin = end
        return total

    def _level_sums(self, logits: Tensor, label: Tensor, counts: Tensor) -> Tensor:
        is_class = label[..., None] == ops.arange(self.outputs_per_anchor, dtype="int32")
        focal = losses.focal(logits, is_class, self.settings.focal_alpha, self.settings.focal_gamma)
        return ops.sum(focal * counts[..., None], axis=(1, 2))

    def _box_distance(self, codes: Tensor, wanted: Tensor, is_object: Tensor) -> Tensor:
        """0 where there is no object; what stands there is compared with its own anchor, so that its gradient is finite."""
        anchors = ops.convert_to_tensor(self.anchors)
        wanted = ops.where(is_object[..., None], ops.cast(wanted, "float32"), anchors)
        if self.settings.box_loss == "giou":
            distance = box_ops.giou_loss(box_ops.decode(codes, anchors, CODE_WEIGHTS), wanted)
        else:
            distance = losses.smooth_l1(codes, box_ops.encode(wanted, anchors, CODE_WEIGHTS), beta=0.0)
        return ops.where(is_object, distance, 0.0)

    def compute_detections(self, images: Tensor, sizes: Tensor | None = None) -> Detections:
        raw = self(images, training=False)
        return self.select_detections(raw, sizes)

    def select_detections(self, raw: dict[str, list[Tensor]], sizes: Tensor | None = None) -> Detections:
        settings = self.settings
        candidates = [
            self._candidates(logits, codes, anchors)
            for logits, codes, anchors in zip(raw["classes"], raw["boxes"], self.anchors_of_level, strict=True)
        ]
        boxes, scores, classes = (ops.concatenate(parts, axis=1) for parts in zip(*candidates, strict=True))
        boxes = box_ops.clip(boxes, *box_ops.extent(settings.image_size, sizes))
        return suppress(boxes, scores, classes, settings.nms_iou_threshold, settings.max_detections)

    def _candidates(self, logits: Tensor, codes: Tensor, anchors: np.ndarray) -> Sequence[Tensor]:
        """The best pairs of anchor and class of one level; the output that stands for background is never one.

        As many pairs as are wanted belong to at most as many anchors, and no anchor but the best so many can have one of them: so
        anchors are chosen first, by their best class, and only their classes are compared.
        """
        count = min(self.settings.pre_nms_top_k, logits.shape[1])
        logits = ops.cast(logits[..., 1:], "float32")
        _, chosen = ops.top_k(ops.max(logits, axis=2), count)
        scores = ops.sigmoid(ops.take_along_axis(logits, chosen[..., None], axis=1))
        scores = ops.where(scores > self.settings.score_threshold, scores, 0.0)
        pairs = min(self.settings.pre_nms_top_k, count * self.settings.num_classes)
        scores, place = ops.top_k(ops.reshape(scores, (-1, count * self.settings.num_classes)), pairs)
        anchor = ops.take_along_axis(chosen, place // self.settings.num_classes, axis=1)
        codes = ops.take_along_axis(codes, anchor[..., None], axis=1)
        own = ops.take(ops.convert_to_tensor(anchors), anchor, axis=0)
        return box_ops.decode(codes, own, CODE_WEIGHTS), scores, place % self.settings.num_classes
