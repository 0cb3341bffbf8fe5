"""A pipeline.config, read, converted and written as settings, which are read again."""

from __future__ import annotations

import tomllib
from pathlib import Path

from fuzz.reading import said
from fuzz.tokens import PROTOTEXT
from unstall.base.errors import InvalidInputError
from unstall.data.io.reader import as_text
from unstall.tfod.config import parse_text
from unstall.tfod.conversion import convert_config, format_report, format_settings
from unstall.tfod.inputs import PathOverrides

READERS = (
    b"train_input_reader: < label_map_path: 'PATH_TO_BE_CONFIGURED/a' tf_record_input_reader { input_path: ['a@2', \"b\"] } >"
)
SEEDS = (
    b"model { ssd { num_classes: 3, image_resizer { fixed_shape_resizer { height: 300 width: 300 } }\n"
    b"feature_extractor { type: 'ssd_mobilenet_v2' } anchor_generator { ssd_anchor_generator { num_layers: 6 min_scale: .2\n"
    b"aspect_ratios: [1.0, 2.0, 0.5] } } matcher { argmax_matcher { matched_threshold: 0.5 } } loss { hard_example_miner {\n"
    b"max_negatives_per_positive: 3 } classification_loss { weighted_sigmoid { } } } } }\n"
    b"train_config: { batch_size: 24 num_steps: 200 optimizer { rms_prop_optimizer: { learning_rate: {\n"
    b"exponential_decay_learning_rate { initial_learning_rate: 0.004 decay_steps: 80 decay_factor: 0.95 } } epsilon: 1.0 } }\n"
    b"data_augmentation_options { ssd_random_crop { } } }\n" + READERS,
    b"model { ssd { feature_extractor { type: 'ssd_resnet50_v1_fpn' } anchor_generator { multiscale_anchor_generator {\n"
    b"anchor_scale: 4.0 scales_per_octave: 2 } } image_resizer { keep_aspect_ratio_resizer { min_dimension: 600 } }\n"
    b"box_predictor { weight_shared_convolutional_box_predictor { depth: 128 class_prediction_bias_init: -4.6\n"
    b"conv_hyperparams { batch_norm { } regularizer { l2_regularizer { weight: 4e-5 } } } } }\n"
    b"loss { classification_loss { weighted_sigmoid_focal { alpha: 0.25 gamma: 2.0 } } } } }\n"
    b"train_config { optimizer { momentum_optimizer { learning_rate { cosine_decay_learning_rate { learning_rate_base: .08\n"
    b"total_steps: 50 warmup_steps: 10 } } } } fine_tune_checkpoint: 'x' }",
    b"model { faster_rcnn { feature_extractor { type: 'faster_rcnn_resnet101' } first_stage_anchor_generator {\n"
    b"grid_anchor_generator { scales: [0.25, 0.5, 1.0, 2.0] aspect_ratios: 1 } } first_stage_max_proposals: 300 } }\n"
    b"train_config { num_steps: 9 optimizer { momentum_optimizer { learning_rate { manual_step_learning_rate {\n"
    b"initial_learning_rate: 0.003 schedule { step: 5 learning_rate: .0003 } warmup: true } } } } }",
)
TOKENS = (
    *PROTOTEXT,
    *(b"- ", b"\x7f"),
    *(
        b"0",
        b"1",
        b"-1",
        b"1e308",
        b"1e-308",
        b".5",
        b"0x10",
        b"017",
        b"0.9f",
        b"inf",
        b"nan",
        b"99999999999999999999",
        b"true",
        b"False",
    ),
    *(
        b"ssd {",
        b"faster_rcnn {",
        b"center_net {",
        b"scales: 1e-9",
        b"aspect_ratios: 0",
        b"num_steps: 0",
        b"batch_size: 0",
        b"x@*",
        b"${",
    ),
    *(
        b"{{{{{{{{{{{{{{{{{{{{",
        b"a { a { a { a { a { a { a { a { ",
        b"num_layers: 99",
        b"step: 1",
        b"learning_rate: 0",
        b"depth: 7",
    ),
)


def one(data: bytes, folder: Path) -> None:
    try:
        root = parse_text(as_text(data), "pipeline.config")
        found = convert_config(root, PathOverrides())
    except InvalidInputError as error:
        said(str(error))
        return
    assert all(row.to or row.why for row in found.rows)
    stored = tomllib.loads(format_settings(found, folder / "unstall.toml"))
    assert stored["model"] == found.model
    assert {name: value for name, value in stored.items() if value != found.settings[name]} == {}
    said(format_report(found)[:1])
