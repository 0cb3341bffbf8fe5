"""SSD: one stage, boxes of set shapes on maps of several sizes, and a loss that counts only the hardest background.

Its settings, its variants, the paper and the published scores: `config/detectors/ssd.py`.
"""

from __future__ import annotations

from typing import ClassVar

import keras
from keras import ops

from unstall.base.errors import InvalidInputError
from unstall.config.detectors.ranges import MOBILENET_STAGES
from unstall.config.detectors.ssd import BACKBONE_MAPS, VGG_EXTRAS, SSDSettings
from unstall.data.anchors import create_default_boxes
from unstall.data.augment.geometry import Resize
from unstall.detectors.detector import Detector, Targets, Term
from unstall.detectors.layers import boxes as box_ops
from unstall.detectors.layers import losses
from unstall.detectors.layers.boxes import Matches, Tensor, compute_overlaps, gather_matched, match_default_boxes
from unstall.detectors.layers.conv_norm import Conv, KeyedLayer, precision, split_by_anchor
from unstall.detectors.layers.initializers import normal
from unstall.detectors.layers.mobilenet_v3 import SPLIT, ConvNorm, MobileNetV3
from unstall.detectors.layers.nms import Detections, suppress_by_class
from unstall.detectors.layers.resnet import Norms
from unstall.detectors.layers.rng import Draw
from unstall.detectors.layers.vgg import VGG, Convs, Step

CAFFE_MEAN, CAFFE_STD = (0.48235, 0.45882, 0.40784), (1 / 255, 1 / 255, 1 / 255)  # the weights of VGG were trained on 0 to 255
HALF = (0.5, 0.5, 0.5)
CODE_WEIGHTS = (10.0, 10.0, 5.0, 5.0)
BETA = 1.0  # where the distance of boxes turns from a square to a line
FIRST_SCALE = 20.0  # that the finest map of VGG is brought to
LITE_START = normal(0.03)

# Pixels between the boxes of a level: what the layers stride; without padding there is no such step, and they are spread evenly
VGG_STEPS_PX = (8, 16, 32, 64, None, None)
LITE_EXTRAS = (512, 256, 256, 128)  # channels of the maps that follow MobileNet's, each halved


class L2Norm(KeyedLayer, keras.layers.Layer):  # type: ignore[misc]
    """Every place of a map brought to length 1, then each channel to a length that is learned.

    Its key is `backbone`, so that its variable is `backbone.scale_weight`, as in torchvision, where the backbone itself holds it.
    """

    def build(self, shape: tuple[int | None, ...]) -> None:
        start = keras.initializers.Constant(FIRST_SCALE)
        self.scale_weight = self.add_weight(shape=(shape[-1],), initializer=start, name="scale_weight")

    def call(self, x: Tensor) -> Tensor:
        wide = ops.cast(x, "float32")
        squares = ops.sum(wide * wide, axis=-1, keepdims=True)
        is_long = squares > 1e-24  # a place where nothing is seen stays nothing, and has no gradient that is not finite
        factor = ops.where(is_long, ops.rsqrt(ops.where(is_long, squares, 1.0)), 0.0)
        return ops.cast(wide * factor, x.dtype) * ops.cast(self.scale_weight, x.dtype)


