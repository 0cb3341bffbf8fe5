"""Other names of the settings and options: those that they had in earlier versions, and those that other trainers have.

A file with an old name loads, with a note that says the new one. An option with an old or a foreign name is refused with the
option to use instead. This is the only table of such names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

# Settings as they were called in settings files and run folders before, and what they are called now.
OLD_NAMES = {
    "labels": "label_map",
    "validation": "val_data",
    "validation_share": "val_split",
    "shapes": "synthetic_images",
    "workers": "num_workers",
    "micro_batch": "micro_batch_size",
    "rate": "learning_rate",
    "warm_up_steps": "warmup_steps",
    "schedule": "lr_schedule",
    "rate_drops_at_epochs": "lr_milestones",
    "average_decay": "ema_decay",
    "augment": "augmentations",
    "evaluate_every_epochs": "eval_interval",
    "stop_after_epochs": "patience",
    "input_threads": "num_input_workers",
    "ahead_bytes": "prefetch_bytes",
    "cache_folder": "cache_dir",
    "most_boxes": "max_boxes_per_image",
    "most_bad_share": "max_bad_fraction",
    "skip_examples": "exclude_examples",
    "checkpoint_every_s": "checkpoint_interval_s",
    "checkpoint_every_steps": "checkpoint_interval_steps",
    "keep_checkpoints": "max_checkpoints",
    "most_repairs": "max_restarts",
}
# The same of the settings of detectors, which stand in the table [detector] and in weights files.
OLD_DETECTOR_NAMES = {
    "classes": "num_classes",
    "image_px": "image_size",
    "anchor_sizes_px": "anchor_sizes",
    "anchor_ratios": "aspect_ratios",
    "ratios": "aspect_ratios",
    "foreground_iou": "fg_iou_threshold",
    "background_iou": "bg_iou_threshold",
    "anchor_foreground_iou": "rpn_fg_iou_threshold",
    "anchor_background_iou": "rpn_bg_iou_threshold",
    "anchor_samples": "rpn_batch_size_per_image",
    "anchor_object_share": "rpn_positive_fraction",
    "proposer_convs": "num_rpn_convs",
    "most_per_level": "rpn_pre_nms_top_n",
    "most_proposals": "rpn_post_nms_top_n",
    "proposal_most_iou": "rpn_nms_threshold",
    "proposal_least_score": "rpn_score_threshold",
    "region_foreground_iou": "box_fg_iou_threshold",
    "region_samples": "box_batch_size_per_image",
    "region_object_share": "box_positive_fraction",
    "least_score": "score_threshold",
    "most_iou": "nms_iou_threshold",
    "most_candidates": "pre_nms_top_k",
    "most_detections": "max_detections",
    "negatives_per_object": "neg_pos_ratio",
    "trainable_stages": "trainable_backbone_layers",
    "frozen_norms": "freeze_batch_norm",
    "pyramid_norms": "fpn_batch_norm",
    "vgg_norms": "vgg_batch_norm",
    "head_convs": "num_head_convs",
    "group_norm": "use_group_norm",
    "groups": "num_groups",
    "prior": "prior_probability",
    "blocks": "stage_blocks",
    "convs": "stage_convs",
    "width": "stem_channels",
    "channels": "fpn_channels",
}
OLD_AUGMENTATIONS = {"flip": "horizontal_flip", "scale_crop": "scale_jitter", "photometric": "photometric_distort"}
OLD_COMMANDS = {"sweep": "lr-find"}
# What other trainers call a command of ours.
COMMANDS_ELSEWHERE = {
    "fit": "train",
    "val": "evaluate",
    "validate": "evaluate",
    "eval": "evaluate",
    "test": "evaluate",
    "detect": "predict",
    "infer": "predict",
    "inference": "predict",
    "tune": "lr-find",
    "lr_find": "lr-find",
    "watch": "run",
}
# Options of commands that are no settings. Of several, the first that the command has.
OLD_OPTIONS = {
    "go_on": ("resume",),
    "models": ("list_models",),
    "devices": ("list_devices",),
    "batch": ("batch_size",),
    "least_score": ("score_threshold",),
    "least": ("min_lr",),
    "most": ("max_lr", "max_shapes"),
    "steps": ("num_steps",),
    "classes": ("num_classes",),
    "cards": ("num_accelerators", "device_table"),
    "hours": ("max_hours",),
    "names": ("class_names",),
    "images": ("num_images",),
    "count": ("num_images",),
    "size": ("image_size",),
    "side": ("tile_size",),
    "empty": ("empty_fraction",),
}
# What Ultralytics, Lightning, Detectron2, torchvision's references and the TF Object Detection API call ours. 'detector.x' is a
# name in the table [detector]; as an option, `--detector x=…`.
CALLED_ELSEWHERE: dict[str, tuple[str, ...]] = {
    "learning_rate": ("lr", "lr0", "base_lr", "init_lr", "initial_lr", "initial_learning_rate", "learning_rate_base"),
    "batch_size": ("batch", "bs", "images_per_batch", "train_batch_size", "total_batch_size", "ims_per_batch",
                   "samples_per_gpu", "batch_size_per_gpu"),
    "micro_batch_size": ("accumulate", "accumulation", "accumulation_steps", "accumulate_grad_batches",
                         "gradient_accumulation_steps", "grad_accum", "nbs"),
    "momentum": ("sgd_momentum", "momentum_optimizer_value"),
    "epochs": ("num_epochs", "max_epochs", "n_epochs", "max_epoch", "total_epochs", "num_steps", "max_steps",
               "num_train_steps", "max_iter"),
    "precision": ("amp", "fp16", "bf16", "half", "mixed_precision", "dtype", "use_bfloat16", "solver.amp.enabled"),
    "remat": ("gradient_checkpointing", "checkpointing", "rematerialize"),
    "ema_decay": ("ema", "model_ema", "model_ema_decay", "moving_average", "moving_average_decay"),
    "clip_norm": ("clipnorm", "global_clipnorm", "grad_clip", "gradient_clip_val", "max_grad_norm", "gradient_clipping_by_norm"),
    "weight_decay": ("wd", "decay", "l2"),
    "warmup_steps": ("warmup", "warmup_epochs", "warm_up", "warmup_iters", "lr_warmup_epochs"),
    "lr_schedule": ("scheduler", "lr_scheduler", "lr_scheduler_name", "cos_lr", "lrf", "lr_policy"),
    "lr_milestones": ("milestones", "lr_steps", "lr_step", "lr_step_size", "step_size", "solver.steps"),
    "patience": ("early_stopping", "early_stop", "early_stopping_patience"),
    "eval_interval": ("check_val_every_n_epoch", "val_interval", "val_period", "eval_every", "eval_period",
                      "val_check_interval", "eval_freq"),
    "num_input_workers": ("dataloader_workers", "num_parallel_calls", "num_threads", "dataloader.num_workers",
                          "dataloader_num_workers", "workers_per_gpu"),
    "num_workers": ("world_size", "nproc_per_node", "num_nodes", "num_machines", "num_gpus", "strategy",
                    "num_processes"),
    "augmentations": ("augmentation", "transforms", "data_augmentation_options", "data_augmentation", "fliplr", "flipud",
                      "mosaic", "close_mosaic", "multi_scale", "hsv_h", "hsv_s", "hsv_v", "jitter"),
    "weights": ("pretrained", "checkpoint", "init_from", "fine_tune_checkpoint", "weights_path", "weights_backbone", "ckpt_path",
                "ckpt", "checkpoint_path", "trained_checkpoint_dir"),
    "data": ("dataset", "data_path", "train_data", "input_path", "datasets.train"),
    "val_data": ("val", "validation_data", "datasets.test"),
    "val_split": ("validation_split", "val_fraction"),
    "label_map": ("label_map_path",),
    "model": ("arch", "architecture", "detector_name"),
    "seed": ("random_seed", "seed_everything"),
    "out": ("output_dir", "output", "save_dir", "project", "model_dir", "default_root_dir", "logdir", "name", "work_dir",
            "run_name", "runs_dir", "checkpoint_dir", "ckpt_dir", "save_path", "out_dir",
            "output_directory"),
    "max_boxes_per_image": ("max_boxes", "max_number_of_boxes"),
    "checkpoint_interval_steps": ("checkpoint_every_n", "checkpoint_period", "save_period"),
    "max_checkpoints": ("save_top_k", "max_to_keep", "checkpoint_max_to_keep"),
    "cache_bytes": ("cache",),
    "prefetch_bytes": ("prefetch", "prefetch_factor", "prefetch_buffer_size", "num_prefetch"),
    "optimizer": ("optim", "opt", "optimizer_name"),
    "config": ("cfg", "config_file", "config_path", "hyp"),
    "dry_run": ("fast_dev_run",),
    "resume": ("resume_from", "resume_from_checkpoint", "auto_resume"),
    "tensorboard": ("use_tensorboard", "write_tensorboard"),
    "deterministic": ("use_deterministic_algorithms", "cudnn_deterministic"),
    "list_models": ("models_list", "list"),
    "score_threshold": ("conf", "confidence", "confidence_threshold", "score_thresh", "score_thresh_test", "min_score",
                        "min_score_thresh", "conf_thres"),
    "json": ("save_json", "save_txt"),
    "no_pictures": ("nosave",),
    "num_steps": ("num_training",),
    "to": ("format", "include"),
    "detector.image_size": ("imgsz", "img_size", "img", "input_size", "image_px", "height", "width", "min_size_train"),
    "detector.trainable_backbone_layers": ("freeze", "freeze_backbone", "frozen_stages", "freeze_at"),
    "detector.score_threshold": ("conf", "conf_thres", "score_thresh", "score_thresh_test"),
    "detector.max_detections": ("max_det", "detections_per_image", "detections_per_img", "box_detections_per_img",
                                "max_total_detections"),
    "detector.pre_nms_top_k": ("topk_candidates", "topk_candidates_test"),
    "detector.nms_iou_threshold": ("iou", "iou_thres", "nms_thresh", "nms_iou", "iou_threshold", "nms_threshold",
                                   "nms_thresh_test"),
}  # fmt: skip
# Words that mean something else here, or for which there is no setting: what to do instead.
ADVICE = {
    "workers": "it counts training processes; num_input_workers counts the threads that read and decode",
    "num_steps": "a run is counted in epochs",
    "max_steps": "a run is counted in epochs",
    "num_train_steps": "a run is counted in epochs",
    "max_iter": "a run is counted in epochs",
    "warmup_epochs": "the warm-up is counted in steps",
    "lr_warmup_epochs": "the warm-up is counted in steps",
    "lrf": "'cosine' ends at 0",
    "strategy": "several processes share each batch",
    "accumulate": "it is the number of images in one pass, not the number of passes",
    "accumulation_steps": "it is the number of images in one pass, not the number of passes",
    "accumulate_grad_batches": "it is the number of images in one pass, not the number of passes",
    "gradient_accumulation_steps": "it is the number of images in one pass, not the number of passes",
    "go_on": "--resume alone continues the run in --out, or starts it",
}
DEVICES = ("device", "devices", "gpu", "gpus", "gpu_ids", "accelerator", "cuda")
# Of a command that takes a weights file, and no settings.
OF_WEIGHTS = ("detector.image_size", "detector.score_threshold", "detector.nms_iou_threshold", "detector.max_detections")
IN_WEIGHTS = "the weights file holds it, as the detector was trained"
# Words that such a command does not need.
INSTEAD_WITH_WEIGHTS = {
    "model": "use --weights",
    "image_size": IN_WEIGHTS,
    "nc": IN_WEIGHTS,
    "num_classes": IN_WEIGHTS,
    "cfg": IN_WEIGHTS,
    "config": IN_WEIGHTS,
    "config_file": IN_WEIGHTS,
    "pipeline_config": IN_WEIGHTS,
    "pipeline_config_path": IN_WEIGHTS,
}
# Options of `unstall train`, and of some other commands, which are no settings: a settings file cannot hold them.
OPTIONS_ONLY = ("out", "config", "resume", "dry_run", "list_models", "force", "board", "engine", "json")
# Words that no option stands for: what to do instead, in a command that has settings.
INSTEAD = {
    "pipeline_config_path": "`unstall import tfod pipeline.config OUT` makes settings of it",
    "pipeline_config": "`unstall import tfod pipeline.config OUT` makes settings of it",
    "nc": "the classes are those of the data",
    "num_classes": "the classes are those of the data",
    "opts": "each setting is an option: --learning-rate 0.01",
    "exist_ok": "a run is continued by --resume, and never overwritten",
    "eval_only": "`unstall evaluate --weights FILE --data PATH` does so",
    "test_only": "`unstall evaluate --weights FILE --data PATH` does so",
    "auto_lr_find": "`unstall lr-find` suggests a learning rate",
    "auto_scale_batch_size": "`unstall plan` says which batch fits",
}
# Words that are typed as an option where the command takes an argument, by the argument's name.
ARGUMENTS: dict[str, tuple[str, ...]] = {
    "images": ("source", "input", "image", "images", "input_dir", "image_path", "data"),
    "path": ("data", "dataset", "source", "src", "input", "path", "data_path"),
    "source": ("data", "dataset", "source", "src", "input", "path", "data_path"),
    "out": ("out", "output", "output_dir", "output_directory", "save_dir", "dst", "destination"),
    "target": ("out", "output", "output_dir", "output_directory", "save_dir", "dst", "destination"),
    "file": ("weights", "checkpoint", "ckpt", "file", "pretrained", "ckpt_path"),
    "pid": ("pid",),
    "config": ("pipeline_config_path", "pipeline_config", "config"),
}
ON_DEVICES = "the backend takes the first device that it sees. CUDA_VISIBLE_DEVICES chooses which, --backend the framework"


# --- files and run folders ---


def update_names(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of a run folder or its record under the names that they have now, whenever they were written."""
    names = dict(OLD_NAMES)
    if "workers" in stored and not {"input_threads", "num_input_workers"} & set(stored):
        names["workers"] = "num_input_workers"  # so were the threads called before a run could have several processes
    return {names.get(name, name): update_value(names.get(name, name), value) for name, value in stored.items()}


