"""`model.ssd` and `model.faster_rcnn`: the settings of the detector that was chosen for them."""

from __future__ import annotations

import math

from unstall.config import detectors
from unstall.config.detectors.ranges import MAX_SIDE_PX, MIN_SIDE_PX
from unstall.tfod import anchors
from unstall.tfod.config import Node
from unstall.tfod.ledger import Ledger
from unstall.tfod.models import ModelChoice, has_normed_heads

CODED = {"ssd": (10.0, 10.0, 5.0, 5.0), "retinanet": (1.0, 1.0, 1.0, 1.0)}  # what codes of boxes are multiplied by
SCORES = {"ssd": "SOFTMAX", "retinanet": "SIGMOID", "faster_rcnn": "SOFTMAX"}
STAGES = {"vgg": 5, "resnet": 5, "mobilenet": 6}  # of backbones: in the API all of them learn
GROUPS = 32  # of group norm, at most
MAX_CHANNELS = 4096
CHANNELS = 256  # of a pyramid, where nobody says otherwise
MAX_COUNT = 100_000
RETINANET_LEVEL, FASTER_RCNN_LEVEL = 3, 2  # the finest of their pyramids


def convert_detector(root: Node, chosen: ModelChoice, lying: float | None, ledger: Ledger) -> None:
    model = root.node("model", "faster_rcnn" if chosen.family == "faster_rcnn" else "ssd")
    _backbone(model, chosen, ledger)
    size = convert_image_size(model, chosen, lying, ledger)
    if chosen.family == "ssd":
        _ssd(model, chosen, size, ledger)
    elif chosen.family == "retinanet":
        _retinanet(model, ledger)
    else:
        _faster_rcnn(model, chosen, ledger)
    ledger.carried(model, "num_classes", to="classes are counted in the label map")


def _backbone(model: Node, chosen: ModelChoice, ledger: Ledger) -> None:
    extractor = model.node("feature_extractor")
    ledger.set("model", chosen.model, extractor, "type", changed=chosen.said)
    if chosen.blocks:
        depth = sum(chosen.blocks) * 3 + 2
        ledger.follow("detector.stage_blocks", list(chosen.blocks), f"ResNet-{depth}")
    kind = next(each for each in STAGES if each in chosen.model)
    ledger.follow("detector.trainable_backbone_layers", STAGES[kind], "every layer learns, as in the API")
    if chosen.family == "faster_rcnn":
        is_learned = extractor.flag("batch_norm_trainable")
        ledger.set("detector.freeze_batch_norm", not is_learned, extractor, "batch_norm_trainable")
    elif kind != "vgg":
        ledger.set("detector.freeze_batch_norm", model.flag("freeze_batchnorm"), model, "freeze_batchnorm")


# --- what SSD and RetinaNet share ---


def _single_stage(model: Node, family: str, ledger: Ledger) -> None:
    coder = model.node("box_coder", "faster_rcnn_box_coder")
    for name, weight in zip(("y_scale", "x_scale", "height_scale", "width_scale"), CODED[family], strict=True):
        instead = f"codes of boxes are multiplied by {weight:g} here"
        ledger.same_if(coder.number(name, weight) == weight, coder, name, instead=instead)
    matcher = model.node("matcher", "argmax_matcher")
    ledger.set("detector.fg_iou_threshold", matcher.number("matched_threshold", 0.5, 0, 1), matcher, "matched_threshold")
    always = "each box is learned by the anchor that overlaps it most, always"
    ledger.same_if(matcher.flag("force_match_for_each_row"), matcher, "force_match_for_each_row", instead=always)
    ledger.same_if(not matcher.flag("ignore_thresholds"), matcher, "ignore_thresholds", instead="thresholds hold")
    lower = "anchors below both thresholds are background"
    ledger.same_if(matcher.flag("negatives_lower_than_unmatched", True), matcher, "negatives_lower_than_unmatched", instead=lower)
    ledger.same(model.node("similarity_calculator"), "iou_similarity")
    each = "losses are shared by the boxes that are learned"
    ledger.same_if(model.flag("normalize_loss_by_num_matches", True), model, "normalize_loss_by_num_matches", instead=each)
    four = "the loss of a box is the sum over its four codes: it weighs four times as much as in the API"
    ledger.same_if(not model.flag("normalize_loc_loss_by_codesize"), model, "normalize_loc_loss_by_codesize", instead=four)
    loss = model.node("loss")
    for name in ("classification_weight", "localization_weight"):
        ledger.same_if(loss.number(name, 1.0) == 1.0, loss, name, instead="losses weigh the same")
    _chosen_detections(model.node("post_processing"), family, ledger)


