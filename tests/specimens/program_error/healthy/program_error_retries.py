# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "python"
# ends = "exits"
# seconds = 30
# near = "program_error"
# needs = []
# ///
"""A server of labels refuses the first requests. The program catches the error, waits and asks again, as it is meant to."""

import time

import torch

answers = iter([ConnectionError("busy"), TimeoutError("no answer"), {"cat": 1}])


def ask() -> dict:
    answer = next(answers)
    if isinstance(answer, Exception):
        raise answer
    return answer


def labels() -> dict:
    for attempt in range(5):
        try:
            return ask()
        except (ConnectionError, TimeoutError) as error:
            print(f"attempt {attempt}: {error}")
            time.sleep(0.1)
    raise SystemExit(2)


print(labels(), torch.zeros(2))
