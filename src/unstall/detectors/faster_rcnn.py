"""Faster R-CNN: a first stage proposes regions, a second one looks at each of them again and names it.

Its settings, its variants, the paper and the published scores: `config/detectors/faster_rcnn.py`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import keras
import numpy as np
from keras import ops

from unstall.backends.ops import top_k
from unstall.config.detectors.faster_rcnn import FasterRCNNSettings
from unstall.data.anchors import create_pyramid_anchors
from unstall.detectors.detector import IMAGENET_MEAN, IMAGENET_STD, Detector, Targets, Term
from unstall.detectors.layers import boxes as box_ops
from unstall.detectors.layers import losses
from unstall.detectors.layers.boxes import Matches, Tensor, compute_overlaps, match
from unstall.detectors.layers.conv_norm import precision
from unstall.detectors.layers.fpn import FeaturePyramidNetwork
from unstall.detectors.layers.mobilenet_v3 import MobileNetV3
from unstall.detectors.layers.nms import Detections, suppress
from unstall.detectors.layers.resnet import Norms, ResNet
from unstall.detectors.layers.rng import Draw, Sample, gather_at, sample, uniform
from unstall.detectors.layers.roi_align import roi_align
from unstall.detectors.layers.rpn import CODE_WEIGHTS as ANCHOR_CODE_WEIGHTS
from unstall.detectors.layers.rpn import BoxHead, Proposals, RPNHead, propose

REGION_CODE_WEIGHTS = (10.0, 10.0, 5.0, 5.0)
BETA = 1 / 9  # of smooth L1, in both stages
CELLS, READINGS = 7, 2  # along each side of a region, and along each side of a cell
MIN_SIDE_PX = 1e-2  # of a detection
UNIT_BOX = np.array([0, 0, 1, 1], np.float32)  # in the place of a region that is compared with nothing: it has sides
ANCHORS, REGIONS = 1, 2  # what is drawn, each from numbers of its own


class RegionTargets(NamedTuple):
    """Regions of the second stage with what each is to learn."""

    boxes: Tensor  # (batch, n, 4)
    label: Tensor  # (batch, n) 0 for background, else class + 1
    wanted: Tensor  # (batch, n, 4) the object's own box; anything where there is none
    is_used: Tensor  # (batch, n)


class FasterRCNN(Detector):
    loss_names = ("objectness", "proposal_box", "class", "box")

    def __init__(self, settings: FasterRCNNSettings, name: str = "faster_rcnn") -> None:
        super().__init__(settings, IMAGENET_MEAN, IMAGENET_STD, name)
        norms = Norms(settings.freeze_batch_norm, settings.norm_epsilon)
        per_cell = len(settings.anchor_sizes[0]) * len(settings.aspect_ratios)
        self.outputs_per_region = settings.num_classes + 1
        with precision(settings.precision):
            self.backbone, self.strides = _backbone(settings, norms)
            self.pyramid = FeaturePyramidNetwork(
                len(self.strides), settings.fpn_channels, norms if settings.fpn_batch_norm else None
            )
            self.proposer = RPNHead(settings.fpn_channels, settings.num_rpn_convs, per_cell)
            self.head = BoxHead(
                CELLS, settings.fpn_channels, settings.num_head_convs, settings.head_units, self.outputs_per_region, norms
            )  # fmt: skip
        self.build_all()
        self.backbone.freeze(settings.trainable_backbone_layers)
        shapes = self.list_level_shapes()
        self.anchors_of_level = create_pyramid_anchors(settings.image_size, shapes, settings.anchor_sizes, settings.aspect_ratios)
        self.anchors = np.concatenate(self.anchors_of_level)

    def build_all(self) -> None:
        """On as little as will do: what is learned does not depend on the image's size, and every region has the same."""
        side = self.strides[-1] * 2
        self.proposer(self.levels(keras.KerasTensor((1, side, side, 3)), training=False))
        self.head(keras.KerasTensor((1, 1, CELLS, CELLS, self.settings.fpn_channels)))
        self.built = True

    def call(self, images: Tensor, training: bool | None = None) -> dict[str, Any]:
        """The first stage's outputs for each level, its proposals, and the second stage's outputs for each of them."""
        levels = self.levels(self.prepared(images), training)
        raw = self.proposer(levels)
        regions = self.proposals(raw)
        return {**raw, "regions": regions, **self.run_box_head(levels, regions.boxes, regions.is_used, training)}

    def levels(self, pixels: Tensor, training: bool | None) -> list[Tensor]:
        """The pyramid's maps, and one more that is every second pixel of the last."""
        levels = self.pyramid(self.backbone(pixels, training=training), training=training)
        return [*levels, levels[-1][:, ::2, ::2]]

    def list_level_shapes(self) -> list[tuple[int, int]]:
        """Every halving rounds up."""
        height, width = self.settings.image_size
        return [(math.ceil(height / stride), math.ceil(width / stride)) for stride in (*self.strides, self.strides[-1] * 2)]

    def proposals(self, raw: dict[str, Any], sizes: Tensor | None = None, training: bool = False) -> Proposals:
        settings = self.settings
        mode = 0 if training else 1
        return propose(
            raw["objects"], raw["anchor_codes"], self.anchors_of_level, box_ops.extent(settings.image_size, sizes),
            rpn_pre_nms_top_n=settings.rpn_pre_nms_top_n[mode], most=settings.rpn_post_nms_top_n[mode],
            nms_iou_threshold=settings.rpn_nms_threshold, score_threshold=settings.rpn_score_threshold,
        )  # fmt: skip

    def run_box_head(
        self, levels: Sequence[Tensor], regions: Tensor, is_used: Tensor, training: bool | None
    ) -> dict[str, Tensor]:
        read = roi_align(levels[:-1], self.strides, regions, CELLS, READINGS)
        outputs: dict[str, Tensor] = self.head(read, training=training, is_used=is_used)
        return outputs

    # --- learning ---

    def compute_loss_terms(self, images: Tensor, targets: Targets, draw: Draw, training: bool = True) -> dict[str, Term]:
        levels = self.levels(self.prepared(images), training)
        raw = self.proposer(levels)
        matches = self.match_anchors(targets)
        chosen = self.choose_anchors(matches, draw)
        regions = self.learned(self.proposals(raw, training=True), targets, draw)
        outputs = self.run_box_head(levels, regions.boxes, regions.is_used, training)
        return {**self.compute_anchor_terms(raw, targets, matches, chosen), **self.compute_region_terms(outputs, regions)}

    def compute_loss_counts(self, images: Tensor, targets: Targets, draw: Draw, training: bool = True) -> dict[str, Tensor]:
        """How many regions learn is known when the first stage has proposed them: as much of the network runs as that takes."""
        chosen = self.choose_anchors(self.match_anchors(targets), draw)
        raw = self.proposer(self.levels(self.prepared(images), training))
        regions = self.learned(self.proposals(raw, training=True), targets, draw)
        anchors, of_regions = _count(chosen.is_used), _count(regions.is_used)
        return {"objectness": anchors, "proposal_box": anchors, "class": of_regions, "box": of_regions}

    def choose_anchors(self, matches: Matches, draw: Draw) -> Sample:
        settings = self.settings
        random_numbers = uniform(draw, ANCHORS, ops.shape(matches.is_object)[0], matches.is_object.shape[1])
        return sample(
            matches.is_object,
            matches.is_background,
            settings.rpn_batch_size_per_image,
            settings.rpn_positive_fraction,
            random_numbers,
        )  # fmt: skip

    def match_anchors(self, targets: Targets) -> Matches:
        overlap = compute_overlaps(ops.convert_to_tensor(self.anchors)[None], targets.boxes)
        settings = self.settings
        return match(
            overlap, targets.mask, settings.rpn_fg_iou_threshold, settings.rpn_bg_iou_threshold, low_quality=True
        )  # fmt: skip

    def compute_anchor_terms(self, raw: dict[str, Any], targets: Targets, matches: Matches, chosen: Sample) -> dict[str, Term]:
        """Of the anchors that were chosen; both sums over the number of all of them in the batch."""
        logits = gather_at(ops.concatenate(raw["objects"], axis=1), chosen.place)
        codes = gather_at(ops.concatenate(raw["anchor_codes"], axis=1), chosen.place)
        anchors = ops.take(ops.convert_to_tensor(self.anchors), chosen.place, axis=0)
        wanted = gather_at(targets.boxes, gather_at(matches.box, chosen.place))
        count = _count(chosen.is_used)
        objectness = losses.binary_cross_entropy(logits, chosen.is_object)
        distance = losses.smooth_l1(codes, box_ops.encode(wanted, anchors, ANCHOR_CODE_WEIGHTS), BETA)
        return {
            "objectness": Term(_sum_where(chosen.is_used, objectness), count),
            "proposal_box": Term(_sum_where(chosen.is_object, distance), count),
        }

    def learned(self, proposals: Proposals, targets: Targets, draw: Draw) -> RegionTargets:
        """Some of the proposals and of the objects' own boxes, which a detector that proposes nothing yet learns from."""
        settings = self.settings
        boxes = ops.concatenate([proposals.boxes, targets.boxes], axis=1)
        is_there = ops.concatenate([proposals.is_used, targets.mask], axis=1)
        limit = settings.box_fg_iou_threshold
        matches = match(compute_overlaps(boxes, targets.boxes), targets.mask, limit, limit, low_quality=False)
        random_numbers = uniform(draw, REGIONS, ops.shape(boxes)[0], boxes.shape[1])
        chosen = sample(
            matches.is_object & is_there, matches.is_background & is_there,
            settings.box_batch_size_per_image, settings.box_positive_fraction, random_numbers,
        )  # fmt: skip
        matched = gather_at(matches.box, chosen.place)
        of_class = gather_at(ops.cast(targets.classes, "int32"), matched)
        label = ops.where(chosen.is_object, of_class + 1, 0)
        boxes = ops.where(chosen.is_used[..., None], gather_at(boxes, chosen.place), 0.0)
        return RegionTargets(ops.stop_gradient(boxes), label, gather_at(targets.boxes, matched), chosen.is_used)

    def compute_region_terms(self, outputs: dict[str, Tensor], regions: RegionTargets) -> dict[str, Term]:
        """A region's box is judged by the outputs of its own class; both sums over the number of all regions of the batch."""
        count = _count(regions.is_used)
        naming = losses.cross_entropy(outputs["classes"], regions.label)
        is_own = regions.label[..., None] == ops.arange(self.outputs_per_region, dtype="int32")
        codes = ops.reshape(ops.cast(outputs["boxes"], "float32"), (-1, *is_own.shape[1:], 4))
        codes = ops.sum(ops.where(is_own[..., None], codes, 0.0), axis=2)
        is_object = regions.label > 0
        anchors = ops.where(is_object[..., None], regions.boxes, ops.convert_to_tensor(UNIT_BOX))
        distance = losses.smooth_l1(codes, box_ops.encode(regions.wanted, anchors, REGION_CODE_WEIGHTS), BETA)
        return {
            "class": Term(_sum_where(regions.is_used, naming), count),
            "box": Term(_sum_where(is_object, distance), count),
        }

    # --- detecting ---

    def compute_detections(self, images: Tensor, sizes: Tensor | None = None) -> Detections:
        levels = self.levels(self.prepared(images), training=False)
        regions = self.proposals(self.proposer(levels), sizes)
        outputs = self.run_box_head(levels, regions.boxes, regions.is_used, training=False)
        return self.select_detections({**outputs, "regions": regions}, sizes)

    def select_detections(self, raw: dict[str, Any], sizes: Tensor | None = None) -> Detections:
        """Suppression sees the `pre_nms_top_k` likeliest pairs of region and class. What it leaves is exact, as only a likelier
        box can suppress another; some are missing only where it leaves fewer than `max_detections` and there were more pairs."""
        settings = self.settings
        regions = raw["regions"]
        scores = ops.softmax(ops.cast(raw["classes"], "float32"), axis=-1)[..., 1:]
        scores = ops.where((scores > settings.score_threshold) & regions.is_used[..., None], scores, 0.0)
        pairs = scores.shape[1] * settings.num_classes
        scores, place = top_k(ops.reshape(scores, (-1, pairs)), min(settings.pre_nms_top_k, pairs))
        region, of_class = place // settings.num_classes, place % settings.num_classes
        codes = ops.reshape(raw["boxes"], (-1, regions.boxes.shape[1] * self.outputs_per_region, 4))
        codes = gather_at(codes, region * self.outputs_per_region + of_class + 1)
        boxes = box_ops.decode(codes, gather_at(regions.boxes, region), REGION_CODE_WEIGHTS)
        boxes = box_ops.clip(boxes, *box_ops.extent(settings.image_size, sizes))
        scores = ops.where(box_ops.has_sides(boxes, MIN_SIDE_PX), scores, 0.0)
        return suppress(boxes, scores, of_class, settings.nms_iou_threshold, settings.max_detections)


def _backbone(settings: FasterRCNNSettings, norms: Norms) -> tuple[Any, tuple[int, ...]]:
    """And the strides of its maps. MobileNet's two have the same; regions are read from the first."""
    if settings.backbone == "resnet":
        return ResNet(settings.stage_blocks, settings.stem_channels, norms, settings.remat), (4, 8, 16, 32)
    return MobileNetV3(norms, remat=settings.remat), (32, 32)


def _count(is_used: Tensor) -> Tensor:
    return ops.sum(ops.cast(is_used, "float32"))


def _sum_where(is_used: Tensor, values: Tensor) -> Tensor:
    return ops.sum(ops.where(is_used, values, 0.0))