def _chosen_detections(node: Node, family: str, ledger: Ledger) -> None:
    nms = node.node("batch_non_max_suppression")
    ledger.set("detector.score_threshold", nms.number("score_threshold", 0.0, 0, 1), nms, "score_threshold")
    ledger.set("detector.nms_iou_threshold", nms.number("iou_threshold", 0.6, 0, 1), nms, "iou_threshold")
    ledger.set("detector.max_detections", nms.whole("max_total_detections", 100, 1, MAX_COUNT), nms, "max_total_detections")
    scores = SCORES[family]
    ledger.same_if(node.word("score_converter") == scores, node, "score_converter", instead=f"{scores.lower()} makes the scores")


# --- each family ---


def _ssd(model: Node, chosen: ModelChoice, size: list[int], ledger: Ledger) -> None:
    _single_stage(model, "ssd", ledger)
    generator = model.node("anchor_generator")
    levels = _max_levels(chosen, size)
    if anchors.find_generator(generator) == "ssd_anchor_generator" or levels < anchors.MAX_SSD_LEVELS:
        anchors.convert_ssd_anchors(generator, ledger, levels)
    matcher, loss = model.node("matcher", "argmax_matcher"), model.node("loss")
    same = matcher.number("unmatched_threshold", 0.5, 0, 1) == matcher.number("matched_threshold", 0.5, 0, 1)
    below = "a default box below matched_threshold is background"
    ledger.same_if(same, matcher, "unmatched_threshold", instead=below)
    miner = loss.node("hard_example_miner")
    if miner.whole("max_negatives_per_positive", 0):
        hardest = float(miner.whole("max_negatives_per_positive", 3))
        ledger.set("detector.neg_pos_ratio", hardest, miner, "max_negatives_per_positive")
    mined = "the hardest background counts, detector.neg_pos_ratio of it for each box that is learned"
    ledger.left_out(loss, "hard_example_miner", instead=mined)
    ledger.same(loss.node("classification_loss"), "weighted_softmax")
    ledger.left_out(loss, "classification_loss", instead=f"classes are learned by softmax, and {mined}")
    _distance(loss.node("localization_loss"), 1.0, ledger)


