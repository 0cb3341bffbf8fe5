"""Whether the data set has errors or warnings.

What is looked at
-----------------
Everything that `unstall data check` looks at: every annotation and, up to a number of images, every image to its last line.
What was found is remembered for data that has not changed since. Then whether enough is left to learn from: images with
boxes, one batch of them at least, and something to score on; and whether there is room for the boxes of the fullest image. Of
a data set of its own to score on (`val_data`): that it can be read, has classes that are learned, and boxes.

Why it matters
--------------
One unreadable image, one inverted box in a hundred thousand ends a run or spoils it, hours after its start.

When this is wrong
------------------
What this trainer copes with although others do not (paths of another machine, a PNG named .jpg) is never a reason to refuse.
What is rightly there in many data sets (images without boxes, small boxes) is an info, and no warning. Whether data has
changed is told by names, sizes and times of its files.

What to do
----------
`unstall data check PATH` names each place; `--fix OUT` writes a mended copy.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from unstall.base.errors import InvalidInputError
from unstall.base.formatting import describe_data_set, format_count
from unstall.config.settings import Settings, get_max
from unstall.journal.run_folder import RunFolder
from unstall.planning.preflight import data_check_cache
from unstall.planning.preflight.check import CheckError, CheckOk, CheckResult, CheckWarning, Context
from unstall.storage import is_bucket
from unstall.training.checkpoint.integrity import FIX as SAME_CLASSES
from unstall.training.checkpoint.integrity import explain_other_classes, read_starting_classes

FIX = "--data with the folder or file of a data set; docs/formats says what is read"  # where it cannot be read at all
NEEDS = ("packages", "paths")
IS_QUICK = True
QUICK_IMAGES = 5_000  # are looked at before a training begins, in seconds; of more only the annotations
QUICK_IN_BUCKET = 500  # the same of images that lie in a bucket
COPED_WITH = {"path_foreign", "path_case_differs", "image_type_wrong"}  # break other loaders: here nothing of them is lost
OF_BOXES = ("box_", "class_")  # begin the names of problems of which each concerns one box
SHOWN = 3  # problems in the table
MAX_WARM_UP = 0.5  # of all updates: with more the rate is hardly ever what it is meant to be


def look(context: Context) -> CheckResult:
    data = context.data
    if data is None:
        count = context.settings.synthetic_images
        said = f"the embedded shapes: {count:,} pictures of {context.classes} classes, drawn without a fault"
        return _with_warnings(said, _of_the_settings(context, context.images_to_learn_from), {})
    before = read_starting_classes(RunFolder(context.folder).checkpoints_path)
    if before is not None and before != list(data.classes):
        return CheckError(explain_other_classes(before, data.classes), SAME_CLASSES)
    most = QUICK_IN_BUCKET if is_bucket(data.path) else QUICK_IMAGES
    with_images = not context.is_quick or len(data.examples) <= most
    name = data_check_cache.name_of(data, context.settings)
    found = data_check_cache.recall_findings(name, with_images)
    if found is None:
        found = _checked(context, with_images, data_check_cache.list_pictures(name))
        data_check_cache.remember(name, found)
    return judge(found, context)


def _checked(context: Context, with_images: bool, pictures: Path) -> dict[str, Any]:
    """What was found, without each single place; with small pictures of the worst, for the page of the run."""
    from unstall.data.check.defects import describe_defects, place_defect
    from unstall.data.check.runner import as_plain, check

    assert context.data is not None
    report = check(context.data, with_images, context.progress)
    plain = as_plain(report)
    for problem in plain["problems"]:
        first = problem.pop("findings")[0]
        problem["first"] = f"{place_defect(first)} {first['message']}"
    return {**plain, "defects": describe_defects(report, pictures)}


def judge(found: dict[str, Any], context: Context) -> CheckResult:
    settings, path = context.settings, context.settings.data
    not_seen = "" if found["images_looked_at"] else "; its images were not looked at (`unstall preflight` does)"
    said = describe_data_set(found["images"], found["boxes"], len(found["classes"]))
    if not found["boxes"] or not found["classes"]:
        return CheckError(f"{said}: there is nothing to learn", f"unstall data check {shlex.quote(str(path))}", found)
    train = context.images_to_learn_from
    if train < settings.batch_size:
        reason = (
            f"{said}: {format_count(train, 'image is', 'images are')} learned from, fewer than one batch ({settings.batch_size})"
        )
        return CheckError(reason, "a smaller --batch-size", found)
    try:
        scored_on = _of_validation(context)
    except InvalidInputError as error:
        return CheckError(str(error), "--val-data with a data set of the same classes, or without it", found)
    broken = [problem for problem in found["problems"] if problem["severity"] == "error"]
    harmed = [problem for problem in found["problems"] if problem["severity"] == "warning"]
    fix = f"unstall data check {shlex.quote(str(path))} (--fix OUT writes a mended copy)"
    if _is_too_much(broken, found, settings.max_bad_fraction):
        return CheckError(f"{said}; errors: {_named(broken)}", fix, found)
    warnings = [
        *_of_the_settings(context, train),
        *scored_on,
        *([(_named([*broken, *harmed]), fix)] if broken or harmed else []),
    ]
    return _with_warnings(said, warnings, found, not_seen)


def _with_warnings(said: str, warnings: list[tuple[str, str]], found: dict[str, Any], not_seen: str = "") -> CheckResult:
    if not warnings:
        return CheckOk(said + not_seen, found)
    reasons, fixes = zip(*warnings, strict=True)
    return CheckWarning(f"{said}; {'; '.join(reasons)}{not_seen}", "; ".join(fixes), found)


def _is_too_much(broken: list[dict[str, Any]], found: dict[str, Any], max_share: float) -> bool:
    """Of images, or of boxes: ten bad boxes are few among ten thousand, however few images these are in."""
    from unstall.data.pipeline.image_loader import compute_max_bad

    lost = {"images": 0, "boxes": 0}
    for problem in broken:
        if problem["problem"] not in COPED_WITH:
            lost["boxes" if problem["problem"].startswith(OF_BOXES) else "images"] += problem["count"]
    return any(count > compute_max_bad(found[what], max_share) for what, count in lost.items())


def _of_validation(context: Context) -> list[tuple[str, str]]:
    """Of its annotations; a path that is wrong is the affair of another check."""
    from unstall.training.loop.datasets import split_validation_data

    if context.data is None:
        return []
    held_out = split_validation_data(context.data.classes, context.settings, context.progress)
    if held_out is None or any(example.count for example in held_out.examples):
        return []
    said = f"none of the {format_count(len(held_out.examples), 'image')} in '{held_out.path}' has a box: no epoch could be scored"
    return [(said, "--val-data with boxes, or without it: then some of the images are kept for it")]


def _of_the_settings(context: Context, train: int) -> list[tuple[str, str]]:
    """What does not suit this data: why, and the fix."""
    settings, result = context.settings, []
    updates = train // settings.batch_size * settings.epochs
    if settings.warmup_steps > MAX_WARM_UP * updates:
        reason = f"{format_count(updates, 'update')} in all, and a warm-up of {settings.warmup_steps:,}"
        result.append((reason, f"--warmup-steps {updates // 10}, or more --epochs"))
    counts = [] if context.data is None else [example.count for example in context.data.examples]
    room = settings.max_boxes_per_image
    beyond = [count - room for count in counts if count > room]
    if beyond:
        of = f"{format_count(len(beyond), 'image has', 'images have')} more than the {room} that there is room for"
        reason = f"{format_count(sum(beyond), 'box', 'boxes')} would not be learned: {of}"
        result.append((reason, f"--max-boxes-per-image {min(max(counts), get_max('max_boxes_per_image'))}"))
    return [*result, *_of_the_rate(settings)]


def _of_the_rate(settings: Settings) -> list[tuple[str, str]]:
    if not settings.learning_rate:
        return [
            ("the rate is 0: nothing would be learned", "--learning-rate with more than 0, or without it: the recipe has one")
        ]
    drops = settings.lr_milestones
    if settings.lr_schedule != "step" or any(epoch < settings.epochs for epoch in drops):
        return []
    own = sorted({settings.epochs * share // 12 for share in (8, 11)} - {0})  # as the published recipes have it, of 12 epochs
    when = f"it would after epoch {' and '.join(map(str, dict.fromkeys(drops)))}" if drops else "no epoch is named for it"
    reason = f"the rate would never drop: {when}, and there is no more than {format_count(settings.epochs, 'epoch')}"
    return [(reason, f"--lr-milestones {','.join(map(str, own))}" if own else "--lr-schedule cosine")]


def _named(problems: list[dict[str, Any]]) -> str:
    shown = [f"{problem['count']:,} × {problem['problem']} ({problem['first']})" for problem in problems[:SHOWN]]
    return ", ".join([*shown, *([f"and {format_count(len(problems) - SHOWN, 'kind')} more"] if len(problems) > SHOWN else [])])
