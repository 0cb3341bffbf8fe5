"""A pipeline.config as settings, with what became of each of its fields."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from unstall.base.console import Progress
from unstall.base.errors import InvalidInputError
from unstall.config import toml_file
from unstall.config.settings import from_plain
from unstall.config.sources import get_recipe, refuse_unfit
from unstall.storage import resolve_path
from unstall.tfod import config
from unstall.tfod.augmentations import STEPS, convert_augmentations
from unstall.tfod.config import Node
from unstall.tfod.detectors import convert_detector
from unstall.tfod.inputs import Inputs, MissingSetting, PathOverrides, convert_inputs, name_links
from unstall.tfod.ledger import PATTERNS, Ledger, Row, find_outcome
from unstall.tfod.models import DEEPER, PUBLISHED, ModelChoice, choose_model, convert_fine_tuning, find_meta_architecture
from unstall.tfod.train_config import convert_train_config

BECAME = ("carried over", "changed", "left out", "unknown")


@dataclass(frozen=True)
class ConvertedConfig:
    file: str
    meta_architecture: str
    feature_extractor: str
    model: str
    settings: dict[str, Any]
    why: dict[str, str]
    rows: list[Row]
    to_set: list[MissingSetting]
    remarks: list[str]
    images: int | None  # to learn from
    links: dict[str, list[Path]]  # folders to be made beside the settings, each with links to these files

    def count(self) -> dict[str, int]:
        counted: Counter[str] = Counter(row.became for row in self.rows)
        return {became: counted[became] for became in BECAME}

    def as_plain(self) -> dict[str, Any]:
        return {
            "file": self.file,
            "meta_architecture": self.meta_architecture,
            "feature_extractor": self.feature_extractor,
            "model": self.model,
            "images": self.images,
            "settings": self.settings,
            "why": self.why,
            "to_set": [asdict(each) for each in self.to_set],
            "remarks": self.remarks,
            "count": self.count(),
            "fields": [row.as_plain() for row in self.rows],
        }


def convert(path: Path | str, given: PathOverrides | None = None, progress: Progress | None = None) -> ConvertedConfig:
    return convert_config(config.read(path), given or PathOverrides(), progress)


def convert_config(root: Node, given: PathOverrides, progress: Progress | None = None) -> ConvertedConfig:
    ledger = Ledger()
    architecture, taken = find_meta_architecture(root), choose_model(root)
    found = convert_inputs(root, given, ledger, progress)
    images = found.count_training_images("val_data" in ledger.values)
    convert_detector(root, taken, found.train.lying if found.train else None, ledger)
    length = convert_train_config(root, taken.model, images, ledger)
    convert_augmentations(root, ledger)
    weights = convert_fine_tuning(root, taken, ledger)
    if any("coco" in name for name in root.node("eval_config").words("metrics_set")):
        ledger.same(root.node("eval_config"), "metrics_set")
    to_set = [*found.to_set, *length, *([weights] if weights else [])]
    refuse_unfit(from_plain(ledger.values, f"{root.file}: "))
    return ConvertedConfig(
        root.file,
        architecture,
        root.node("model", architecture, "feature_extractor").word("type"),
        taken.model,
        ledger.values,
        ledger.why,
        ledger.rows(root, lambda place: find_outcome(place, taken.model)),
        to_set,
        list_remarks(root, taken, found),
        images,
        found.links,
    )


def list_remarks(root: Node, taken: ModelChoice, found: Inputs) -> list[str]:
    """What a person should know before all else."""
    model = root.node("model", find_meta_architecture(root))
    said = [taken.said] if taken.said else []
    wanted = model.whole("num_classes", 0)
    if found.classes and wanted and found.classes != wanted:
        said.append(f"num_classes is {wanted} and the label map has {found.classes}: those of the label map are learned")
    if model.node("second_stage_box_predictor").has("rfcn_box_predictor"):
        said.append("R-FCN has no counterpart here: the config becomes a Faster R-CNN")
    if model.node("second_stage_box_predictor", "mask_rcnn_box_predictor").flag("predict_instance_masks"):
        said.append("Mask R-CNN has no counterpart here: boxes are learned, masks are not")
    if model.has("context_config"):
        said.append("Context R-CNN has no counterpart here: an image is looked at by itself")
    if "TF_SEQUENCE_EXAMPLE" in root.node("train_input_reader").word("input_type"):
        said.append("records of SequenceExample cannot be read here: write them as tf.train.Example")
    return said


# The files of an import: `unstall.toml`, as `unstall init` writes it, and `import.md`, what became of every field.


SETTINGS, REPORT = "unstall.toml", "import.md"
LINKS = ("data-records", "validation-records")


def refuse_existing(out: str) -> None:
    """Before anything is read: what is there is not overwritten."""
    for name in (SETTINGS, REPORT, *LINKS):
        if (resolve_path(out) / name).exists():
            raise InvalidInputError(
                f"'{resolve_path(out) / name}' is there already, and is not overwritten. Another folder, or move it away."
            )


def write(converted: ConvertedConfig, out: str) -> dict[str, str]:
    folder = resolve_path(out)
    refuse_existing(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in ((SETTINGS, format_settings(converted, folder / SETTINGS)), (REPORT, format_report(converted))):
            with (folder / name).open("x", encoding="utf-8") as file:
                file.write(text)
        for place, files in converted.links.items():
            Path(place).mkdir()
            for name, target in name_links(files).items():
                (Path(place) / name).symlink_to(target.absolute())
    except OSError as error:
        raise InvalidInputError(f"Cannot write to '{folder}': {error.strerror}.") from None
    return {"out": str(folder / SETTINGS), "report": str(folder / REPORT)}


def format_settings(converted: ConvertedConfig, out: Path) -> str:
    head = [
        f"Settings from {format_cell(converted.file)} of the TF Object Detection API: {converted.model}.",
        f"What became of each of its fields is in {REPORT}.",
        *(f"To be set: {each.setting}, {each.why}." for each in converted.to_set),
        f"Train by them: unstall train --config {out}",
    ]
    return toml_file.format_setting(converted.settings, converted.why, "\n".join(head), get_recipe(converted.model))


def format_report(converted: ConvertedConfig) -> str:
    counted = ", ".join(f"{count} {became}" for became, count in converted.count().items() if count)
    lines = [
        f"# {format_cell(converted.file)} as settings",
        "",
        f"`{format_cell(converted.feature_extractor or converted.meta_architecture)}` became `{converted.model}`: {counted}.",
        *([""] if converted.remarks else []),
        *(f"* {format_cell(remark)}." for remark in converted.remarks),
    ]
    if converted.to_set:
        lines += ["", "## To be set", "", "| setting | stands as | why |", "| --- | --- | --- |"]
        lines += [f"| `{each.setting}` | {format_code(each.value)} | {format_cell(each.why)} |" for each in converted.to_set]
    lines += ["", "## Every field", "", "| line | field | value | | as | why, or what happens instead |"]
    lines.append("| ---: | --- | --- | --- | --- | --- |")
    for row in converted.rows:
        lines.append(
            f"| {row.line} | {format_code(row.field)} | {format_code(row.value)} | {row.became} "
            f"| {format_code(row.to)} | {format_cell(row.why)} |"
        )
    lines += ["", "## Settings", "", "| setting | value | from |", "| --- | --- | --- |"]
    for name, value in flatten_settings(converted).items():
        lines.append(f"| `{name}` | {format_code(toml_file.as_toml(value))} | {format_cell(converted.why.get(name, ''))} |")
    return "\n".join(lines) + "\n"


def flatten_settings(converted: ConvertedConfig) -> dict[str, object]:
    """Settings of the run and of its detector, by the names that `why` has for them."""
    inner = {f"detector.{name}": value for name, value in converted.settings.get("detector", {}).items()}
    return {**{name: value for name, value in converted.settings.items() if name != "detector"}, **inner}


def format_cell(text: str) -> str:
    """On one line, printable anywhere, and nothing of it is Markdown's."""
    printable = text if text.isprintable() else ascii(text)[1:-1]
    return printable.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")


