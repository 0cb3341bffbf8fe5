"""What was found of a cloud, on a terminal: this machine, machines that could be had, a job that was sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unstall.report.data_text import printable
from unstall.report.text import grid, print_clean, size

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

UNKNOWN = "unknown"


def show_check(plain: dict[str, Any], out: Console) -> None:
    table = grid()
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
    own = f"{machine['cores']} cores, {size(machine['memory_bytes'])}"
    if not plain["is_google"]:
        return [("machine", Text(own)), ("Google's", Text(f"no: {plain['why_not']}", "yellow"))]
    kind = f"{machine['machine_type'] or UNKNOWN} in {machine['zone'] or UNKNOWN}, project {machine['project'] or UNKNOWN}"
    taken = machine["is_taken_away"]
    kept = {True: "spot or preemptible: may be taken away at any time", False: "kept until it is stopped", None: UNKNOWN}[taken]
    maintenance = f"; at maintenance: {machine['on_maintenance']}" if machine["on_maintenance"] else ""
    return [
        ("machine", Text(printable(f"{kind}: {own}"))),
        ("kept", Text(printable(kept + maintenance), "yellow" if taken else "")),
        *(("unknown", Text(printable(f"{name}: {why}"), "cyan")) for name, why in machine["missing"].items()),
        *(("job", Text(printable(f"{name}={value}"))) for name, value in plain["job"].items()),
    ]


def _of_cards(cards: dict[str, Any]) -> list[tuple[str, Text]]:
    from rich.text import Text

    if cards["why_not"]:
        return [("cards", Text(f"unknown: {printable(cards['why_not'])}", "cyan"))]
    if not cards["seen"]:
        return [("cards", Text("no NVIDIA card"))]
    return [("cards", Text(printable(", ".join(f"{each['name']} ({size(each['memory_bytes'])})" for each in cards["seen"]))))]


def _of_account(plain: dict[str, Any]) -> list[tuple[str, Text]]:
    from rich.text import Text

    account = plain["account"]
    rows = [("account", Text(printable(account["email"])))] if account["email"] else []
    rows += (
        [("scopes", Text(printable(", ".join(each.rpartition("/")[2] for each in account["scopes"]))))]
        if account["scopes"]
        else []
    )
    rows += [("key", Text(printable(each))) for each in account["keys"]]
    return rows or [("account", Text("none: no metadata server, no key file, nobody signed in", "yellow"))]


def _of_quotas(quotas: dict[str, Any]) -> list[tuple[str, Text]]:
    from rich.text import Text

    if quotas["why_not"]:
        return [("quotas", Text(f"unknown: {printable(quotas['why_not'])}", "cyan"))]
    rows = []
    for each in quotas["seen"]:
        own = each["metric"] == quotas["counted_by"]
        text = (
            f"{each['metric']}: {each['left']:g} of {each['limit']:g} left{', by which this machine is counted' if own else ''}"
        )
        rows.append(("quotas", Text(printable(text), ("red" if each["left"] == 0 else "bold") if own else "")))
    return rows or [("quotas", Text("none of cards or CPUs is above 0 in this region", "yellow"))]


def _of_bucket(bucket: dict[str, Any]) -> list[tuple[str, Text]]:
    from rich.text import Text

    if not bucket["place"]:
        return [("bucket", Text("not looked at: --bucket gs://NAME", "dim"))]
    rows = [("bucket", Text(printable(bucket["place"])))]
    for each in bucket["tried"]:
        if each["works"]:
            rows.append(("", Text(f"{each['doing']}: works ({each['seconds'] * 1000:.0f} ms)", "green")))
        else:
            said = "unknown" if each["works"] is None else "fails"
            rows.append(
                ("", Text(printable(f"{each['doing']}: {said}: {each['why']}"), "cyan" if each["works"] is None else "bold red"))
            )
    return rows
