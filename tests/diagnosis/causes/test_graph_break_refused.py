"""graph_break_refused: the line at which the graph breaks, why, and which line asks for one graph."""

from __future__ import annotations

from typing import Any

import pytest

from tests.diagnosis.builders import FOLDER
from tests.diagnosis.failed_programs import failed, line, unseen
from unstall.diagnosis.causes import graph_break_refused
from unstall.diagnosis.verdict import Clear, Found, Unknown, Verdict

KIND = "torch._dynamo.exc.Unsupported"
MESSAGE = (
    "Data-dependent branching\n  Explanation: Detected data-dependent branching. Dynamo does not support tracing dynamic control flow."
    "\n\n      The branch condition involves a tensor computed as follows:\n"
    f'        # File "{FOLDER}/train.py", line 16, in forward, code: if scale > 0.8:\n        gt = gt(scale, 0.8)\n'
    "  Hint: This graph break is fundamental - it is unlikely that Dynamo will ever be able to trace it.\n"
    "  Hint: Use `torch.cond` to express dynamic control flow.\n\nfrom user code:\n"
    f'   File "{FOLDER}/train.py", line 16, in forward\n    if scale > 0.8:\n'
)


def examine(kind: str = KIND, message: str = MESSAGE, **value: Any) -> Verdict:
    step = {"name": "step", "type": "torch.OptimizedModule", "in_failing": True, **value}
    return graph_break_refused.examine(failed(kind, message, line(26, "loss = step(x).mean()", step), versions={}))


def test_found_with_both_lines_the_reason_and_what_can_be_done() -> None:
    verdict = examine(made_at=22, made_by=["step = torch.compile(model, fullgraph=True)"])
    assert isinstance(verdict, Found)
    assert verdict.where == "train.py:16"
    assert "asked for at train.py:22 by fullgraph=True" in verdict.summary
    assert "Dynamo does not support tracing dynamic control flow." in verdict.summary
    assert "torch.where" in verdict.actions[0] and "train.py:22" in verdict.actions[1]
    claims = " ".join(each.claim for each in verdict.evidence)
    assert "Use `torch.cond`" in claims and "is fundamental" not in claims
    assert "gt(scale" not in claims


def test_where_the_line_that_asks_is_not_seen_both_ways_are_told() -> None:
    verdict = examine(message="call to print\n  Explanation: Dynamo does not know how to trace it.")
    assert isinstance(verdict, Found)
    assert "by fullgraph=True or torch.export" in verdict.summary
    assert len(verdict.actions) == 1 and "torch.where" not in verdict.actions[0]


@pytest.mark.parametrize("kind", ["RuntimeError", "torch._dynamo.exc.TorchRuntimeError", "mine.Unsupported"])
def test_clear_of_another_error(kind: str) -> None:
    assert isinstance(examine(kind), Clear)


def test_unknown_where_nothing_inside_was_seen() -> None:
    assert isinstance(graph_break_refused.examine(unseen()), Unknown)
