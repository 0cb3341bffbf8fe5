"""Small configs of each kind, in which single fields are exchanged."""

from __future__ import annotations

from unstall.tfod.config import Node, parse_text
from unstall.tfod.conversion import ConvertedConfig, convert_config
from unstall.tfod.inputs import PathOverrides
from unstall.tfod.ledger import Row

SSD = """
ssd {
  num_classes: 3
  box_coder { faster_rcnn_box_coder { y_scale: 10.0 x_scale: 10.0 height_scale: 5.0 width_scale: 5.0 } }
  matcher { argmax_matcher { matched_threshold: 0.5 unmatched_threshold: 0.5 force_match_for_each_row: true } }
  similarity_calculator { iou_similarity { } }
  anchor_generator {
    ssd_anchor_generator { num_layers: 6 min_scale: 0.2 max_scale: 0.95 aspect_ratios: [1.0, 2.0, 0.5, 3.0, 0.3333] }
  }
  image_resizer { fixed_shape_resizer { height: 300 width: 320 } }
  feature_extractor { type: 'ssd_mobilenet_v2' depth_multiplier: 1.0 }
  loss {
    classification_loss { weighted_sigmoid { } }
    localization_loss { weighted_smooth_l1 { } }
    hard_example_miner { num_hard_examples: 3000 max_negatives_per_positive: 4 }
  }
  post_processing {
    batch_non_max_suppression { score_threshold: 1e-8 iou_threshold: 0.6 max_total_detections: 90 }
    score_converter: SIGMOID
  }
}
"""
RETINANET = """
ssd {
  num_classes: 3
  freeze_batchnorm: true
  matcher { argmax_matcher { matched_threshold: 0.6 unmatched_threshold: 0.4 force_match_for_each_row: true } }
  anchor_generator {
    multiscale_anchor_generator {
      min_level: 3 max_level: 7 anchor_scale: 4.0 aspect_ratios: [1.0, 2.0, 0.5] scales_per_octave: 2
    }
  }
  image_resizer { keep_aspect_ratio_resizer { min_dimension: 640 max_dimension: 640 pad_to_max_dimension: true } }
  box_predictor {
    weight_shared_convolutional_box_predictor {
      depth: 128 class_prediction_bias_init: -4.6 num_layers_before_predictor: 3
      conv_hyperparams { activation: RELU_6, regularizer { l2_regularizer { weight: 0.0004 } } batch_norm { decay: 0.99 } }
    }
  }
  feature_extractor { type: 'ssd_resnet101_v1_fpn_keras' fpn { min_level: 3 max_level: 7 } }
  loss {
    classification_loss { weighted_sigmoid_focal { alpha: 0.3 gamma: 1.5 } }
    localization_loss { weighted_smooth_l1 { } }
  }
  post_processing { batch_non_max_suppression { score_threshold: 0.02 } score_converter: SIGMOID }
}
"""
FASTER_RCNN = """
faster_rcnn {
  num_classes: 3
  image_resizer { keep_aspect_ratio_resizer { min_dimension: 600 max_dimension: 1024 } }
  feature_extractor { type: 'faster_rcnn_resnet50' first_stage_features_stride: 16 }
  first_stage_anchor_generator {
    grid_anchor_generator { scales: [0.25, 0.5, 1.0, 2.0] aspect_ratios: [0.5, 1.0, 2.0] height_stride: 16 width_stride: 16 }
  }
  first_stage_nms_iou_threshold: 0.65
  first_stage_max_proposals: 300
  first_stage_localization_loss_weight: 2.0
  second_stage_post_processing {
    batch_non_max_suppression { score_threshold: 0.1 iou_threshold: 0.6 max_total_detections: 200 }
    score_converter: SOFTMAX
  }
}
"""
COSINE = """
momentum_optimizer {
  learning_rate {
    cosine_decay_learning_rate { learning_rate_base: .04 total_steps: 1000 warmup_learning_rate: .01 warmup_steps: 50 }
  }
  momentum_optimizer_value: 0.8
}
use_moving_average: false
"""
READERS = """
train_input_reader {
  label_map_path: "PATH_TO_BE_CONFIGURED/labels.pbtxt"
  tf_record_input_reader { input_path: "PATH_TO_BE_CONFIGURED/train-?????-of-00010" }
}
eval_input_reader {
  label_map_path: "PATH_TO_BE_CONFIGURED/labels.pbtxt"
  tf_record_input_reader { input_path: "PATH_TO_BE_CONFIGURED/val-?????-of-00010" }
}
"""


def written(model: str = SSD, train: str = "", optimizer: str = COSINE, readers: str = READERS, more: str = "") -> str:
    """A whole pipeline.config."""
    steps = "" if "num_steps" in train else "num_steps: 1000"
    batch = "" if "batch_size" in train else "batch_size: 8"
    return f"model {{ {model} }}\ntrain_config: {{ {batch} {steps} {train}\n optimizer {{ {optimizer} }} }}\n{readers}\n{more}"


def parsed(text: str) -> Node:
    return parse_text(text, "pipeline.config")


def converted(text: str, given: PathOverrides | None = None) -> ConvertedConfig:
    return convert_config(parsed(text), given or PathOverrides())


def row_of(found: ConvertedConfig, field: str) -> Row:
    """Of the field whose path ends so."""
    (row,) = (row for row in found.rows if f".{row.field}".endswith(f".{field}"))
    return row
