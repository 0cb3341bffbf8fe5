"""A plan of memory, on a terminal: what is needed for what, against what there is; then what to change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unstall.base.console import make_printable, print_clean, print_line
from unstall.base.formatting import format_count, format_size

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


PARTS = ("weights", "gradients", "optimizer", "activations", "input", "need")
SHOWN_LAYERS = 6
WAYS = {
    "compiled": "by JAX's compiler, for this card",
    "compiled on the card": "by JAX's compiler, on this card",
    "compiled for the CPU": "by JAX's compiler, for this machine's CPU",
    "measured": "measured in a process of its own",
    "estimated": "an estimate from shapes",
}


def show_plan(plain: dict[str, Any], out: Console) -> None:
    from rich.text import Text

    device = plain["device"]
    usable = f", {format_size(plain['usable_bytes'])} to be had: {plain['usable_why']}"
    place = make_printable(device["description"]) + ("" if device["is_here"] else " (not here)")
    print_line(out, Text(f"{plain['model']} on {plain['backend']}, {place}: {format_size(device['memory_bytes'])}{usable}"))
    print_line(out, Text(f"figures: {WAYS[plain['method']]}, {1 - 1 / (1 + plain['error']):.1%} kept free for their error"))
    if plain["note"]:
        print_line(out, Text(f"note: {plain['note']}", "yellow"))
    print_clean(out, _parts(plain))
    if plain["layers"]:
        print_clean(out, _layers(plain))
    print_clean(out, _ways(plain))
    print_line(out, Text(_host(plain["host"]), "" if plain["host"]["fits"] else "bold red"))
    print_line(out, _verdict(plain))


def _table(*columns: str) -> Table:
    from rich.table import Table

    table = Table(box=None, padding=(0, 3, 0, 0), header_style="dim")
    for number, name in enumerate(columns):
        table.add_column(name, justify="left" if number == 0 else "right")
    return table


def _parts(plain: dict[str, Any]) -> Table:
    from rich.text import Text

    table = _table("", "training step", "evaluation", "checkpoint")
    training, evaluation = plain["training"], plain["evaluation"]
    for name in PARTS:
        style = "bold" if name == "need" else ""
        stored = {"weights": training["weights"], "optimizer": training["optimizer"], "need": plain["checkpoint"]["disk_bytes"]}
        cells = [training[name], evaluation[name], stored.get(name)]
        label = "in all" if name == "need" else name
        table.add_row(Text(label, style), *(Text("" if not each else format_size(each), style) for each in cells))
    room = training["need"] + training["input"] + training["weights"]
    table.add_row("with the next batch and first weights", format_size(room), "", "")
    table.add_row("with the training's state", "", format_size(evaluation["with_the_training"]), "")
    table.add_row("images at once", str(plain["chosen"]["micro_batch_size"]), str(evaluation["images"]), "")
    return table


def _layers(plain: dict[str, Any]) -> Table:
    table = _table("largest outputs", "shape", "calls", "bytes")
    for layer in plain["layers"][:SHOWN_LAYERS]:
        shape = "×".join(map(str, layer["shape"]))
        table.add_row(layer["name"], shape, str(layer["calls"]), format_size(layer["bytes"]))
    return table


def _ways(plain: dict[str, Any]) -> Table:
    from rich.text import Text

    table = _table("way", "precision", "remat", "micro-batch", "needs", f"of {format_size(plain['limit_bytes'])}")
    table.add_column("costs", overflow="fold")
    for each in plain["tried"]:
        choice = each["choice"]
        fits = Text("fits", "green") if each["fits"] else Text("does not fit", "red")
        remat = "yes" if choice["remat"] else "no"
        table.add_row(
            each["what"], choice["precision"], remat, str(choice["micro_batch_size"]), format_size(each["need_bytes"]), fits,
            Text(each["costs"], "dim"),
        )  # fmt: skip
    return table


def _host(host: dict[str, Any]) -> str:
    names = ("framework", "ahead", "cache", "scratch", "snapshot", "device")
    parts = ", ".join(f"{name} {format_size(host[name])}" for name in names if host[name])
    room = f"of {format_size(host['limit'])}, {format_size(host['used'])} of them in use"
    return f"host memory: {format_size(host['total'])} ({parts}) {room}{'' if host['fits'] else ': does not fit'}"


def _verdict(plain: dict[str, Any]) -> Any:
    from rich.text import Text

    largest = plain["largest_micro_batch"]
    more = " or more" if largest == plain["max_images"] else ""
    found = f" The largest micro-batch that fits so: {largest}{more}." if largest is not None else ""
    if not plain["fits"]:
        return Text(f"nothing fits, not even a micro-batch of {plain['chosen']['micro_batch_size']}.{found}", "bold red")
    if plain["device"]["is_here"] and not plain["host"]["fits"]:
        fix = "smaller --cache-bytes, --prefetch-bytes or --micro-batch-size, or fewer --num-input-workers"
        return Text(f"it fits the device, but not the memory of the host: {fix}.{found}", "bold red")
    if not plain["changes"]:
        return Text(f"a batch of {plain['batch_size']} fits as wanted.{found}", "green")
    options = " ".join(format_option(name, value) for name, value in plain["changes"].items())
    return Text(f"a batch of {plain['batch_size']} fits with: {options}.{found}", "yellow")


def format_option(name: str, value: Any) -> str:
    dashed = f"--{name.replace('_', '-')}"
    return dashed if value is True else f"{dashed} {value}"


def show_devices(plain: dict[str, Any], out: Console) -> None:
    table = _table("device", "memory", "kept by the driver")
    table.add_column("")
    for each in plain["devices"]:
        table.add_row(
            each["name"],
            format_size(each["memory_bytes"]),
            format_size(each["kept_bytes"]),
            make_printable(each["description"]),
        )
    print_clean(out, table)


# What a preflight found, on a terminal: one row for each check, with its reason and its fix.


COLOUR = {"error": "bold red", "warning": "yellow", "unknown": "cyan", "ok": "green"}


def show_preflight(plain: dict[str, Any], out: Console) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for row in plain["checks"]:
        reason = Text(make_printable(row["reason"]), style="dim" if row["status"] == "ok" else "")
        table.add_row(Text(row["status"], style=COLOUR[row["status"]]), row["check"], reason)
        if row["fix"]:
            table.add_row("", "", Text(f"fix: {make_printable(row['fix'])}", style="bold"))
    print_clean(out, table)
    print_line(out, Text.from_markup(format_summary(plain)))


def format_summary(plain: dict[str, Any]) -> str:
    """One line, with rich's marks for colour."""
    names = {"error": "errors", "warning": "warnings"}
    parts = [
        f"[{COLOUR[status]}]{format_count(count, status, names.get(status, status))}[/]"
        for status, count in plain["counts"].items()
        if count
    ]
    return f"preflight: {', '.join(parts)} ({plain['seconds']:.1f} s)"
