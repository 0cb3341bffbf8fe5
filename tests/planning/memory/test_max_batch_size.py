"""The search for the largest size: never promises what was not seen to fit, finds nearly all that fits, looks seldom."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from unstall.planning.memory.max_batch_size import MAX_LOOKS, find_max_batch_size

FIXED = st.integers(0, 10**9)
SLOPE = st.integers(1, 10**9)
MAX = st.integers(1, 1024)
FIRST = st.integers(1, 1024)


@given(FIXED, SLOPE, st.integers(0, 10**12), MAX, FIRST)
def test_on_a_line_it_is_exact_within_a_few_looks(fixed: int, slope: int, limit: int, most: int, first: int) -> None:
    looks: list[int] = []

    def need(size: int) -> int:
        looks.append(size)
        return fixed + slope * size

    found = find_max_batch_size(need, limit, most, first)
    true = min(most, max(0, (limit - fixed) // slope))
    assert found <= true and found >= 0.97 * true - 1 and (found > 0 or true == 0)
    assert len(looks) == len(set(looks)) <= 5


@given(FIXED, SLOPE, st.lists(st.integers(0, 10**12), min_size=2, max_size=6), MAX, FIRST)
def test_more_room_never_gives_less(fixed: int, slope: int, limits: list[int], most: int, first: int) -> None:
    found = [find_max_batch_size(lambda size: fixed + slope * size, limit, most, first) for limit in sorted(limits)]
    allowed = [0.97 * size - 1 for size in found]
    assert all(later >= bound for bound, later in zip(allowed, found[1:], strict=False))


@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=300), st.integers(0, 10**10), FIRST)
def test_whatever_memory_does_only_what_was_looked_at_and_fits_is_promised(grows: list[int], limit: int, first: int) -> None:
    """Steps of any height, where a compiler changes its mind."""
    needs = [sum(grows[: size + 1]) for size in range(len(grows))]
    looked: dict[int, int] = {}

    def need(size: int) -> int:
        looked[size] = needs[size - 1]
        return looked[size]

    found = find_max_batch_size(need, limit, len(grows), first)
    assert len(looked) <= MAX_LOOKS
    assert found == 0 or (found in looked and looked[found] <= limit)


def test_nothing_fits() -> None:
    assert find_max_batch_size(lambda size: 100 + size, 100, 64, first=16) == 0


def test_all_of_it_fits() -> None:
    assert find_max_batch_size(lambda size: size, 10**6, 64, first=16) == 64


@given(SLOPE, st.integers(10**6, 10**12), st.floats(1.0, 2.0), FIRST)
@example(200_592, 10**6, 2.0, 1022)  # the first look is far beyond what fits
def test_what_a_compiler_can_squeeze_is_found_too(slope: int, limit: int, further: float, first: int) -> None:
    """On a line up to the limit; then below it, up to so many times that size; then beyond it."""
    line = limit // slope
    true = min(1024, int(line * further))
    looks: list[int] = []

    def need(size: int) -> int:
        looks.append(size)
        if size <= true:
            return min(slope * size, int(0.95 * limit))
        return limit + slope * (size - true)

    found = find_max_batch_size(need, limit, 1024, first, is_squeezed=True)
    assert found <= true and found >= 0.9 * true - 1 and (found > 0 or true == 0)
    assert len(looks) == len(set(looks)) <= MAX_LOOKS
