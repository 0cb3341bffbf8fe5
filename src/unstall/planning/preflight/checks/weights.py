"""Whether the weights fit the detector.

What is looked at
-----------------
The names and shapes in the file against those of the detector with the classes of this data: what will be taken, what is left
out and why, what begins fresh. Without a file: whether the detector is one that needs pre-trained weights.

Why it matters
--------------
A file of which little fits is silently half a file: the run trains, and learns as if from nothing.

When this is wrong
------------------
Where `--detector` changes the network itself, the shapes are not known before it is built; then this check does not know.

What to do
----------
`unstall weights show FILE` says what a file is of; `unstall weights import FILE` makes one that fits.
"""

from __future__ import annotations

import shlex

from unstall.planning.preflight.check import CheckError, CheckOk, CheckResult, CheckUnknown, CheckWarning, Context

NEEDS = ("data_set",)
IS_QUICK = True
NEEDS_PRETRAINING = 2_000_000  # weights; a network of more than these learns little from few images
ENOUGH_IMAGES = 20_000  # to learn such a network from nothing
SAME_NETWORK = frozenset(
    {
        "image_size",
        "score_threshold",
        "nms_iou_threshold",
        "pre_nms_top_k",
        "max_detections",
        "trainable_backbone_layers",
        "freeze_batch_norm",
    }
)


def look(context: Context) -> CheckResult:
    path = context.settings.weights
    if path is None:
        return _none(context)
    changed = sorted(set(context.settings.detector) - SAME_NETWORK)
    if changed:
        return CheckUnknown(f"the network is changed ({', '.join(changed)}): what fits is known when it is built")
    return _of_file(path, context)


def _none(context: Context) -> CheckResult:
    images = context.images_to_learn_from
    if context.parameters > NEEDS_PRETRAINING and images < ENOUGH_IMAGES:
        return CheckWarning(
            f"none: all {context.parameters / 1e6:.1f} million weights begin fresh, with {images:,} images to learn from",
            "--weights FILE, of torchvision say: `unstall weights import FILE`",
        )
    return CheckOk("none: it learns from the beginning")


def _of_file(path: str, context: Context) -> CheckResult:
    from unstall.detectors.weights import compatibility
    from unstall.detectors.weights.compatibility import find_best_fit, group_reasons, with_classes
    from unstall.detectors.weights.reader import read

    known = compatibility.list_known_variants()[context.settings.model]
    fit = find_best_fit(read(path).tensors, with_classes(known.shapes, known.classes, context.classes))
    facts = {
        "matched": len(fit.taken),
        "total": fit.wanted,
        "left_out": group_reasons(fit.left_out),
        "new": group_reasons(fit.new),
        "as": fit.what,
    }
    said = f"{len(fit.taken)} of {fit.wanted} tensors are taken from the file"
    if not fit.is_of_this:
        reason = f"{said}: it is of another network than {context.settings.model}"
        return CheckError(reason, f"unstall weights show {shlex.quote(str(path))}", facts)
    fresh = f"; {len(fit.new)} begin fresh: {next(iter(fit.new.values()))}" if fit.new else ""
    return CheckOk(f"{said}, {fit.what}{fresh}", facts)
