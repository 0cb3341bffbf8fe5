"""What was found of a cloud, on a terminal: this machine, machines that could be had, a job that was sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unstall.base.console import create_grid, make_printable, print_clean, print_line
from unstall.base.formatting import format_count, format_size
from unstall.report.terminal.planning import WAYS, format_option

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

UNKNOWN = "unknown"


def show_check(plain: dict[str, Any], out: Console) -> None:
    table = create_grid()
    for label, text in _rows(plain):
        table.add_row(label, text)
    print_clean(out, table)


def _rows(plain: dict[str, Any]) -> list[tuple[str, Text]]:
    return [
        *_of_machine(plain),
        *_of_cards(plain["cards"]),
        *_of_account(plain),
        *_of_quotas(plain["quotas"]),
        *_of_bucket(plain["bucket"]),
    ]


def _of_machine(plain: dict[str, Any]) -> list[tuple[str, Text]]:
    from rich.text import Text

    machine = plain["machine"]
    own = f"{machine['cores']} cores, {format_size(machine['memory_bytes'])}"
    if not plain["is_google"]:
        return [("machine", Text(own)), ("Google's", Text(f"no: {plain['why_not']}", "yellow"))]
    kind = f"{machine['machine_type'] or UNKNOWN} in {machine['zone'] or UNKNOWN}, project {machine['project'] or UNKNOWN}"
    taken = machine["is_taken_away"]
    kept = {True: "spot or preemptible: may be taken away at any time", False: "kept until it is stopped", None: UNKNOWN}[taken]
    maintenance = f"; at maintenance: {machine['on_maintenance']}" if machine["on_maintenance"] else ""
    return [
        ("machine", Text(make_printable(f"{kind}: {own}"))),
        ("kept", Text(make_printable(kept + maintenance), "yellow" if taken else "")),
        *(("unknown", Text(make_printable(f"{name}: {why}"), "cyan")) for name, why in machine["missing"].items()),
        *(("job", Text(make_printable(f"{name}={value}"))) for name, value in plain["job"].items()),
    ]


def _of_cards(cards: dict[str, Any]) -> list[tuple[str, Text]]:
    from rich.text import Text

    if cards["why_not"]:
        return [("cards", Text(f"unknown: {make_printable(cards['why_not'])}", "cyan"))]
    if not cards["seen"]:
        return [("cards", Text("no NVIDIA card"))]
    return [
        (
            "cards",
            Text(make_printable(", ".join(f"{each['name']} ({format_size(each['memory_bytes'])})" for each in cards["seen"]))),
        )
    ]


def _of_account(plain: dict[str, Any]) -> list[tuple[str, Text]]:
    from rich.text import Text

    account = plain["account"]
    rows = [("account", Text(make_printable(account["email"])))] if account["email"] else []
    rows += (
        [("scopes", Text(make_printable(", ".join(each.rpartition("/")[2] for each in account["scopes"]))))]
        if account["scopes"]
        else []
    )
    rows += [("key", Text(make_printable(each))) for each in account["keys"]]
    return rows or [("account", Text("none: no metadata server, no key file, nobody signed in", "yellow"))]


def _of_quotas(quotas: dict[str, Any]) -> list[tuple[str, Text]]:
    from rich.text import Text

    if quotas["why_not"]:
        return [("quotas", Text(f"unknown: {make_printable(quotas['why_not'])}", "cyan"))]
    rows = []
    for each in quotas["seen"]:
        own = each["metric"] == quotas["counted_by"]
        text = (
            f"{each['metric']}: {each['left']:g} of {each['limit']:g} left{', by which this machine is counted' if own else ''}"
        )
        rows.append(("quotas", Text(make_printable(text), ("red" if each["left"] == 0 else "bold") if own else "")))
    return rows or [("quotas", Text("none of cards or CPUs is above 0 in this region", "yellow"))]


def _of_bucket(bucket: dict[str, Any]) -> list[tuple[str, Text]]:
    from rich.text import Text

    if not bucket["place"]:
        return [("bucket", Text("not looked at: --bucket gs://NAME", "dim"))]
    rows = [("bucket", Text(make_printable(bucket["place"])))]
    for each in bucket["tried"]:
        if each["works"]:
            rows.append(("", Text(f"{each['doing']}: works ({each['seconds'] * 1000:.0f} ms)", "green")))
        else:
            said = "unknown" if each["works"] is None else "fails"
            rows.append(
                (
                    "",
                    Text(
                        make_printable(f"{each['doing']}: {said}: {each['why']}"), "cyan" if each["works"] is None else "bold red"
                    ),
                )
            )
    return rows


# Machine types for a training, on a terminal: what each costs, whether it fits, what its cores feed; then the cheapest.


OLD_DAYS = 90  # prices that were taken longer ago may have changed
SHOWN_AFTER = 2  # machines that were not looked at
COLOUR = {"fits": "green", "does not fit": "red", "not looked at": "dim"}


def show_plan(plain: dict[str, Any], out: Console) -> None:
    from rich.text import Text

    table = plain["table"]
    head = f"{plain['model']}, batch {plain['batch_size']}, on machines of {table['region']} at prices of {table['taken_on']}"
    print_line(out, Text(make_printable(f"{head}{', spot' if plain['is_spot'] else ''}")))
    print_line(out, Text(make_printable(f"prices: {table['source']}"), "dim"))
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
        why = offer["why"] or " ".join(format_option(name, value) for name, value in offer["changes"].items())
        said = f"{offer['status']}{' with' if offer['changes'] and not offer['why'] else ':' if why else ''} {why}".strip()
        table.add_row(*_figures(offer), Text(make_printable(said), COLOUR[offer["status"]]))
    return table


def _shown(offers: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], int]:
    looked_at = [each for each in offers if each["status"] != "not looked at"]
    others = [each for each in offers if each["status"] == "not looked at"]
    return [*looked_at, *others[:SHOWN_AFTER]], max(0, len(others) - SHOWN_AFTER)


def _figures(offer: dict[str, Any]) -> list[str]:
    count = f"{offer['count']} × " if offer["count"] > 1 else ""
    cards = f"{offer['cards']} × {offer['card']}" if offer["card"] else "none"
    need = f"{format_size(offer['need_bytes'])} of {format_size(offer['limit_bytes'])}" if offer["need_bytes"] is not None else ""
    fed = f"{offer['fed_images_per_s']:,.0f}/s" if offer["fed_images_per_s"] is not None else ""
    price = UNKNOWN if offer["price"] is None else f"{offer['price']:.2f}"
    own = [str(offer["vcpus"]), f"{offer['memory_gib']:g} GiB", make_printable(cards)]
    return [make_printable(f"{count}{offer['machine']}"), price, *own, need, fed]


def _feeding(plain: dict[str, Any]) -> list[Text]:
    from rich.text import Text

    found = plain["input"]
    if found["core_images_per_s"] is None:
        lines = [Text(make_printable(f"input: unknown: {found['why_not']}"), "cyan")]
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
    way = f", memory {WAYS[best['method']]}" if best["method"] else ""
    at = f"at the price of {plain['table']['taken_on']}"
    said = f"the cheapest that fits: {count}{best['machine']}, {best['price']:.2f} {currency}/h {at}{way}"
    options = " ".join(format_option(name, value) for name, value in best["changes"].items())
    cost = plain["cost"]
    spent = f". The whole training: {cost['hours']:,.2f} h, {cost['money']:,.2f} {currency}" if cost else ""
    return Text(make_printable(f"{said}{f', with {options}' if options else ''}{spent}"), "yellow" if options else "green")


# A job that was sent, or would be, on a terminal.


def show_job(plain: dict[str, Any], out: Console) -> None:
    from rich.text import Text

    where = f"{format_count(plain['machines'], 'machine')}, {format_count(plain['workers'], 'worker')}"
    print_line(out, Text(make_printable(f"{plain['name']}: {where}, the run in {plain['out']}")))
    if plain["written_to"]:
        print_line(out, Text(make_printable(f"written: {plain['written_to']}"), "green"))
    if plain["is_sent"]:
        print_line(out, Text(make_printable(f"sent: {plain['job']} ({plain['state']})"), "green"))
        print_line(out, Text(make_printable(f"page: {plain['page']}")))
        number = plain["job"].rpartition("/")[2]
        logs = f"gcloud ai custom-jobs stream-logs {number} --project {plain['project']} --region {plain['region']}"
        print_line(out, Text(make_printable(f"its output: {logs}")))
        print_line(out, Text(make_printable(f"how it goes: unstall report {plain['out']}")))
        return
    if not plain["written_to"]:
        from unstall.cloud.job import format_request

        out.file.write(format_request(plain["request"], is_yaml=True))
    if plain["engine"] == "kubeflow":
        print_line(
            out, Text(make_printable(f"to send it: kubectl apply -f {plain['written_to'] or 'FILE (--write FILE)'}"), "dim")
        )
    else:
        print_line(out, Text("nothing was sent (--dry-run)", "dim"))
