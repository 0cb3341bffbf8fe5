"""The table of benchmarks/memory.py: predicted against measured, and the searches for the largest batch."""

from __future__ import annotations

import statistics
from types import ModuleType
from typing import Any

GIB = 2**30
NEEDED_MEDIAN, NEEDED_WORST, NEEDED_TORCH = 0.01, 0.05, 0.05


def show(plain: dict[str, Any], searches: ModuleType) -> None:
    _show_rows(plain)
    _show_torch(plain)
    _show_searches(plain, searches)


def _show_rows(plain: dict[str, Any]) -> None:
    print("\n| configuration | predicted | measured | error | compiled on the card | ran in what was promised |")
    print("| --- | --- | --- | --- | --- | --- |")
    errors, there = [], []
    for name, row in plain["predicted"].items():
        if "need" not in row:
            continue
        measured = plain["measured"].get(name, {})
        cells = [f"{row['need'] / GIB:.2f} GiB", "", "", "", measured.get("error", "")]
        if "need" in measured:
            errors.append(abs(measured["error_share"]))
            there.append(measured["compiled_there"] / measured["need"] - 1)
            cells[1:] = [
                f"{measured['need'] / GIB:.2f} GiB",
                f"{measured['error_share']:+.1%}",
                f"{there[-1]:+.2%}",
                "yes" if measured["ran_in_promised"] else "NO",
            ]
        print(f"| {name} | {' | '.join(cells)} |")
    if errors:
        short = sum(1 for row in plain["measured"].values() if not row.get("ran_in_promised", True))
        print(
            f"\nJAX, {len(errors)} configurations: median error {statistics.median(errors):.2%} (needed: {NEEDED_MEDIAN:.0%}), "
            f"worst {max(errors):.2%} (needed: {NEEDED_WORST:.0%}); "
            f"compiled on the card itself {max(map(abs, there)):.2%} at worst; {short} ran out of what was promised (needed: 0)."
        )


def _show_torch(plain: dict[str, Any]) -> None:
    rows = {name: row for name, row in plain["torch"].items() if "error_share" in row}
    if not rows:
        return
    print("\n| PyTorch | by the plan on the card | measured | error | JAX's figure |\n| --- | --- | --- | --- | --- |")
    for name, row in rows.items():
        of_jax = plain["predicted"].get(name, {}).get("need", 0) / row["need"] - 1
        cells = f"{row['predicted'] / GIB:.2f} GiB | {row['need'] / GIB:.2f} GiB | {row['error_share']:+.1%} | {of_jax:+.1%}"
        print(f"| {name} | {cells} |")
    median = statistics.median(abs(row["error_share"]) for row in rows.values())
    print(f"\nPyTorch, {len(rows)} configurations: median error {median:.2%} (needed: {NEEDED_TORCH:.0%}).")


def _show_searches(plain: dict[str, Any], searches: ModuleType) -> None:
    rows = [(name, row) for name, row in plain["largest"].items() if "need" in row.get("found", {}) and "above" in row]
    if not rows:
        return
    print("\n| search | way | batch | of the largest | trials | out of memory | images/s |\n|" + " --- |" * 7)
    for name, row in rows:
        ran, most = bounds(row)
        looks = len(plain["predicted"][name]["looked"])
        share = f"{row['images'] / most:.0%} or more" if most else "less than 90 %"
        print(f"| {name} | Unstall | {row['images']} | {share} | {looks} compilations | 0 | {_speeds(plain, name)} |")
        for way, result in searches.replayed(measured_points(plain, name, row), row["limit"], ran).items():
            share = f"{result['batch'] / (most or ran):.0%}"
            print(f"| {name} | {way} | {result['batch']} | {share} | {result['trials']} | {result['out_of_memory']} | |")


def bounds(row: dict[str, Any]) -> tuple[int, int]:
    """The largest batch that was seen to run, and one less than the smallest that did not; 0: all did."""
    above = row["above"]
    return (row["images"], above["images"] - 1) if above.get("out_of_memory") else (above["images"], 0)


def _speeds(plain: dict[str, Any], name: str) -> str:
    row = plain["largest"][name]
    timed = plain["speeds"].get(name) or {row["images"]: row["found"]}
    return ", ".join(f"{row['images_per_s']:,.0f} with {images}" for images, row in timed.items() if row.get("images_per_s"))


def measured_points(plain: dict[str, Any], name: str, row: dict[str, Any]) -> dict[int, float]:
    """Measured needs of the search's model, size and precision, by batch: unsqueezed ones where there are two."""
    model_px, _, rest = name.removeprefix("largest-").partition("px-")
    precision = rest.rpartition("-")[0]
    points = {}
    for known, measured in plain["measured"].items():
        begins, _, ends = known.partition("px-")
        batch, _, how = ends.partition("-")
        if begins == model_px and how == f"{precision}-sgd" and "need" in measured:
            points[int(batch[1:])] = float(measured["need"])
    return points if len(points) > 1 else {**points, row["images"]: float(row["found"]["need"])}
