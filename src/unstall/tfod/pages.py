"""The page of fields, from the tables that the import itself goes by."""

from __future__ import annotations

from unstall.tfod.augmentations import STEPS
from unstall.tfod.checkpoints import DEEPER, PUBLISHED
from unstall.tfod.unsupported_fields import PATTERNS


def page() -> str:
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
            *(f"| the same with `detector.blocks = {list(blocks)}` | | `{file}` |" for blocks, file in DEEPER.items()),
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
