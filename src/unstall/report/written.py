"""What was written by `unstall data convert` and `split`: how much, and what the format could not hold."""

from __future__ import annotations

import shlex
from typing import Any

from unstall.report.counted import data_set_holds
from unstall.report.text import console


def show(done: dict[str, Any]) -> None:
    from rich.text import Text

    out = console()
    splits = ", ".join(f"{name or 'undivided'} {count:,}" for name, count in done["splits"].items())
    holds = data_set_holds(done["images"], done["boxes"], len(done["classes"]))
    out.print(Text(f"{holds} ({splits})"), soft_wrap=True)
    out.print(Text(f"{done['from']['format']} → {done['to']['format']}: {done['to']['path']}"), soft_wrap=True)
    for what, count in done["lost"].items():
        out.print(
            Text(f"not kept, since {done['to']['format']} cannot hold it: {count:,} {what}", style="yellow"), soft_wrap=True
        )
    left_out = done["images_without_annotation"]
    if left_out:
        said = "1 image has no annotation and is" if left_out == 1 else f"{left_out:,} images have no annotation and are"
        names = f"`unstall data check {shlex.quote(done['from']['path'])}` says which"
        out.print(Text(f"{said} not in the copy; {names}", style="yellow"), soft_wrap=True)
    found = sum(done["findings"].values())
    if found:
        kinds = ", ".join(f"{name} {count:,}" for name, count in done["findings"].items())
        out.print(Text(f"{found:,} things met while reading ({kinds})", style="yellow"), soft_wrap=True)
