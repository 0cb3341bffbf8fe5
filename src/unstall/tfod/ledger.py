"""What became of every field of a config: carried over, changed, left out, or unknown; each with its line and its reason."""

from __future__ import annotations

import fnmatch
import json
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any, Literal

from unstall.base.formatting import find_closest_name
from unstall.config.toml_file import as_toml
from unstall.data.io.prototext import Block, Field
from unstall.tfod.config import Node, list_leaves

Became = Literal["carried over", "changed", "left out", "unknown"]
AS_HERE = "as it is here, too"
MAX_SHOWN = 200  # characters of a value


@dataclass(frozen=True)
class FieldOutcome:
    became: Became
    to: str = ""  # 'batch_size = 16'
    why: str = ""  # of what was changed; of what was left out, what happens instead


@dataclass(frozen=True)
class Row:
    line: int
    field: str
    value: str
    became: Became
    to: str
    why: str

    def as_plain(self) -> dict[str, Any]:
        return asdict(self)


class Ledger:
    """Settings as they come about, and what became of the fields that they came from."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.why: dict[str, str] = {}  # of a setting: where in the config it comes from
        self._outcomes: dict[int, FieldOutcome] = {}  # by the field's identity: two fields may be equal

    # --- settings ---

    def set(self, setting: str, value: Any, node: Node, *names: str, changed: str = "", said: str = "") -> None:
        """`names` of fields in the node are where it comes from; `changed`, why it is not theirs; else what is `said`."""
        if setting.startswith("detector."):
            self.values.setdefault("detector", {})[setting.partition(".")[2]] = value
        else:
            self.values[setting] = value
        given = [field for name in names for field in node.given(name)]
        to = f"{setting} = {as_toml(value)}"
        for field in given:
            self._outcomes[id(field)] = FieldOutcome("changed" if changed else "carried over", to, changed or said)
        place = f"line {given[-1].line}, {node.place(given[-1].name)}" if given else f"not in {node.path}: the API's default"
        self.why[setting] = f"{place}; {changed or said}" if changed or said else place

    def follow(self, setting: str, value: Any, why: str) -> None:
        """A setting that follows from several fields, or from what is there, or is not."""
        self.set(setting, value, Node("", ""))
        self.why[setting] = why

    # --- fields ---

    def same(self, node: Node, *names: str) -> None:
        """Fields that ask for what is done here anyway."""
        self._mark(node, names, FieldOutcome("carried over", AS_HERE))

    def carried(self, node: Node, *names: str, to: str) -> None:
        self._mark(node, names, FieldOutcome("carried over", to))

    def changed(self, node: Node, *names: str, to: str, why: str) -> None:
        self._mark(node, names, FieldOutcome("changed", to, why))

    def left_out(self, node: Node, *names: str, instead: str) -> None:
        self._mark(node, names, FieldOutcome("left out", why=instead))

    def same_if(self, fits: bool, node: Node, *names: str, instead: str) -> None:
        """Done here anyway if it `fits`; else left out."""
        self._mark(node, names, FieldOutcome("carried over", AS_HERE) if fits else FieldOutcome("left out", why=instead))

    def _mark(self, node: Node, names: tuple[str, ...], outcome: FieldOutcome) -> None:
        for name in names or node.names():
            for field in node.given(name):
                self._mark_all(field, outcome)

    def _mark_all(self, field: Field, outcome: FieldOutcome) -> None:
        """With all that is within it; what was said of a field before stays."""
        self._outcomes.setdefault(id(field), outcome)
        if isinstance(field.value, Block):
            for inner in field.value.fields:
                self._mark_all(inner, outcome)

    # --- the report ---

    def rows(self, root: Node, otherwise: Callable[[str], FieldOutcome]) -> list[Row]:
        """Of every field, in the order of the lines. `otherwise(path)` is the fate of one of which nothing was said."""
        found = []
        for place, field in list_leaves(root):
            outcome = self._outcomes.get(id(field)) or otherwise(place)
            found.append(Row(field.line, place, format_field(field), outcome.became, outcome.to, outcome.why))
        return sorted(found, key=lambda row: row.line)


def format_field(field: Field) -> str:
    if isinstance(field.value, Block):
        return "{}"
    text = json.dumps(field.value.text, ensure_ascii=False) if field.value.is_quoted else field.value.text
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 1]}…"


# Fields that have no counterpart here, and what happens instead: patterns of their paths, the first that fits.


_WHOLE_BATCH = (
    "every update is of the whole batch: of one process, in parts of micro_batch_size images, or shared by `num_workers`"
)
_INPUT = "the pipeline sizes itself: num_input_workers, prefetch_bytes, cache_bytes"
_LAYERS = "layers, their norms, activations and first weights are those of {model}"
_SAME_RESULT = "a way to compute of the API, which changes no result"
_NO_MASKS = "boxes are learned, masks are not"
_NO_KEYPOINTS = "boxes are learned, keypoints are not"
_COCO = "the validation data is scored by COCO's rules, all of it, after each epoch"
_PICTURES = "`unstall evaluate` and `unstall predict` draw what was found"
_BY_STAGE = "no layer is frozen by name; detector.trainable_backbone_layers is the number of stages that learn, from the last"
_BALANCE = "losses weigh the same"

PATTERNS: tuple[tuple[str, str], ...] = (
    # the model
    ("*hyperparams.*", _LAYERS),
    ("*hyperparams", _LAYERS),
    ("model.*.feature_extractor.fpn.*", "the pyramid is that of {model}"),
    ("model.*.feature_extractor.bifpn.*", "the pyramid goes from coarse to fine, once: that of {model}"),
    ("model.*.feature_extractor.*", "the backbone is that of {model}"),
    ("model.*.box_predictor.*", "heads are those of {model}"),
    *((f"model.*.mask_rcnn_box_predictor.{name}", _NO_MASKS) for name in ("mask*", "predict_instance_masks", "convolve_then_*")),
    ("model.*.mask_rcnn_box_predictor.predict_keypoints", _NO_KEYPOINTS),
    ("model.*second_stage_box_predictor.*", "the second stage is that of {model}"),
    ("model.*first_stage_box_predictor*", "the first stage is that of {model}"),
    ("model.*.image_resizer.*.resize_method", "images are resized bilinearly, and by area where they shrink"),
    ("model.*.image_resizer.*.convert_to_grayscale", "images are learned in colour"),
    ("model.*.image_resizer.*.per_channel_pad_value", "what is beyond the image is filled with the mean colour of ImageNet"),
    ("model.*.image_resizer.*", "the size is that of {model}"),
    ("model.*anchor_generator.*", "anchors are those of {model}"),
    ("model.*.box_coder.*", "boxes are coded as {model} does"),
    ("model.*.matcher.*use_matmul_gather", _SAME_RESULT),
    ("model.*.matcher.*", "boxes and anchors are matched as {model} does"),
    ("model.*.similarity_calculator.*", "boxes are compared by their IoU"),
    ("model.*hard_example_miner.*", "regions are drawn by chance, as detector.box_batch_size_per_image says"),
    ("model.ssd.loss.random_example_sampler.*", "background is chosen as {model} does"),
    ("model.ssd.loss.*_weight", _BALANCE),
    ("model.ssd.loss.*", "the losses are those of {model}"),
    ("model.faster_rcnn.*_loss_weight", _BALANCE),
    ("model.faster_rcnn.second_stage_classification_loss.*", "the second stage learns by softmax"),
    ("model.*post_processing.*max_detections_per_class", "detector.max_detections bounds those of all classes together"),
    ("model.*post_processing.*", "detections are chosen as {model} does"),
    ("model.*.use_static_shapes", _SAME_RESULT),
    ("model.*.use_matmul_*", _SAME_RESULT),
    ("model.*.use_static_balanced_label_sampler", _SAME_RESULT),
    ("model.*.inplace_batchnorm_update", _SAME_RESULT),
    ("model.*.resize_masks", _NO_MASKS),
    ("model.*.mask_head_config.*", _NO_MASKS),
    ("model.*.context_config.*", "an image is looked at by itself, without its context"),
    ("model.faster_rcnn.clip_anchors_to_image", "anchors are not cut, proposals are"),
    ("model.faster_rcnn.initial_crop_size", "regions are read by RoIAlign, 7 by 7"),
    ("model.faster_rcnn.maxpool_*", "regions are read by RoIAlign, 7 by 7"),
    ("model.faster_rcnn.use_depthwise*", "the first stage is that of {model}"),
    ("model.faster_rcnn.first_stage_atrous_rate", "the first stage is that of {model}"),
    ("model.faster_rcnn.output_final_box_*", "boxes and scores come out, nothing else"),
    ("model.ssd.encode_background_as_zeros", "background is encoded as {model} does"),
    ("model.ssd.add_background_class", "background is encoded as {model} does"),
    ("model.ssd.explicit_background_class", "background is encoded as {model} does"),
    ("model.ssd.negative_class_weight", "background weighs as {model} has it"),
    ("model.ssd.weight_regression_loss_by_score", "boxes weigh the same, whatever their score"),
    ("model.ssd.use_confidences_as_targets", "each box has one class, and is sure of it"),
    ("model.ssd.implicit_example_weight", "each box has one class, and is sure of it"),
    ("model.ssd.use_expected_classification_loss_under_sampling", "background is chosen as {model} does"),
    ("model.ssd.*_negative_sampl*", "background is chosen as {model} does"),
    ("model.ssd.return_raw_detections_during_predict", "boxes and scores come out, nothing else"),
    # the training
    ("train_config.sync_replicas", _WHOLE_BATCH),
    ("train_config.replicas_to_aggregate", _WHOLE_BATCH),
    ("train_config.startup_delay_steps", _WHOLE_BATCH),
    ("train_config.keep_checkpoint_every_n_hours", "checkpoint_interval_s and max_checkpoints say which are kept"),
    ("train_config.bias_grad_multiplier", "biases learn as fast as the rest; they have no decay"),
    ("train_config.freeze_variables", _BY_STAGE),
    ("train_config.update_trainable_variables", _BY_STAGE),
    ("train_config.batch_queue_capacity", _INPUT),
    ("train_config.num_batch_queue_threads", _INPUT),
    ("train_config.prefetch_queue_capacity", _INPUT),
    ("train_config.merge_multiple_label_boxes", "a box with two classes is two boxes"),
    ("train_config.add_regularization_loss", "weight_decay holds; 0 is none"),
    ("train_config.unpad_groundtruth_tensors", _SAME_RESULT),
    ("train_config.retain_original_images", _PICTURES),
    ("train_config.summarize_gradients", "the norm of the gradients is journalled at each step"),
    ("train_config.optimizer.*", "optimizer, rate and schedule are those of the recipe of {model}"),
    ("graph_rewriter.*", "nothing is quantized; `unstall export` writes the trained detector"),
    # the data
    ("*_input_reader.*mask*", _NO_MASKS),
    ("*_input_reader.*keypoint*", _NO_KEYPOINTS),
    ("*_input_reader.load_dense_pose", _NO_KEYPOINTS),
    ("*_input_reader.load_track_id", "an image is looked at by itself, without its context"),
    ("*_input_reader.load_context_features", "an image is looked at by itself, without its context"),
    ("*_input_reader.context_*", "an image is looked at by itself, without its context"),
    ("*_input_reader.frame_index", "an image is looked at by itself, without its context"),
    ("*_input_reader.load_multiclass_scores", "each box has one class, and is sure of it"),
    ("*_input_reader.load_keypoint_depth_features", _NO_KEYPOINTS),
    ("*_input_reader.expand_labels_hierarchy", "classes are those of the boxes, without their ancestors"),
    ("*_input_reader.num_additional_channels", "images have three channels"),
    ("*_input_reader.use_display_name", "classes are called by their name, else by their display_name"),
    ("*_input_reader.max_number_of_boxes", "max_boxes_per_image holds for training and scoring"),
    ("*_input_reader.external_input_reader*", "set data to where the records are"),
    ("*_input_reader.input_type", "records hold tf.train.Example; a SequenceExample cannot be read"),
    ("*_input_reader.name", "a data set is called by its path"),
    ("*_input_reader.include_source_id", "examples are called by their file name"),
    ("train_input_reader.shuffle", "every epoch has an order of its own, drawn from the seed"),
    ("eval_input_reader.shuffle", _COCO),
    ("train_input_reader.num_epochs", "epochs says how often the data is seen"),
    ("eval_input_reader.num_epochs", _COCO),
    ("*_input_reader.sample_*", "all examples are used, each as often as the others"),
    *((f"*_input_reader.{name}", _INPUT) for name in (
        "shuffle_buffer_size", "filenames_shuffle_buffer_size", "num_readers", "num_parallel_batches", "num_prefetch_batches",
        "queue_capacity", "min_after_dequeue", "read_block_length", "prefetch_size", "num_parallel_map_calls", "drop_remainder",
    )),
    # the scoring
    ("eval_config.use_moving_averages", "where weights are averaged, the average is scored"),
    ("eval_config.*keypoint*", _NO_KEYPOINTS),
    ("eval_config.parameterized_metric.*", _COCO),
    ("eval_config.super_categories.*", _COCO),
    ("eval_config.eval_instance_masks", _NO_MASKS),
    *((f"eval_config.{name}", _COCO) for name in (
        "batch_size", "num_examples", "max_evals", "eval_interval_secs", "metrics_set", "include_metrics_per_category",
        "recall_lower_bound", "recall_upper_bound", "eval_master", "all_groundtruth_exhaustive", "ignore_groundtruth",
        "image_classes_field_map_empty_to_ones", "force_no_resize", "use_dummy_loss_in_eval", "evaluate_only_listed_classes",
    )),
    *((f"eval_config.{name}", _PICTURES) for name in (
        "num_visualizations", "visualization_export_dir", "export_path", "save_graph", "min_score_threshold", "skip_scores",
        "max_num_boxes_to_visualize", "skip_labels", "visualize_groundtruth_boxes", "groundtruth_box_visualization_color",
        "keep_image_id_for_visualization_export", "retain_original_images", "retain_original_image_additional_channels",
    )),
)  # fmt: skip


def find_outcome(path: str, model: str) -> FieldOutcome:
    for pattern, instead in _compiled():
        if pattern.fullmatch(path):
            return FieldOutcome("left out", why=instead.format(model=model))
    near = find_closest_name(path, _plain(), cutoff=0.9)
    hint = f" Did you mean {near}?" if near else ""
    return FieldOutcome("unknown", why=f"no field of the API that is known here: nothing was done with it.{hint}")


@cache
def _compiled() -> list[tuple[re.Pattern[str], str]]:
    return [(re.compile(fnmatch.translate(pattern)), instead) for pattern, instead in PATTERNS]


@cache
def _plain() -> list[str]:
    """Paths that a mistyped one may have meant."""
    train = (
        "batch_size",
        "num_steps",
        "fine_tune_checkpoint",
        "fine_tune_checkpoint_type",
        "max_number_of_boxes",
        "use_bfloat16",
    )
    return [pattern for pattern, _ in PATTERNS if not set(pattern) & set("*?[")] + [f"train_config.{name}" for name in train]
