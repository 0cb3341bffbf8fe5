"""What the probe sees of a PyTorch loop, in real programs: steps, epochs, losses, waits for input, validation."""

from pathlib import Path

import pytest

from tests.probe.watched_programs import line, watch
from unstall.diagnosis.findings import diagnose
from unstall.journal.events import FitBegan, LoopSeen, PhaseBegan, SignalsSeen, StepsEnded

TORCH = """
import time
import torch

torch.manual_seed(0)
x = torch.randn(320, 8)

class Rows(torch.utils.data.Dataset):
    def __init__(self, seconds=0.0, count=320):
        self.seconds, self.count = seconds, count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        time.sleep(self.seconds)
        return x[index], x[index, :1] * 2

def loader_of(dataset):
    return torch.utils.data.DataLoader(dataset, batch_size=16)

model = torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.01)

def step(rows, targets):
    loss = torch.nn.functional.mse_loss(model(rows), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()  # UPDATES
    return loss
"""


@pytest.mark.torch
def test_steps_epochs_losses_and_validation_of_a_loop(tmp_path: Path, own_home: Path) -> None:
    journal = watch(
        """
        training, validation = loader_of(Rows()), loader_of(Rows(count=96))
        for epoch in range(3):
            for rows, targets in training:
                step(rows, targets)
            with torch.no_grad():
                for rows, targets in validation:
                    model(rows)
        """,
        tmp_path,
        own_home,
        preamble=TORCH,
    )
    (fit,) = journal.of(FitBegan)
    groups = [group for group in journal.of(StepsEnded) if group.phase == "train"]
    assert (fit.api, fit.backend, fit.where) == ("own_loop", "torch", line(tmp_path, "UPDATES"))
    assert sum(group.last - group.first + 1 for group in groups) == 60
    assert {group.epoch for group in groups} == {0, 1, 2}
    assert all(group.wait_s is not None for group in groups)
    assert any(group.loss is not None for group in groups) and all(group.loss_is_finite is not False for group in groups)
    assert sum(event.phase == "validate" for event in journal.of(PhaseBegan)) == 3
    seen = journal.of(SignalsSeen)[-1]
    assert {"steps", "loss", "input wait"} <= set(seen.seen)


@pytest.mark.torch
def test_a_slow_data_set_shows_in_the_wait_and_a_loss_that_is_not_finite_is_told(tmp_path: Path, own_home: Path) -> None:
    journal = watch(
        """
        optimizer.param_groups[0]["lr"] = 1e20
        for rows, targets in loader_of(Rows(seconds=0.005)):
            step(rows, targets)
            time.sleep(0.02)
        """,
        tmp_path,
        own_home,
        preamble=TORCH,
    )
    groups = [group for group in journal.of(StepsEnded) if group.phase == "train"]
    assert sum(group.wait_s or 0.0 for group in groups) > 1.0  # 16 rows of 5 ms for each of 20 batches
    assert any(group.loss_is_finite is False for group in groups)
    assert diagnose(journal).findings[0].cause == "learning_rate_too_high"


@pytest.mark.torch
def test_an_epoch_keeps_its_last_step_where_batches_are_fetched_one_ahead(tmp_path: Path, own_home: Path) -> None:
    """As the loaders of accelerate do, to know which batch is the last."""
    journal = watch(
        """
        def one_ahead(loader):
            batches = iter(loader)
            current = next(batches)
            for following in batches:
                yield current
                current = following
            yield current

        loader = loader_of(Rows())
        for _ in range(3):
            for rows, targets in one_ahead(loader):
                step(rows, targets)
        """,
        tmp_path,
        own_home,
        preamble=TORCH,
    )
    groups = [group for group in journal.of(StepsEnded) if group.phase == "train"]
    counts = [sum(group.last - group.first + 1 for group in groups if group.epoch == epoch) for epoch in range(3)]
    assert counts == [20, 20, 20] and len(groups) == sum(group.epoch < 3 for group in groups)


@pytest.mark.torch
@pytest.mark.parametrize(
    ("loop", "epochs"),
    [
        ("(next(batches) for batches in [iter(loader)] for _ in range(20))", {0, 1, 2}),  # by their number, as Lightning does
        ("(next(iter(loader)) for _ in range(20))", {0}),
    ],
    ids=["counted", "a new iterator for each step"],
)
def test_a_pass_is_told_from_a_new_iterator(loop: str, epochs: set[int], tmp_path: Path, own_home: Path) -> None:
    journal = watch(
        f"""
        loader = loader_of(Rows())
        for _ in range(3):
            for rows, targets in {loop}:
                step(rows, targets)
        """,
        tmp_path,
        own_home,
        preamble=TORCH,
    )
    groups = [group for group in journal.of(StepsEnded) if group.phase == "train"]
    assert sum(group.last - group.first + 1 for group in groups) == 60 and {group.epoch for group in groups} == epochs