def update_value(name: str, value: Any) -> Any:
    """A setting's value, where the names in it have changed."""
    if name == "detector" and isinstance(value, Mapping):
        return {OLD_DETECTOR_NAMES.get(inner, inner): each for inner, each in value.items()}
    if name != "augmentations" or not isinstance(value, list | tuple):
        return value
    return [OLD_AUGMENTATIONS.get(each, each) if isinstance(each, str) else each for each in value]


def describe_renamed(name: str, value: Any) -> list[str]:
    """What to say about a setting with an old name or value: "'rate' is now 'learning_rate'."; nothing where it is current."""
    now = OLD_NAMES.get(name, name)
    notes = [_note(name, now)] if now != name else []
    if now == "augmentations" and isinstance(value, list | tuple):
        notes += [_note(each, OLD_AUGMENTATIONS[each]) for each in value if isinstance(each, str) and each in OLD_AUGMENTATIONS]
    return notes


def describe_renamed_detector_setting(name: str) -> str:
    """The same of a setting in the table [detector]; empty where it is current."""
    return _note(name, OLD_DETECTOR_NAMES[name]) if name in OLD_DETECTOR_NAMES else ""


def _note(old: str, now: str) -> str:
    return f"'{old}' is now '{now}'." + (f" ({_sentence(ADVICE[old])})" if old in ADVICE else "")