class LiteExtra(keras.layers.Layer):  # type: ignore[misc]
    """Narrows, halves each channel by itself, and widens."""

    def __init__(self, filters: int, norms: Norms, name: str) -> None:
        super().__init__(name=name)
        self.narrow = ConvNorm(filters // 2, 1, norms, "relu6", f"{name}.0", start=LITE_START)
        self.halve = ConvNorm(None, 3, norms, "relu6", f"{name}.1", stride=2, start=LITE_START)
        self.widen = ConvNorm(filters, 1, norms, "relu6", f"{name}.2", start=LITE_START)

    def call(self, x: Tensor, training: bool | None = None) -> Tensor:
        for layer in (self.narrow, self.halve, self.widen):
            x = layer(x, training=training)
        return x


class Head(keras.layers.Layer):  # type: ignore[misc]
    """A 3×3 convolution to the outputs of one level; lite: each channel by itself, then 1×1."""

    def __init__(self, filters: int, lite_norms: Norms | None, name: str) -> None:
        super().__init__(name=name)
        self.filter = None
        if lite_norms is None:
            self.output_conv = Conv(filters, 3, name=name)
        else:
            self.filter = ConvNorm(None, 3, lite_norms, "relu6", f"{name}.0", start=LITE_START)
            self.output_conv = Conv(filters, 1, kernel_initializer=LITE_START, name=f"{name}.1")

    def call(self, x: Tensor, training: bool | None = None) -> Tensor:
        return self.output_conv(x if self.filter is None else self.filter(x, training=training))


class SSD(Detector):
    resize: ClassVar[Resize] = "stretch"

    def __init__(self, settings: SSDSettings, name: str = "ssd") -> None:
        is_lite = settings.backbone == "mobilenet_v3"
        mean, std = (HALF, HALF) if is_lite else (CAFFE_MEAN, CAFFE_STD)
        super().__init__(settings, mean, std, name)
        self.is_lite = is_lite
        self.scaled: L2Norm | None = None
        self.outputs_per_anchor = settings.num_classes + 1
        per_cell = [2 + 2 * len(ratios) for ratios in settings.aspect_ratios]
        with precision(settings.precision):
            lite_norms = Norms(settings.freeze_batch_norm, epsilon=1e-3, momentum=0.97) if is_lite else None
            if lite_norms is None:
                self._make_vgg()
            else:
                self._make_lite(lite_norms)
            self.class_heads = [
                Head(count * self.outputs_per_anchor, lite_norms, f"head.classification_head.module_list.{level}")
                for level, count in enumerate(per_cell)
            ]
            self.box_heads = [
                Head(count * 4, lite_norms, f"head.regression_head.module_list.{level}") for level, count in enumerate(per_cell)
            ]
        self.grids = self.list_level_shapes()
        self.build_all()
        self.backbone.freeze(settings.trainable_backbone_layers)
        steps = None if is_lite else VGG_STEPS_PX
        self.anchors = create_default_boxes(settings.image_size, self.grids, settings.scales, settings.aspect_ratios, steps)

    def _make_vgg(self) -> None:
        settings = self.settings
        norms = Norms(settings.freeze_batch_norm) if settings.vgg_batch_norm else None
        self.backbone = VGG(settings.stage_convs, settings.stem_channels, settings.dilation, norms, settings.remat)
        self.scaled = L2Norm(name="backbone")
        self.extras = []
        for number, (narrow, wide, halves) in enumerate(VGG_EXTRAS[: len(settings.aspect_ratios) - BACKBONE_MAPS], start=1):
            second = Step(wide * settings.stem_channels, 3, stride=2) if halves else Step(wide * settings.stem_channels, 3, pad=0)
            self.extras.append(Convs([Step(narrow * settings.stem_channels, 1), second], f"backbone.extra.{number}", 0, norms))

    def _make_lite(self, norms: Norms) -> None:
        settings = self.settings
        self.backbone = MobileNetV3(
            norms, settings.reduced_tail, (SPLIT, MOBILENET_STAGES[-1]), "backbone.features", True, LITE_START, settings.remat
        )  # fmt: skip
        channels = LITE_EXTRAS[: len(settings.aspect_ratios) - BACKBONE_MAPS]
        self.extras = [LiteExtra(filters, norms, f"backbone.extra.{number}") for number, filters in enumerate(channels)]

    def call(self, images: Tensor, training: bool | None = None) -> dict[str, list[Tensor]]:
        """For each level (batch, boxes of the level, classes + 1) logits and (batch, boxes of the level, 4) codes."""
        levels = self.levels(self.prepared(images), training)
        heads = {"classes": (self.class_heads, self.outputs_per_anchor), "boxes": (self.box_heads, 4)}
        return {
            key: [split_by_anchor(head(level, training=training), values) for head, level in zip(own, levels, strict=True)]
            for key, (own, values) in heads.items()
        }

    def levels(self, pixels: Tensor, training: bool | None) -> list[Tensor]:
        fine, x = self.backbone(pixels, training=training)
        levels = [self.scaled(fine) if self.scaled else fine, x]
        for extra in self.extras:
            x = extra(x, training=training)
            levels.append(x)
        return levels

    def list_level_shapes(self) -> list[tuple[int, int]]:
        """From what the layers do to a side."""
        sides = [self._level_sides(px) for px in self.settings.image_size]
        shapes = list(zip(*sides, strict=True))
        if any(min(shape) < 1 for shape in shapes):
            height, width = self.settings.image_size
            raise InvalidInputError(
                f"image_size: {height}×{width} is too small for {len(shapes)} levels, the last of which has no cell left. "
                "Expected a larger image, or ratios and scales of fewer levels."
            )
        return shapes

    def _level_sides(self, px: int) -> list[int]:
        extras = len(self.settings.aspect_ratios) - BACKBONE_MAPS
        if self.is_lite:
            sides = [_halved(px, 4), _halved(px, 5)]
            halves = [True] * extras
        else:
            fine = _halved(px // 4, 1)
            sides = [fine, fine // 2]
            halves = [halves for _, _, halves in VGG_EXTRAS[:extras]]
        for is_halved in halves:
            sides.append(_halved(sides[-1], 1) if is_halved else sides[-1] - 2)
        return sides

    def compute_loss_terms(self, images: Tensor, targets: Targets, draw: Draw, training: bool = True) -> dict[str, Term]:
        return self.compute_terms(self(images, training=training), targets)

    def compute_loss_counts(self, images: Tensor, targets: Targets, draw: Draw, training: bool = True) -> dict[str, Tensor]:
        objects = _objects(self.matched(targets))
        return {"class": objects, "box": objects}

    def matched(self, targets: Targets) -> Matches:
        overlap = compute_overlaps(ops.convert_to_tensor(self.anchors)[None], ops.cast(targets.boxes, "float32"))
        return match_default_boxes(overlap, ops.cast(targets.mask, "bool"), self.settings.fg_iou_threshold)

    def compute_terms(self, raw: dict[str, list[Tensor]], targets: Targets) -> dict[str, Term]:
        """Sums over the batch, shared by the objects of the batch (the boxes that learn one)."""
        settings = self.settings
        logits, codes = (ops.concatenate(raw[key], axis=1) for key in ("classes", "boxes"))
        anchors, boxes = ops.convert_to_tensor(self.anchors)[None], ops.cast(targets.boxes, "float32")
        matches = self.matched(targets)
        label = ops.where(matches.is_object, gather_matched(ops.cast(targets.classes, "int32"), matches) + 1, 0)
        wrong = losses.cross_entropy(logits, label)
        hard = losses.mine_hard_negatives(wrong, matches.is_object, matches.is_background, settings.neg_pos_ratio)
        wanted = ops.where(matches.is_object[..., None], gather_matched(boxes, matches), anchors)
        distance = losses.smooth_l1(codes, box_ops.encode(wanted, anchors, CODE_WEIGHTS), BETA)
        objects = _objects(matches)
        return {
            "class": Term(ops.sum(ops.where(matches.is_object | hard, wrong, 0.0)), objects),
            "box": Term(ops.sum(ops.where(matches.is_object, distance, 0.0)), objects),
        }

    def compute_detections(self, images: Tensor, sizes: Tensor | None = None) -> Detections:
        raw = self(images, training=False)
        return self.select_detections(raw, sizes)

    def select_detections(self, raw: dict[str, list[Tensor]], sizes: Tensor | None = None) -> Detections:
        settings = self.settings
        logits, codes = (ops.concatenate(raw[key], axis=1) for key in ("classes", "boxes"))
        scores = ops.softmax(ops.cast(logits, "float32"), axis=-1)[..., 1:]
        scores = ops.where(scores > settings.score_threshold, scores, 0.0)
        boxes = box_ops.clip(box_ops.decode(codes, self.anchors, CODE_WEIGHTS), *box_ops.extent(settings.image_size, sizes))
        return suppress_by_class(boxes, scores, settings.nms_iou_threshold, settings.pre_nms_top_k, settings.max_detections)


def _objects(matches: Matches) -> Tensor:
    return ops.sum(ops.cast(matches.is_object, "float32"))


def _halved(side: int, times: int) -> int:
    """Rounded up each time."""
    for _ in range(times):
        side = (side + 1) // 2
    return side
