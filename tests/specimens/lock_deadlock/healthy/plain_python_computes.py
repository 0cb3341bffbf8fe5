# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "python"
# ends = "exits"
# seconds = 25
# near = "lock_deadlock"
# needs = []
# ///
"""No framework at all: plain Python that computes for twenty seconds and says nothing while it does."""

import time


def collatz_length(start, known):
    path = []
    number = start
    while number not in known:
        path.append(number)
        number = number // 2 if number % 2 == 0 else 3 * number + 1
    length = known[number]
    for number in reversed(path):
        length += 1
        if number < 300_000:
            known[number] = length
    return length


def longest_below(budget_s):
    known = {1: 1}
    best = (1, 1)
    end = time.monotonic() + budget_s
    start = 2
    while time.monotonic() < end:
        best = max(best, (collatz_length(start, known), start))
        start += 1
    return best


length, start = longest_below(20)
print("longest chain:", start, "with", length, "numbers")