def describe_renamed_in_run(stored: Mapping[str, Any], where: str) -> str:
    """One line about all settings of a run folder that have other names now; empty where there are none."""
    detector = stored.get("detector")
    inner = detector if isinstance(detector, Mapping) else {}
    pairs = [*zip(stored, update_names(stored), strict=True), *((name, OLD_DETECTOR_NAMES.get(name, name)) for name in inner)]
    notes = [f"'{name}' is now '{now}'" for name, now in pairs if name != now]
    return f"{where}: settings have new names: {', '.join(notes)}." if notes else ""


# --- what was probably meant ---


def find_setting(name: str, known: Iterable[str]) -> str:
    """The setting that is or was called so elsewhere, 'detector.x' for one of the detector's own; empty where there is none."""
    return next(iter(_known_by(name, {*known, "detector"})), "")


def suggest_setting(name: str, known: Iterable[str]) -> str:
    """What to do instead of a name in a settings file that is no setting: "Use 'learning_rate'." Empty where nobody can tell."""
    if meant := find_setting(name, known):
        return f"Use '{meant}'{_advice(name)}."
    if option := next(iter(_known_by(name, set(OPTIONS_ONLY))), _plain(name) if _plain(name) in OPTIONS_ONLY else ""):
        return f"It is an option of the command: {as_option(option)}."
    instead = ON_DEVICES if _plain(name) in DEVICES else INSTEAD.get(_plain(name), "")
    return instead and _sentence(instead)


