"""One's own PyTorch loop: its steps, its losses, its passes over a DataLoader; and that a GradScaler's number is no loss."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.inside.watching import Parts, Told
from unstall.journal.events import FitBegan, LoopSeen, StepsEnded
from unstall.journal.reader import Journal

PRELUDE = """
import torch
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)
rows = torch.arange(96.0).reshape(48, 2) / 96
loader = DataLoader(TensorDataset(rows, rows.sum(1, keepdim=True)), batch_size=4)
validation = DataLoader(TensorDataset(rows, rows.sum(1, keepdim=True)), batch_size=8)

def fresh():
    net = torch.nn.Linear(2, 1)
    return net, torch.optim.SGD(net.parameters(), 0.05)

def go_back(optimizer, loss):
    optimizer.zero_grad()
    loss.backward()

def train(optimizer, loss):
    go_back(optimizer, loss)
    optimizer.step()

def pause(optimizer, loss):
    time.sleep(1.05)  # longer than steps are put together for
    train(optimizer, loss)
"""
PARTS = Parts(PRELUDE)
PASSES = PARTS.add("""
    net, optimizer = fresh()
    for epoch in range(3):
        for inputs, wanted in loader:
            train(optimizer, ((net(inputs) - wanted) ** 2).mean())
        with torch.no_grad():
            for inputs, wanted in validation:
                net(inputs)
""")
TURNS = PARTS.add("""
    (net, optimizer), (other, its_optimizer) = fresh(), fresh()
    for _ in range(20):
        train(optimizer, net(rows).pow(2).mean())
        go_back(its_optimizer, other(rows).pow(2).mean())
        its_optimizer.step()
    pause(optimizer, net(rows).pow(2).mean())
""")
SCALED = PARTS.add("""
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**40)
    for step in range(20):
        train(optimizer, scaler.scale((net(rows) * 0 + 3.0).mean()))
    for _ in range(2):
        pause(optimizer, scaler.scale((net(rows) * 0 + 3.0).mean()))
""")
BREAKS = PARTS.add("""
    for step in range(40):
        train(optimizer, net(rows).pow(2).mean() * (float("nan") if step >= 25 else 1.0))
""")
pytestmark = pytest.mark.torch


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Told]:
    pytest.importorskip("torch")
    folder: Path = tmp_path_factory.mktemp("torch_loop")
    yield PARTS.watched(folder)


def groups(part: Journal, phase: str = "train") -> list[StepsEnded]:
    return [group for group in part.of(StepsEnded) if group.phase == phase]


def count(steps: list[StepsEnded]) -> int:
    return sum(group.last - group.first + 1 for group in steps)


def test_steps_losses_waits_and_passes_are_seen(told: Told) -> None:
    part = told.during(PASSES)
    began = part.last(FitBegan)
    assert began is not None
    assert (began.api, began.backend) == ("own_loop", "torch")
    trained = groups(part)
    assert count(trained) == 36
    assert {group.epoch for group in trained} == {0, 1, 2}
    losses = [group.loss for group in trained if group.loss is not None]
    assert losses
    assert all(0 < loss < 100 for loss in losses)
    assert sum(group.waited_steps for group in trained) == 36
    assert 3 <= count(groups(part, "validate")) <= 18  # of passes over another set; the first batch of each cannot be told


def test_two_lines_that_take_turns_make_one_step(told: Told) -> None:
    assert count(groups(told.during(TURNS))) == 21


def test_the_step_in_which_the_loss_broke_is_told(told: Told) -> None:
    broke = [seen.facts for seen in told.during(BREAKS).of(LoopSeen) if seen.facts["kind"] == "not_finite"]
    assert [facts["value"] for facts in broke] == ["nan"]


def test_a_loss_is_told_as_it_was_before_it_was_scaled(told: Told) -> None:
    losses = [group.loss for group in groups(told.during(SCALED)) if group.loss is not None]
    assert losses[-1] == pytest.approx(3.0)
    assert max(losses) < 100  # the first may be one of the part before
