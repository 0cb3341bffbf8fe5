"""The files of an import: `unstall.toml`, as `unstall init` writes it, and `import.md`, what became of every field."""

from __future__ import annotations

from pathlib import Path

from unstall import settings_file
from unstall.errors import WrongInput
from unstall.settings_sources import recipe_of
from unstall.storage import located
from unstall.tfod.converting import Converted
from unstall.tfod.shards import link_names

SETTINGS, REPORT = "unstall.toml", "import.md"
LINKS = ("data-records", "validation-records")


def refuse_existing(out: str) -> None:
    """Before anything is read: what is there is not overwritten."""
    for name in (SETTINGS, REPORT, *LINKS):
        if (located(out) / name).exists():
            raise WrongInput(
                f"'{located(out) / name}' is there already, and is not overwritten. Another folder, or move it away."
            )


def write(converted: Converted, out: str) -> dict[str, str]:
    folder = located(out)
    refuse_existing(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in ((SETTINGS, settings_text(converted, folder / SETTINGS)), (REPORT, report_text(converted))):
            with (folder / name).open("x", encoding="utf-8") as file:
                file.write(text)
        for place, files in converted.links.items():
            Path(place).mkdir()
            for name, target in link_names(files).items():
                (Path(place) / name).symlink_to(target.absolute())
    except OSError as error:
        raise WrongInput(f"Cannot write to '{folder}': {error.strerror}.") from None
    return {"out": str(folder / SETTINGS), "report": str(folder / REPORT)}


def settings_text(converted: Converted, out: Path) -> str:
    head = [
        f"Settings from {cell(converted.file)} of the TF Object Detection API: {converted.model}.",
        f"What became of each of its fields is in {REPORT}.",
        *(f"To be set: {each.setting}, {each.why}." for each in converted.to_set),
        f"Train by them: unstall train --config {out}",
    ]
    return settings_file.written(converted.settings, converted.why, "\n".join(head), recipe_of(converted.model))


def report_text(converted: Converted) -> str:
    counted = ", ".join(f"{count} {became}" for became, count in converted.count().items() if count)
    lines = [
        f"# {cell(converted.file)} as settings",
        "",
        f"`{cell(converted.feature_extractor or converted.meta_architecture)}` became `{converted.model}`: {counted}.",
        *([""] if converted.remarks else []),
        *(f"* {cell(remark)}." for remark in converted.remarks),
    ]
    if converted.to_set:
        lines += ["", "## To be set", "", "| setting | stands as | why |", "| --- | --- | --- |"]
        lines += [f"| `{each.setting}` | {code(each.value)} | {cell(each.why)} |" for each in converted.to_set]
    lines += ["", "## Every field", "", "| line | field | value | | as | why, or what happens instead |"]
    lines.append("| ---: | --- | --- | --- | --- | --- |")
    for row in converted.rows:
        lines.append(f"| {row.line} | {code(row.field)} | {code(row.value)} | {row.became} | {code(row.to)} | {cell(row.why)} |")
    lines += ["", "## Settings", "", "| setting | value | from |", "| --- | --- | --- |"]
    for name, value in flat(converted).items():
        lines.append(f"| `{name}` | {code(settings_file.as_toml(value))} | {cell(converted.why.get(name, ''))} |")
    return "\n".join(lines) + "\n"


def flat(converted: Converted) -> dict[str, object]:
    """Settings of the run and of its detector, by the names that `why` has for them."""
    inner = {f"detector.{name}": value for name, value in converted.settings.get("detector", {}).items()}
    return {**{name: value for name, value in converted.settings.items() if name != "detector"}, **inner}


def cell(text: str) -> str:
    """On one line, printable anywhere, and nothing of it is Markdown's."""
    printable = text if text.isprintable() else ascii(text)[1:-1]
    return printable.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")


def code(text: str) -> str:
    printable = text if text.isprintable() else ascii(text)[1:-1]
    return f"`{printable.replace('`', chr(39)).replace('|', chr(92) + '|')}`" if text else ""
