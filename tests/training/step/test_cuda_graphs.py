"""What is recorded of a function for a card holds everything that a card cannot ask for, and none of what it must be asked."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import numpy as np, torch
from unstall.training.step.cuda_graphs import WAITING, GraphReplay, agree, split_into_stretches, is_bitwise_equal, trace_operations

# 'meta' is a device, and not where NumPy's arrays are.
def shifted(x):
    made = torch.as_tensor(np.array([1.0, 2.0], np.float32)).to(x.device)
    made += 1
    return [x * made + torch.tensor(3.0).to(x.device) + torch.arange(2, device="cpu").to(x.device)]

graph = trace_operations(shifted, [torch.ones(2, device="meta")])
places = {str(getattr(graph, node.target).device) for node in graph.graph.nodes if node.op == "get_attr"}
assert places == {"meta"}, places
assert not any(node.target is torch.ops.aten._to_copy.default for node in graph.graph.nodes)

# What waits stands by itself, once for each time, and stretches of the rest between.
WAITING.add(torch.ops.aten.cumsum.default)

def summed_twice(x):
    first = (x * 2).cumsum(0) + 1
    second = (first * x).cumsum(0)
    return [second - first, x + 1]

x = torch.tensor([3.0, -1.0, 2.0])
stretches = split_into_stretches(trace_operations(summed_twice, [x]))
kinds = [node.op for node in stretches.graph.nodes if node.op == "call_module" or node.target in WAITING]
assert kinds == ["call_module", "call_function", "call_module", "call_function", "call_module"], kinds
assert all(torch.equal(these, those) for these, those in zip(stretches(x), summed_twice(x)))

# Rounding and the order of a sum are no difference; another number is, but for one that is nearly nothing.
large, small = torch.randn(1000), torch.full((4,), 1e-6)
assert agree([large * (1 + 1e-4), small], [large, small]) and agree([large, small * 2], [large, small])
assert not agree([large * float("nan"), small], [large, small]) and agree([small / 0], [small / 0])
assert not agree([large * 1.2, small], [large, small]) and not agree([large, small + 1], [large, small])

assert not agree([small * 0, large], [small * float("nan"), large]) and not is_bitwise_equal([small * 0], [small * float("nan")])

# Where a run is promised to repeat, rounding is one too.
assert is_bitwise_equal([large, small / 0], [large, small / 0]) and not is_bitwise_equal([large * (1 + 1e-6)], [large])

# Where there is no card nothing is recorded, and the function is called.
calls = []
replayed = GraphReplay(lambda x: calls.append(1) or [x + 1])
assert [float(replayed(torch.tensor(float(number)))[0]) for number in range(5)] == [1, 2, 3, 4, 5] and len(calls) == 5
print("right")
"""


@pytest.mark.torch
def test_what_is_recorded() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False, timeout=240)
    assert done.stdout == "right\n", done.stderr


ON_A_CARD = """
import torch
from unstall.training.step.cuda_graphs import WAITING, GraphReplay

WAITING.add(torch.ops.aten.cumsum.default)
weight = torch.ones(3, device="cuda")

def function(x, y):
    return [(x * weight).cumsum(0) + y, y * torch.arange(3).to(x.device)]

replayed = GraphReplay(function)
for number in range(6):
    x, y = torch.randn(3, device="cuda"), torch.full((3,), float(number), device="cuda")
    weight += 1
    assert all(torch.equal(these, those) for these, those in zip(replayed(x, y), function(x, y)))
    if number == 4:
        replayed.forget()
assert replayed._recorded is not None
print("right")
"""


@pytest.mark.torch
def test_on_a_card_it_gives_the_same_bits() -> None:
    import torch

    if not torch.cuda.is_available():
        pytest.skip("needs a card that PyTorch computes on")
    done = subprocess.run([sys.executable, "-c", ON_A_CARD], capture_output=True, text=True, check=False, timeout=240)
    assert done.stdout == "right\n", done.stderr