def suggest_option(typed: str, options: Sequence[str]) -> str:
    """What to do instead of an option, or another trainer's argument, that a command does not have: 'use --learning-rate'.
    `options` are those of the command, as Python names them. Empty where nobody can tell."""
    has_settings = "config" in options
    known = {*options} - ({"detector"} if not has_settings else set())
    meant = _whole(typed) if _whole(typed) in known else next(iter(_known_by(typed, known)), "")
    if meant:
        return f"use {as_option(meant)}{_advice(typed)}"
    if _plain(typed) in DEVICES and "backend" in known:
        return ON_DEVICES
    if has_settings:
        return INSTEAD.get(_plain(typed), "")
    if "weights" not in known:
        return ""
    is_of_weights = any(_plain(typed) in CALLED_ELSEWHERE[each] for each in OF_WEIGHTS)
    return IN_WEIGHTS if is_of_weights else INSTEAD_WITH_WEIGHTS.get(_plain(typed), "")


def suggest_training_option(typed: str, options: Sequence[str]) -> str:
    """For a setting of a training, of a command that reads weights or a data set and has no settings."""
    if "config" in options or not {"weights", "label_map"} & {*options}:
        return ""
    settings = {*CALLED_ELSEWHERE, *OLD_NAMES.values()} - {*OPTIONS_ONLY, "score_threshold", "no_pictures", "num_steps", "to"}
    known = {name.partition(".")[0] for name in settings}
    meant = _whole(typed) if _whole(typed) in known else next(iter(_known_by(typed, known)), "")
    return f"it is a setting of `unstall train`: {as_option(meant)}" if meant else ""


