"""What a run of any length gives in a bounded number of points: sums of time, and values with their least and greatest.

Both grow as events come. When there are too many bins, each two become one of twice the width: sums stay exact, and a spike
stays visible, since the least and the greatest of a bin are kept beside its mean.
"""

from __future__ import annotations

from typing import Any

FIRST_WIDTH_S = 0.1
DIGITS = 6


def round_number(value: float | None) -> float | None:
    """As many digits as a plot can show: a page of all digits is twice as large."""
    return None if value is None else float(f"{value:.{DIGITS}g}")


class Spans:
    """Seconds of each kind in bins of equal width."""

    def __init__(self, kinds: tuple[str, ...], max_bins: int) -> None:
        self.width_s = FIRST_WIDTH_S
        self.sums: dict[str, list[float]] = {kind: [] for kind in kinds}
        self._max_bins = max_bins

    def add(self, kind: str, began: float, ended: float, seconds: float) -> None:
        """`seconds` of this kind, evenly between two moments, which count from the begin of the run."""
        began, ended = max(0.0, began), max(0.0, ended)
        if seconds <= 0:
            return
        while ended / self.width_s >= self._max_bins:
            self._halve()
        sums, width = self.sums[kind], self.width_s
        first, last = int(began / width), int(ended / width)
        sums.extend([0.0] * (last + 1 - len(sums)))
        if first == last:
            sums[last] += seconds
            return
        rate = seconds / (ended - began)
        sums[first] += rate * ((first + 1) * width - began)
        sums[last] += rate * (ended - last * width)
        for place in range(first + 1, last):
            sums[place] += rate * width

    def copy(self) -> Spans:
        copied = Spans((), self._max_bins)
        copied.width_s, copied.sums = self.width_s, {kind: list(sums) for kind, sums in self.sums.items()}
        return copied

    def fill_up(self, rest: str, until: float) -> None:
        """What is left of each bin's time is of the kind `rest`. Where more was told than has passed, since several processes
        tell, all shrinks to what has."""
        while until / self.width_s > self._max_bins:
            self._halve()
        count = max(-(-until // self.width_s), 1)
        for kind, sums in self.sums.items():
            self.sums[kind] = [*sums[: int(count)], *[0.0] * (int(count) - len(sums))]
        for place in range(int(count)):
            width = min(self.width_s, until - place * self.width_s)
            result = sum(sums[place] for sums in self.sums.values())
            if result > width:
                for sums in self.sums.values():
                    sums[place] *= max(0.0, width) / result
            else:
                self.sums[rest][place] += width - result

    def _halve(self) -> None:
        self.width_s *= 2
        for kind, sums in self.sums.items():
            even = [*sums, 0.0] if len(sums) % 2 else sums
            self.sums[kind] = [even[place] + even[place + 1] for place in range(0, len(even), 2)]


class Series:
    """Values over time. A bin holds: count, sum of moments, sum of values, least, greatest."""

    def __init__(self, max_bins: int) -> None:
        self._width_s = FIRST_WIDTH_S
        self._max_bins = max_bins
        self._bins: dict[int, list[float]] = {}

    def __bool__(self) -> bool:
        return bool(self._bins)

    def __len__(self) -> int:
        return len(self._bins)

    def add(self, moment: float, value: float | None, greatest: float | None = None) -> None:
        """`greatest` of what the value is the mean of, where it is known. What is not finite is left out."""
        if value is None or value - value != 0:
            return
        moment = max(0.0, moment)
        while moment / self._width_s >= self._max_bins:
            self._halve()
        highest = max(value, greatest) if greatest is not None and greatest - greatest == 0 else value
        known = self._bins.get(int(moment / self._width_s))
        if known is None:
            self._bins[int(moment / self._width_s)] = [1, moment, value, value, highest]
        else:
            _put_together(known, [1, moment, value, value, highest])

    def _halve(self) -> None:
        self._width_s *= 2
        merged: dict[int, list[float]] = {}
        for place, contents in self._bins.items():
            if place // 2 in merged:
                _put_together(merged[place // 2], contents)
            else:
                merged[place // 2] = contents
        self._bins = merged

    def plain(self) -> dict[str, list[float | None]]:
        """t (seconds from the begin of the run) and mean; low and high where they differ from it."""
        ordered = [self._bins[place] for place in sorted(self._bins)]
        plain = {
            "t": [round_number(each[1] / each[0]) for each in ordered],
            "mean": [round_number(each[2] / each[0]) for each in ordered],
        }
        low, high = [round_number(each[3]) for each in ordered], [round_number(each[4]) for each in ordered]
        return plain if low == high == plain["mean"] else {**plain, "low": low, "high": high}


def _put_together(known: list[float], other: list[float]) -> None:
    for place in range(3):
        known[place] += other[place]
    known[3], known[4] = min(known[3], other[3]), max(known[4], other[4])


class NamedSeries:
    """Several series of one plot by name. Beyond `max_names` further names are left out: a plot of fifty lines shows nothing."""

    def __init__(self, max_bins: int, max_names: int) -> None:
        self._max_bins, self._max_names = max_bins, max_names
        self.series: dict[str, Series] = {}

    def add(self, name: str, moment: float, value: Any, greatest: float | None = None) -> None:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return
        known = self.series.get(name)
        if known is None:
            if len(self.series) >= self._max_names:
                return
            known = self.series[name] = Series(self._max_bins)
        known.add(moment, value, greatest)