@pytest.mark.torch
def test_a_program_that_only_predicts_has_no_steps(tmp_path: Path, own_home: Path) -> None:
    journal = watch(
        """
        with torch.no_grad():
            for rows, targets in loader_of(Rows()):
                model(rows)
        """,
        tmp_path,
        own_home,
        preamble=TORCH,
    )
    assert not journal.of(FitBegan) and not journal.of(StepsEnded)


@pytest.mark.torch
def test_two_optimizers_that_take_turns_make_one_step(tmp_path: Path, own_home: Path) -> None:
    journal = watch(
        """
        other = torch.nn.Linear(8, 1)
        second = torch.optim.SGD(other.parameters(), 0.01)
        for rows, targets in loader_of(Rows()):
            step(rows, targets)
            torch.nn.functional.mse_loss(other(rows), targets).backward()
            second.step()
        """,
        tmp_path,
        own_home,
        preamble=TORCH,
    )
    groups = [group for group in journal.of(StepsEnded) if group.phase == "train"]
    assert sum(group.last - group.first + 1 for group in groups) == 20


OWN_UPDATES = """
def own_step(rows, targets):
    loss = torch.nn.functional.mse_loss(model(rows), targets)
    loss.backward()  # MOVES
    for weight in model.parameters():
        weight.data.add_(weight.grad, alpha=-0.01)
        weight.grad = None
"""


@pytest.mark.torch
def test_steps_without_an_optimizer_of_pytorch(tmp_path: Path, own_home: Path) -> None:
    journal = watch(
        """
        for epoch in range(3):
            for rows, targets in loader_of(Rows()):
                own_step(rows, targets)
        """,
        tmp_path,
        own_home,
        preamble=TORCH + OWN_UPDATES,
    )
    (fit,) = journal.of(FitBegan)
    groups = [group for group in journal.of(StepsEnded) if group.phase == "train"]
    assert (fit.api, fit.where) == ("own_loop", line(tmp_path, "MOVES"))
    assert sum(group.last - group.first + 1 for group in groups) == 59  # the first shows nothing yet
    assert any(group.loss is not None for group in groups) and all(group.wait_s is not None for group in groups)


@pytest.mark.torch
def test_an_optimizer_that_calls_the_model_several_times_makes_one_step_each(tmp_path: Path, own_home: Path) -> None:
    """Weights change between two `backward` of LBFGS's closure, and the first step is seen to be no update of the program's own."""
    journal = watch(
        """
        lbfgs = torch.optim.LBFGS(model.parameters(), lr=0.1, max_iter=4)
        for epoch in range(2):
            for rows, targets in loader_of(Rows()):
                def closure():
                    lbfgs.zero_grad()
                    loss = torch.nn.functional.mse_loss(model(rows), targets)
                    loss.backward()
                    return loss
                lbfgs.step(closure)
        """,
        tmp_path,
        own_home,
        preamble=TORCH,
    )
    groups = [group for group in journal.of(StepsEnded) if group.phase == "train"]
    assert sum(group.last - group.first + 1 for group in groups) in (40, 41)
    assert not [each for each in journal.of(LoopSeen) if each.facts.get("kind") == "turns"]


@pytest.mark.torch
@pytest.mark.parametrize(
    ("loop", "steps"),
    [
        ("model(rows.requires_grad_()).sum().backward(); model.zero_grad()", 0),  # which inputs matter: nothing is trained
        ("rows = torch.nn.Parameter(rows); model(rows).sum().backward(); rows.data.add_(rows.grad.sign())", 0),  # an attack
        ("model(rows).sum().backward(); (optimizer.step(), model.zero_grad()) if number % 4 == 3 else None", 15),
    ],
    ids=["attribution", "attack", "accumulated gradients"],
)
def test_a_backward_that_moves_no_weight_is_no_step(loop: str, steps: int, tmp_path: Path, own_home: Path) -> None:
    journal = watch(
        f"""
        for epoch in range(3):
            for number, (rows, targets) in enumerate(loader_of(Rows())):
                {loop}
        """,
        tmp_path,
        own_home,
        preamble=TORCH,
    )
    groups = [group for group in journal.of(StepsEnded) if group.phase == "train"]
    assert sum(group.last - group.first + 1 for group in groups) == steps


@pytest.mark.torch
def test_a_data_set_of_nothing_over_which_a_sampler_stumbles(tmp_path: Path, own_home: Path) -> None:
    journal = watch(
        """
        class Sampler(torch.utils.data.Sampler):
            def __iter__(self):
                yield 100 % len(dataset)

        dataset = Rows(count=0)
        try:
            next(iter(torch.utils.data.DataLoader(dataset, sampler=Sampler())))
        except ZeroDivisionError:
            list(loader_of(Rows(count=0)))
        list(loader_of(Rows()))
        """,
        tmp_path,
        own_home,
        preamble=TORCH,
    )
    empty = [event.facts for event in journal.of(LoopSeen) if event.facts["kind"] == "empty"]
    assert [facts["raised"] for facts in empty] == [True, False]
