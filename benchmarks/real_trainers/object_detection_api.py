"""The TF Object Detection API as PyPI has it: `model_main_tf2.py` with an SSD MobileNet V2 FPNLite of random weights."""

from __future__ import annotations

from pathlib import Path

from benchmarks.real_trainers import records
from benchmarks.real_trainers.trainer import Case

CASES = (
    "healthy",
    "input_blocked",
    "input_slow",
    "learning_rate",
    "image_corrupt",
    "record_corrupt",
    "label_unknown",
    "pattern_empty",
    "killed",
)
SLOW_S = 240.0
_PIPELINE = """
model {
  ssd {
    num_classes: CLASSES
    image_resizer { fixed_shape_resizer { height: 160 width: 160 } }
    feature_extractor {
      type: "ssd_mobilenet_v2_fpn_keras"
      use_depthwise: true
      depth_multiplier: 0.35
      min_depth: 16
      fpn { min_level: 3 max_level: 7 additional_layer_depth: 32 }
      conv_hyperparams {
        regularizer { l2_regularizer { weight: 4e-5 } }
        initializer { random_normal_initializer { mean: 0.0 stddev: 0.01 } }
        activation: RELU_6
        batch_norm { decay: 0.997 scale: true epsilon: 0.001 }
      }
      override_base_feature_extractor_hyperparams: true
    }
    box_coder { faster_rcnn_box_coder { y_scale: 10 x_scale: 10 height_scale: 5 width_scale: 5 } }
    matcher {
      argmax_matcher {
        matched_threshold: 0.5 unmatched_threshold: 0.5 ignore_thresholds: false
        negatives_lower_than_unmatched: true force_match_for_each_row: true use_matmul_gather: true
      }
    }
    similarity_calculator { iou_similarity {} }
    box_predictor {
      weight_shared_convolutional_box_predictor {
        depth: 32 num_layers_before_predictor: 1 kernel_size: 3 class_prediction_bias_init: -4.6
        share_prediction_tower: true use_depthwise: true
        conv_hyperparams {
          regularizer { l2_regularizer { weight: 4e-5 } }
          initializer { random_normal_initializer { mean: 0.0 stddev: 0.01 } }
          activation: RELU_6
          batch_norm { decay: 0.997 scale: true epsilon: 0.001 }
        }
      }
    }
    anchor_generator {
      multiscale_anchor_generator {
        min_level: 3 max_level: 7 anchor_scale: 4.0 scales_per_octave: 2
        aspect_ratios: 1.0 aspect_ratios: 2.0 aspect_ratios: 0.5
      }
    }
    post_processing {
      batch_non_max_suppression { score_threshold: 1e-8 iou_threshold: 0.6 max_detections_per_class: 20 max_total_detections: 20 }
      score_converter: SIGMOID
    }
    normalize_loss_by_num_matches: true
    loss {
      localization_loss { weighted_smooth_l1 {} }
      classification_loss { weighted_sigmoid_focal { gamma: 2.0 alpha: 0.25 } }
      classification_weight: 1.0
      localization_weight: 1.0
    }
    encode_background_as_zeros: true
    normalize_loc_loss_by_codesize: true
    inplace_batchnorm_update: true
    freeze_batchnorm: false
  }
}
train_config {
  batch_size: 4
  num_steps: STEPS
  max_number_of_boxes: 10
  unpad_groundtruth_tensors: false
  optimizer {
    momentum_optimizer { learning_rate { constant_learning_rate { learning_rate: RATE } } momentum_optimizer_value: 0.9 }
    use_moving_average: false
  }
}
train_input_reader {
  label_map_path: "LABELS"
  shuffle_buffer_size: 20
  tf_record_input_reader { input_path: "PATTERN" }
}
"""


def prepare(extra_path: str, folder: Path, fault: str, python: str) -> Case:
    """`extra_path`: where the package has put the modules that it imports by their own names."""
    data = folder / "data"
    data.mkdir()
    # Of a class, the API believes the text, and leaves out what its map lacks. So the model is given too few classes.
    spoiled = records.write_shards(data, "" if fault == "label_unknown" else fault)
    where, pattern, rate, steps = "", "train-*.record", "0.01", "60"
    num_classes = "6"
    if fault in {"input_blocked", "record_corrupt"}:
        where = spoiled.name
    elif fault == "image_corrupt":
        where = rf"{spoiled.name}|train-\*\.record|\w+\.py:\d+"
    elif fault == "pattern_empty":
        pattern, where = "trian-*.record", r"trian-\*\.record"
    elif fault == "learning_rate":
        rate = "1000000.0"
    elif fault == "label_unknown":
        num_classes, where = "3", r"pipeline\.config:\d+"
    if fault in {"killed", "input_slow"}:
        steps = "5000"
    values = {
        "CLASSES": num_classes,
        "STEPS": steps,
        "RATE": rate,
        "LABELS": str(data / "label_map.pbtxt"),
        "PATTERN": str(data / pattern),
    }
    text = _PIPELINE
    for key, value in values.items():
        text = text.replace(key, value)
    config = folder / "pipeline.config"
    config.write_text(text)
    packages = next((Path(python).parents[1] / "lib").glob("python3*/site-packages"))
    options = [f"--pipeline_config_path={config}", f"--model_dir={folder / 'out'}", "--checkpoint_every_n=10000"]
    command = [python, "-m", "object_detection.model_main_tf2", *options, "--alsologtostderr"]
    environ = {"PYTHONPATH": str(packages / extra_path), "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": "python"}
    return Case(command, where, environ=environ, seconds=SLOW_S if fault == "input_slow" else 0.0)
