"""Machine types for a training, on a terminal: what each costs, whether it fits, what its cores feed; then the cheapest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unstall.report.data_text import print_line, printable
from unstall.report.plan_text import WAYS, option_of
from unstall.report.text import print_clean, size

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

OLD_DAYS = 90  # prices that were taken longer ago may have changed
SHOWN_AFTER = 2  # machines that were not looked at
COLOUR = {"fits": "green", "does not fit": "red", "not looked at": "dim"}
UNKNOWN = "unknown"


def show_plan(plain: dict[str, Any], out: Console) -> None:
    from rich.text import Text

    table = plain["table"]
    head = f"{plain['model']}, batch {plain['batch_size']}, on machines of {table['region']} at prices of {table['taken_on']}"
    print_line(out, Text(printable(f"{head}{', spot' if plain['is_spot'] else ''}")))
    print_line(out, Text(printable(f"prices: {table['source']}"), "dim"))
    if table["age_days"] > OLD_DAYS:
        old = f"these prices are {table['age_days'] // 30} months old; put yours in their place: --prices FILE (docs/cloud.md)"
        print_line(out, Text(old, "yellow"))
    shown, left_out = _shown(plain["offers"])
    print_clean(out, _machines(shown, table["currency"]))
    if left_out:
        print_line(out, Text(f"and {left_out} dearer ones, not looked at (--all)", "dim"))
    for line in _feeding(plain):
        print_line(out, line)
    print_line(out, _verdict(plain))


def _machines(offers: list[dict[str, Any]], currency: str) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for name in ("machine", f"{currency}/h", "vCPU", "memory", "cards", "needs", "images"):
        table.add_column(name, justify="left" if name in {"machine", "cards"} else "right", no_wrap=True)
    table.add_column("", overflow="fold")
    for offer in offers:
        why = offer["why"] or " ".join(option_of(name, value) for name, value in offer["changes"].items())
        said = f"{offer['answer']}{' with' if offer['changes'] and not offer['why'] else ':' if why else ''} {why}".strip()
        table.add_row(*_figures(offer), Text(printable(said), COLOUR[offer["answer"]]))
    return table


def _shown(offers: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], int]:
    looked_at = [each for each in offers if each["answer"] != "not looked at"]
    others = [each for each in offers if each["answer"] == "not looked at"]
    return [*looked_at, *others[:SHOWN_AFTER]], max(0, len(others) - SHOWN_AFTER)


def _figures(offer: dict[str, Any]) -> list[str]:
    count = f"{offer['count']} × " if offer["count"] > 1 else ""
    cards = f"{offer['cards']} × {offer['card']}" if offer["card"] else "none"
    need = f"{size(offer['need_bytes'])} of {size(offer['limit_bytes'])}" if offer["need_bytes"] is not None else ""
    fed = f"{offer['fed_images_per_s']:,.0f}/s" if offer["fed_images_per_s"] is not None else ""
    price = UNKNOWN if offer["price"] is None else f"{offer['price']:.2f}"
    own = [str(offer["vcpus"]), f"{offer['memory_gib']:g} GiB", printable(cards)]
    return [printable(f"{count}{offer['machine']}"), price, *own, need, fed]


def _feeding(plain: dict[str, Any]) -> list[Text]:
    from rich.text import Text

    found = plain["input"]
    if found["core_images_per_s"] is None:
        lines = [Text(printable(f"input: unknown: {found['why_not']}"), "cyan")]
    else:
        each = f"{found['core_images_per_s']:,.0f} images/s by a core of this machine, {found['image_bytes'] / 1000:,.0f} kB each"
        lines = [Text(f"input: {each}; one vCPU is left to the training")]
    if found["read_images_per_s"] is not None:
        lines.append(
            Text(f"the bucket gives {found['read_images_per_s']:,.0f} images/s to this machine; to another one: unknown")
        )
    if plain["images_per_s"] is None:
        why = "`unstall preflight` measures it on such a card; then --images-per-s"
        lines.append(Text(f"what the steps take, and so hours and cost: unknown ({why})", "cyan"))
    return lines


def _verdict(plain: dict[str, Any]) -> Text:
    from rich.text import Text

    best = plain["chosen"]
    if best is None:
        return Text("no machine of the table fits, or none whose price is known", "bold red")
    currency = plain["table"]["currency"]
    count = f"{best['count']} × " if best["count"] > 1 else ""
    way = f", memory {WAYS[best['way']]}" if best["way"] else ""
    at = f"at the price of {plain['table']['taken_on']}"
    said = f"the cheapest that fits: {count}{best['machine']}, {best['price']:.2f} {currency}/h {at}{way}"
    options = " ".join(option_of(name, value) for name, value in best["changes"].items())
    cost = plain["cost"]
    spent = f". The whole training: {cost['hours']:,.2f} h, {cost['money']:,.2f} {currency}" if cost else ""
    return Text(printable(f"{said}{f', with {options}' if options else ''}{spent}"), "yellow" if options else "green")