def _advice(name: str) -> str:
    advice = ADVICE.get(_plain(name), "")
    return advice and f" ({advice})"


def find_argument(typed: str, arguments: Iterable[str]) -> str:
    """The argument that stands for an option which a command does not have: 'path' for --data; empty where there is none."""
    return next((each for each in arguments if _plain(typed) in ARGUMENTS.get(each, ())), "")


def as_option(setting: str) -> str:
    """'--learning-rate'; '--image-size'; '--detector box_loss=…'."""
    if setting == "detector.image_size":
        return "--image-size"
    table, _, inner = setting.partition(".")
    return f"--{table.replace('_', '-')}" + (f" {inner}=…" if inner else "")


def _known_by(name: str, known: set[str]) -> list[str]:
    """The settings and options that are or were called so, here or elsewhere, of those that are known. Of SOLVER.BASE_LR and
    trainer.max_epochs the last part says it, too."""
    whole, last = _whole(name), _plain(name)
    found: list[str] = []
    for written in dict.fromkeys((whole, last)):
        found += [*OLD_OPTIONS.get(written, ()), *([OLD_NAMES[written]] if written in OLD_NAMES else [])]
        found += [ours for ours, names in CALLED_ELSEWHERE.items() if written in names]
    found += [last] if last != whole else []
    if last in OLD_DETECTOR_NAMES.values() and last not in INSTEAD:
        found.append(f"detector.{last}")
    return [each for each in found if each.partition(".")[0] in known]


def _whole(name: str) -> str:
    """--SOLVER.BASE-LR: solver.base_lr."""
    return name.lower().lstrip("-+~").replace("-", "_")


def _plain(name: str) -> str:
    """SOLVER.BASE_LR: base_lr."""
    return _whole(name).rpartition(".")[2]


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:] + "."