def format_code(text: str) -> str:
    printable = text if text.isprintable() else ascii(text)[1:-1]
    return f"`{printable.replace('`', chr(39)).replace('|', chr(92) + '|')}`" if text else ""


def build_page() -> str:
    """Markdown."""
    return "\n".join(
        [
            "# Fields of a pipeline.config: augmentations, weights, and what is left out",
            "",
            "What `unstall import tfod` goes by, beside what [the page for those who come from the API](from-tfod.md) says.",
            "",
            "## Augmentations",
            "",
            "| step of `data_augmentation_options` | here | what is not the same |",
            "| --- | --- | --- |",
            *(_step(name, *known) for name, known in STEPS.items()),
            "",
            "## Weights in the place of `fine_tune_checkpoint`",
            "",
            "Files of torchvision: of the detector where the type is `detection`, of the backbone where it is `classification`.",
            "",
            "| model | of the detector, trained on COCO | of the backbone, trained on ImageNet |",
            "| --- | --- | --- |",
            *(f"| `{model}` | `{whole}` | `{backbone}` |" for model, (whole, backbone) in PUBLISHED.items()),
            *(f"| the same with `detector.stage_blocks = {list(blocks)}` | | `{file}` |" for blocks, file in DEEPER.items()),
            "",
            "## What is left out, and what happens instead",
            "",
            "Where a path has a star, anything may stand; the first row that fits holds.",
            "",
            "| field | what happens instead |",
            "| --- | --- |",
            *(f"| `{pattern}` | {instead.format(model='the model')} |" for pattern, instead in PATTERNS),
        ]
    )


def _step(name: str, ours: tuple[str, ...], differs: str) -> str:
    here = ", ".join(f"`{each}`" for each in ours) or "left out"
    return f"| `{name}` | {here} | {differs or 'nothing'} |"