def _max_levels(chosen: ModelChoice, size: list[int]) -> int:
    """VGG's last two maps lose their border: a small image has nothing left of them."""
    if chosen.model != "ssd300_vgg16":
        return anchors.MAX_SSD_LEVELS
    side = ((min(size) // 4 + 1) // 2) // 2  # of the second map
    fourth = ((side + 1) // 2 + 1) // 2
    return 6 if fourth >= 5 else 5 if fourth >= 3 else 4


def _distance(node: Node, beta: float, ledger: Ledger) -> None:
    smooth = node.node("weighted_smooth_l1")
    ledger.same_if(smooth.number("delta", 1.0) == beta, smooth, "delta", instead=f"smooth L1 turns to a line at {beta:g}")
    ledger.same(node, "weighted_smooth_l1")
    ledger.left_out(node, instead="boxes are learned by smooth L1 of their codes")


def _retinanet(model: Node, ledger: Ledger) -> None:
    _single_stage(model, "retinanet", ledger)
    generator = model.node("anchor_generator")
    if anchors.find_generator(generator) == "multiscale_anchor_generator":
        anchors.convert_pyramid_anchors(generator, ledger, RETINANET_LEVEL)
    matcher, loss = model.node("matcher", "argmax_matcher"), model.node("loss")
    upper = matcher.number("matched_threshold", 0.5, 0, 1)
    lower = matcher.number("unmatched_threshold", 0.5, 0, 1)
    said = "" if lower <= upper else "no more than matched_threshold"
    ledger.set("detector.bg_iou_threshold", min(lower, upper), matcher, "unmatched_threshold", changed=said)
    _focal(loss, ledger)
    where = loss.node("localization_loss")
    is_giou = where.has("weighted_giou") or where.has("weighted_iou")
    ledger.follow("detector.box_loss", "giou" if is_giou else "l1", where.path)
    ledger.carried(where, "weighted_giou", to='detector.box_loss = "giou"')
    ledger.changed(where, "weighted_iou", to='detector.box_loss = "giou"', why="the generalised IoU is the one that there is")
    ledger.changed(where, to='detector.box_loss = "l1"', why="the distance of codes as it is, without a smooth foot")
    _heads(model, ledger)
    _pyramid(model, RETINANET_LEVEL, ledger.values["detector"].get("fpn_channels", CHANNELS), ledger)


def _focal(loss: Node, ledger: Ledger) -> None:
    classes = loss.node("classification_loss")
    focal = classes.node("weighted_sigmoid_focal")
    if classes.has("weighted_sigmoid_focal"):
        ledger.set("detector.focal_gamma", focal.number("gamma", 2.0, 0), focal, "gamma")
        if focal.has("alpha"):
            ledger.set("detector.focal_alpha", focal.number("alpha", 0.25, 0, 1), focal, "alpha")
        else:
            ledger.follow("detector.focal_alpha", 0.5, "no alpha: objects and background weigh the same")
        ledger.carried(classes, "weighted_sigmoid_focal", to="the focal loss")
    elif classes.has("weighted_sigmoid"):
        ledger.follow("detector.focal_gamma", 0.0, "weighted_sigmoid lets nothing weigh less")
        ledger.follow("detector.focal_alpha", 0.5, "objects and background weigh the same")
        ledger.changed(
            classes, "weighted_sigmoid", to="the focal loss with gamma 0 and alpha 0.5", why="the same at half the weight"
        )
    ledger.left_out(classes, instead="classes are learned by the focal loss")
    ledger.left_out(loss, "hard_example_miner", instead="the focal loss lets easy background weigh little: nothing is mined")


def _heads(model: Node, ledger: Ledger) -> None:
    predictor = model.node("box_predictor")
    for name in predictor.names():
        inner = predictor.node(name)
        if inner.has("num_layers_before_predictor"):
            wanted = inner.whole("num_layers_before_predictor", 4, 0, 100)
            said = "" if wanted else "a head has one convolution at least"
            ledger.set("detector.num_head_convs", max(wanted, 1), inner, "num_layers_before_predictor", changed=said)
        if inner.whole("depth", 0, 0, MAX_CHANNELS):
            channels = inner.whole("depth", 256)
            ledger.set("detector.fpn_channels", channels, inner, "depth", said="of the pyramid, too")
            if has_normed_heads(model) and channels % GROUPS:
                groups = max(count for count in range(1, GROUPS + 1) if channels % count == 0)
                ledger.set("detector.num_groups", groups, inner, "depth", said=f"detector.num_groups = {groups} divides it")
        if inner.has("class_prediction_bias_init"):
            bias = inner.number("class_prediction_bias_init", 0.0, -20, 20)
            prior = round(1 / (1 + math.exp(-bias)), 6) or 1e-6
            ledger.set("detector.prior_probability", min(prior, 1 - 1e-6), inner, "class_prediction_bias_init")


def _pyramid(model: Node, finest: int, channels: int, ledger: Ledger) -> None:
    """Its levels and channels, where they are those that there are here; else `ledger.py` has the word."""
    extractor = model.node("feature_extractor")
    coarsest = finest + anchors.LEVELS - 1
    for node in (extractor.node("fpn"), extractor.node("bifpn")):
        for name, own in (
            ("min_level", finest),
            ("max_level", coarsest),
            ("additional_layer_depth", channels),
            ("num_filters", channels),
        ):
            if node.has(name) and node.whole(name, own) == own:
                ledger.same(node, name)


def _faster_rcnn(model: Node, chosen: ModelChoice, ledger: Ledger) -> None:
    is_mobile = "mobilenet" in chosen.model
    _pyramid(model, FASTER_RCNN_LEVEL, CHANNELS, ledger)
    generator = model.node("first_stage_anchor_generator")
    kind = anchors.find_generator(generator)
    if kind == "grid_anchor_generator":
        anchors.convert_grid_anchors(generator, ledger, levels=3 if is_mobile else anchors.LEVELS)
    elif kind == "multiscale_anchor_generator" and not is_mobile:
        anchors.convert_pyramid_anchors(generator, ledger, FASTER_RCNN_LEVEL)
    for setting, name, usual in (
        ("rpn_score_threshold", "first_stage_nms_score_threshold", 0.0),
        ("rpn_nms_threshold", "first_stage_nms_iou_threshold", 0.7),
        ("rpn_positive_fraction", "first_stage_positive_balance_fraction", 0.5),
        ("box_positive_fraction", "second_stage_balance_fraction", 0.25),
    ):
        ledger.set(f"detector.{setting}", model.number(name, usual, 0, 1), model, name)
    proposals = model.whole("first_stage_max_proposals", 300, 1, MAX_COUNT)
    ledger.set("detector.rpn_post_nms_top_n", [proposals, proposals], model, "first_stage_max_proposals")
    for setting, name, usual in (
        ("rpn_batch_size_per_image", "first_stage_minibatch_size", 256),
        ("box_batch_size_per_image", "second_stage_batch_size", 64),
    ):
        ledger.set(f"detector.{setting}", model.whole(name, usual, 1, MAX_COUNT), model, name)
    _chosen_detections(model.node("second_stage_post_processing"), "faster_rcnn", ledger)
    for name in model.names():
        if name.endswith("_loss_weight"):
            ledger.same_if(model.number(name, 1.0) == 1.0, model, name, instead="losses weigh the same")
    stages = model.whole("number_of_stages", 2, 1, 3)
    instead = "masks are not learned, boxes are" if stages == 3 else "both stages are trained"
    ledger.same_if(stages == 2, model, "number_of_stages", instead=instead)
    ledger.same(model.node("second_stage_classification_loss"), "weighted_softmax")
    other = "the second stage of Faster R-CNN takes the place of R-FCN's position-sensitive maps"
    ledger.left_out(model.node("second_stage_box_predictor"), "rfcn_box_predictor", instead=other)


# `image_resizer`: the one size that images are brought to here.


STRIDE_PX = 32  # what sides of a pyramid's images are made a multiple of
MOSTLY = 0.8  # of the images: if as many lie, or stand, the canvas does


def convert_image_size(model: Node, chosen: ModelChoice, lying: float | None, ledger: Ledger) -> list[int]:
    """`lying` is the share of images that are wider than high; None: not known."""
    resizer = model.node("image_resizer")
    if resizer.has("fixed_shape_resizer"):
        return _fixed(resizer.node("fixed_shape_resizer"), chosen, ledger)
    if resizer.has("keep_aspect_ratio_resizer"):
        return _kept_aspect(resizer.node("keep_aspect_ratio_resizer"), chosen, lying, ledger)
    usual = list(detectors.get_image_size(chosen.model))
    ledger.follow("detector.image_size", usual, f"the usual size of {chosen.model}")
    return usual


def _fixed(inner: Node, chosen: ModelChoice, ledger: Ledger) -> list[int]:
    wanted = [inner.whole(name, 300, 1, 100_000) for name in ("height", "width")]
    size = [_within(side) for side in wanted]
    said = "" if size == wanted else f"expected {MIN_SIDE_PX} to {MAX_SIDE_PX} pixels here"
    if chosen.family != "ssd":
        said = said or "the image keeps its shape within it, and the rest is filled; the API stretches it"
    ledger.set("detector.image_size", size, inner, "height", "width", changed=said)
    return size


def _kept_aspect(inner: Node, chosen: ModelChoice, lying: float | None, ledger: Ledger) -> list[int]:
    short = inner.whole("min_dimension", 600, 1, 100_000)
    long = max(inner.whole("max_dimension", 1024, 1, 100_000), short)
    is_square = inner.flag("pad_to_max_dimension") or short == long
    if is_square:
        size, said = [long, long], ""
    elif lying is None or 1 - MOSTLY < lying < MOSTLY:
        size, said = [long, long], "one size for all images, so that none is smaller than in the API"
    else:
        is_lying = lying >= MOSTLY
        size = [short, long] if is_lying else [long, short]
        said = f"one size for all images; {max(lying, 1 - lying):.0%} of them {'lie' if is_lying else 'stand'}"
    fitting = [_within(-(-side // STRIDE_PX) * STRIDE_PX) for side in size]
    if chosen.family == "ssd":
        said = "SSD stretches images to its size here"
    elif fitting != size:
        said = said or f"a multiple of {STRIDE_PX}, the stride of the backbone"
    ledger.set("detector.image_size", fitting, inner, "min_dimension", "max_dimension", "pad_to_max_dimension", changed=said)
    return fitting


def _within(side: int) -> int:
    return min(max(side, MIN_SIDE_PX), MAX_SIDE_PX)
