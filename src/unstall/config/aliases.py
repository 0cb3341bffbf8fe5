"""What other trainers call our settings: whoever types one of these is told the name it has here."""

from __future__ import annotations

from collections.abc import Iterable

from unstall.base.suggestions import closest_name

# 'detector.x' is a name in the table [detector]; as an option, `--detector x=…`.
CALLED_ELSEWHERE = {
    "rate": ("lr", "lr0", "base_lr", "learning_rate", "initial_learning_rate"),
    "batch_size": ("batch", "bs", "images_per_batch", "train_batch_size", "total_batch_size"),
    "micro_batch": ("accumulate", "accumulation", "accumulation_steps", "gradient_accumulation_steps", "grad_accum"),
    "epochs": ("num_epochs", "max_epochs", "n_epochs"),
    "precision": ("amp", "fp16", "bf16", "half", "mixed_precision", "dtype"),
    "remat": ("gradient_checkpointing", "checkpointing", "rematerialize"),
    "average_decay": ("ema", "ema_decay", "model_ema", "moving_average"),
    "clip_norm": ("clipnorm", "global_clipnorm", "grad_clip", "gradient_clip_val", "max_grad_norm"),
    "weight_decay": ("wd", "decay", "l2"),
    "warm_up_steps": ("warmup", "warmup_steps", "warmup_epochs", "warm_up"),
    "schedule": ("scheduler", "lr_scheduler", "lr_schedule", "cos_lr"),
    "rate_drops_at_epochs": ("milestones", "lr_steps", "lr_step", "step_size"),
    "stop_after_epochs": ("patience", "early_stopping", "early_stop"),
    "input_threads": ("num_workers", "dataloader_workers", "num_parallel_calls"),
    "augment": ("augmentation", "augmentations", "transforms"),
    "weights": ("pretrained", "checkpoint", "init_from", "fine_tune_checkpoint", "weights_path"),
    "validation": ("val", "val_data", "validation_data"),
    "validation_share": ("val_split", "validation_split"),
    "labels": ("label_map", "label_map_path"),
    "model": ("arch", "architecture", "detector_name"),
    "most_boxes": ("max_boxes", "max_number_of_boxes"),
    "detector.image_px": ("imgsz", "img_size", "image_size", "input_size", "image_px", "height", "width"),
    "detector.trainable_stages": ("freeze", "freeze_backbone", "frozen_stages", "trainable_backbone_layers"),
    "detector.least_score": ("conf", "score_thresh", "score_threshold"),
    "detector.most_iou": ("iou", "nms_thresh", "nms_iou", "iou_threshold"),
}
_OURS = {theirs: ours for ours, names in CALLED_ELSEWHERE.items() for theirs in names}


def ours(name: str, known: Iterable[str]) -> str:
    """The setting that was probably meant; empty where nobody can tell."""
    written = name.lower().replace("-", "_")
    if written in _OURS:
        return _OURS[written]
    return closest_name(written, known)


def as_option(setting: str) -> str:
    """'--rate'; '--detector image_px=…'."""
    table, _, inner = setting.partition(".")
    return f"--{table.replace('_', '-')}" + (f" {inner}=…" if inner else "")
