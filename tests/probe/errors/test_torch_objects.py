"""torch_objects: the line that changed a tensor in place, the groups of an optimizer, and the build of PyTorch."""

from __future__ import annotations

import linecache
from pathlib import Path
from typing import Any

import pytest

from unstall.probe.errors.torch_objects import find_objects


def end(folder: Path, program: str) -> list[dict[str, Any]]:
    torch = pytest.importorskip("torch")
    path = folder / "program.py"
    path.write_text(program)
    linecache.checkcache()
    try:
        exec(compile(program, str(path), "exec"), {"__name__": "program", "torch": torch})
    except Exception as error:  # whatever the program ends with
        return find_objects(error, error.__traceback__)
    raise AssertionError("The program should have failed.")


def change(layer: str, made: str, changed: str) -> str:
    return (
        "class Net(torch.nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        f"        self.first, self.act = torch.nn.Linear(3, 3), {layer}\n"
        "    def forward(self, x):\n"
        "        count = 0\n"
        "        count += 1\n"
        f"        y = {made}\n"
        f"        {changed}\n"
        "        return (y * x).sum()\n"
        "net = torch.nn.Sequential(Net())\n"
        "net(torch.rand(2, 3)).backward()\n"
    )


@pytest.mark.parametrize(
    ("layer", "made", "changed", "operator"),
    [
        ("None", "torch.softmax(self.first(x), -1)", "y *= x", "*"),
        ("torch.nn.Sigmoid()", "self.act(self.first(x))", "y[0] = 0", ""),
        ("torch.nn.Tanh()", "self.act(self.first(x))", "y.mul_(x)", ""),
    ],
)
def test_the_line_that_changes_what_the_operation_gave(
    tmp_path: Path, layer: str, made: str, changed: str, operator: str
) -> None:
    (row,) = end(tmp_path, change(layer, made, changed))
    assert (row["what"], row["name"], row["operator"]) == ("in place", "y", operator)
    assert row["where"] == f"{tmp_path / 'program.py'}:9"
    assert row["source"] == [f"        {changed}"]


def test_a_change_of_something_else_is_not_told(tmp_path: Path) -> None:
    program = change("torch.nn.Sigmoid()", "self.act(self.first(x))", "z = y; z *= x")
    assert end(tmp_path, program) == []


def test_the_groups_of_an_optimizer_and_of_its_saved_state(tmp_path: Path) -> None:
    program = (
        "net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2))\n"
        "state = torch.optim.SGD(net.parameters(), 0.1).state_dict()\n"
        "torch.optim.SGD(net[0].parameters(), 0.1).load_state_dict(state)\n"
    )
    (row,) = end(tmp_path, program)
    assert row == {"what": "groups", "name": "SGD", "own": [2], "saved": [4]}


def test_the_build_of_pytorch_and_where_the_device_is_written(tmp_path: Path) -> None:
    program = (
        "SETTINGS = {'device': 'cuda:0'}\n"
        "def move(device):\n"
        "    raise AssertionError('Torch not compiled with CUDA enabled')\n"
        "move(\n"
        "    SETTINGS['device'])\n"
    )
    assert [row["what"] for row in end(tmp_path, program)] == ["build"]  # the line that raised it names no key
    inner = program.replace("    raise", "    SETTINGS['device']; raise")
    build, device = end(tmp_path, inner)
    assert (build["version"], device["where"]) == (pytest.importorskip("torch").__version__, f"{tmp_path / 'program.py'}:1")


def test_nothing_is_looked_at_for_another_error(tmp_path: Path) -> None:
    assert end(tmp_path, "x = torch.rand(2)\nx += 1\nraise ValueError('no')\n") == []
