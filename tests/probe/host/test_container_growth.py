"""holdings: the program's own containers that grow, with the line that feeds each; and nothing is changed by the look."""

from __future__ import annotations

import gc
import sys
import weakref
from collections import deque
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from unstall.journal.events import Event, HoldingsCounted
from unstall.journal.run_folder import RunFolder
from unstall.probe.core.probe import Probe
from unstall.probe.host import container_growth
from unstall.probe.host.container_growth import ContainerGrowth, find_feeder
from unstall.probe.host.containers import Place, find_containers, find_newest

HERE = __file__
KEPT_GLOBALLY: dict[int, bytes] = {}


class Recorder:
    """As a callback of the user's would be."""

    def __init__(self) -> None:
        self.history: list[bytes] = []

    def record(self) -> None:
        self.history.append(bytes(1_000))


@cache
def decoded(index: int) -> bytes:
    return bytes(2_000 + index)


class Counted:
    """A Holdings whose memory has always grown and whose next look is always due."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.events: list[Event] = []
        probe = Probe(RunFolder(folder))
        monkeypatch.setattr(probe, "emit", self.events.append)
        self.memory = 0
        monkeypatch.setattr(container_growth, "measure_own_bytes", lambda: self.memory)
        # A count looks at all objects of the process: after thousands of tests beside other work, for longer than a program's may take.
        monkeypatch.setattr(container_growth, "COST_ALLOWANCE_S", 60.0)
        self.holdings = ContainerGrowth(probe)
        assert self.look() is None, "the first look notes how large the program is, and counts nothing"

    def look(self, grown_bytes: int = 64 << 20) -> HoldingsCounted | None:
        count = len(self.events)
        self.memory += grown_bytes
        self.holdings._due = 1e-9
        self.holdings.step_ended()
        return self.events[-1] if len(self.events) > count else None  # type: ignore[return-value]


@pytest.fixture
def counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Counted:
    return Counted(tmp_path, monkeypatch)


def holder(count: HoldingsCounted | None, name: str) -> dict[str, Any]:
    assert count is not None
    return next(each for each in count.holders if each["name"] == name)


def line_of(text: str) -> str:
    lines = Path(HERE).read_text().splitlines()
    return f"{HERE}:{next(number for number, line in enumerate(lines, 1) if text in line)}"


def test_an_attribute_that_grows_is_told_with_its_line(counted: Counted) -> None:
    recorder = Recorder()
    counted.look()
    for _ in range(3):
        for _ in range(10):
            recorder.record()
        count = counted.look()
    kept = holder(count, "self.history")
    assert (kept["kind"], kept["grown"], kept["looks"], kept["sheds"]) == ("list", 30, 3, False)
    assert kept["where"] == line_of("self.history.append(bytes(1_000))")
    assert 1_000 <= kept["bytes_each"] < 1_200


def train(counted: Counted) -> HoldingsCounted | None:
    """A function of its own: pytest's assertions ask for locals(), and such a frame is left alone."""
    losses: list[bytes] = []
    numbers: list[int] = []
    count = counted.look()
    for _ in range(2):
        losses.extend(bytes(5_000) for _ in range(10))  # FEEDS LOSSES
        numbers.append(1)
        count = counted.look()
    return count


def test_a_local_of_a_running_function_is_told_by_its_name(counted: Counted) -> None:
    assert holder(train(counted), "losses")["where"] == line_of("# FEEDS LOSSES")


def test_a_global_dict_and_an_endless_cache_are_told(counted: Counted) -> None:
    counted.look()
    for index in range(20):
        KEPT_GLOBALLY[index] = bytes(3_000)  # FEEDS THE GLOBAL
        decoded(index)
    count = counted.look()
    assert holder(count, "KEPT_GLOBALLY")["where"] == line_of("# FEEDS THE GLOBAL")
    assert holder(count, "the cache of decoded")["grown"] == 20
    KEPT_GLOBALLY.clear()
    decoded.cache_clear()


def make_logger() -> Callable[[], None]:
    seen: list[bytes] = []

    def log() -> None:
        seen.append(bytes(4_000))  # FEEDS THE CLOSURE

    return log


def test_a_closure_is_told(counted: Counted) -> None:
    log = make_logger()
    counted.look()
    for _ in range(10):
        log()
    kept = holder(counted.look(), "seen")
    assert (kept["where"], kept["sheds"]) == (line_of("# FEEDS THE CLOSURE"), False)


def test_a_container_that_shrinks_begins_anew(counted: Counted) -> None:
    recorder = Recorder()
    counted.look()
    for _ in range(10):
        recorder.record()
    counted.look()
    recorder.history.clear()
    count = counted.look()
    assert count is not None and not [each for each in count.holders if each["name"] == "self.history"]


def test_nothing_is_counted_while_memory_stands_still(counted: Counted) -> None:
    assert counted.look() is not None
    assert counted.look(grown_bytes=1_000) is None


def test_a_look_keeps_no_local_alive(counted: Counted) -> None:
    class Batch:
        pass

    def step() -> weakref.ref[Batch]:
        batch = Batch()
        counted.look()
        gone = weakref.ref(batch)
        del batch
        return gone if gone() is None else pytest.fail("the look kept a local of a running function")

    assert step()() is None


def test_a_look_runs_no_code_of_the_program(counted: Counted) -> None:
    class Trap:
        armed = True

        def __getattr__(self, name: str) -> Any:
            raise AssertionError(name)

        def __len__(self) -> int:
            raise AssertionError("len")

    traps = [Trap() for _ in range(3)]
    counted.look()
    traps += [Trap() for _ in range(9)]
    assert holder(counted.look(), "traps")["holds"] == "Trap"


def test_generators_at_rest_are_looked_into() -> None:
    def batches() -> Any:
        kept = []
        while True:
            kept.append(1)
            yield kept

    resting = batches()
    next(resting)
    assert any(place.name == "kept" for place, _ in find_containers())


def test_no_look_at_frames_under_a_debugger(monkeypatch: pytest.MonkeyPatch) -> None:
    local_list = [1]
    monkeypatch.setattr(sys, "gettrace", lambda: print)
    gc.collect()
    assert not any(
        value is local_list for place, value in find_containers() if place.scope == "local" and place.name == "local_list"
    )


@pytest.mark.parametrize(
    ("source", "sheds"),
    [
        ("x = []\nfor i in range(9):\n    x.append(i)\n", False),
        ("for epoch in range(2):\n    x = []\n    for i in range(9):\n        x.append(i)\n", True),
        ("x = []\nfor i in range(9):\n    x.append(i)\n    if len(x) > 3:\n        x.clear()\n", True),
        ("x = []\nfor i in range(9):\n    x.append(i)\n    del x[0]\n", True),
        ("x = []\nfor i in range(9):\n    x += [i]\n", False),
    ],
)
def test_what_makes_a_local_smaller_is_seen_in_the_source(tmp_path: Path, source: str, sheds: bool) -> None:
    file = tmp_path / "train.py"
    file.write_text("def main():\n" + "".join(f"    {line}\n" for line in source.splitlines()))
    found = find_feeder(Place("x", str(file), "local", "main", 1))
    assert found.sheds is sheds
    assert found.where is not None and found.where.startswith(f"{file}:")


def test_an_attribute_that_is_made_anew_each_epoch_sheds(tmp_path: Path) -> None:
    file = tmp_path / "callback.py"
    file.write_text(
        "class C:\n    def __init__(self):\n        self.x = []\n    def on_epoch_begin(self):\n        self.x = []\n"
        "    def on_batch_end(self):\n        self.x.append(1)\n"
    )
    found = find_feeder(Place("self.x", str(file), "attribute", "C"))
    assert (found.sheds, found.where) == (True, f"{file}:7")


@pytest.mark.parametrize(("guard", "bounded"), [("if len(self.memory) < self.capacity", True), ("if state is not None", False)])
def test_a_buffer_with_a_capacity_is_known_by_its_guard(tmp_path: Path, guard: str, bounded: bool) -> None:
    file = tmp_path / "replay.py"
    file.write_text(
        "class Replay:\n    def push(self, state):\n"
        f"        {guard}:\n            self.memory.append(state)\n        else:\n            self.memory[self.at] = state\n"
    )
    assert find_feeder(Place("self.memory", str(file), "attribute", "Replay")).bounded is bounded


def test_sizes_of_what_is_kept() -> None:
    numpy = pytest.importorskip("numpy")
    assert find_newest([numpy.zeros(1_000)], 1) == ("ndarray", 8_000)
    assert find_newest([numpy.zeros(1_000)[:2]], 1) == ("ndarray", 8_000)  # a view keeps the whole
    name, size = find_newest(deque([(0.5, numpy.zeros(1_000))] * 5), 5)
    assert name == "ndarray" and size is not None and 8_000 <= size < 8_500
    assert find_newest({"a": 1.5}, 1) == ("float", 24)


@pytest.mark.torch
def test_the_graph_of_a_tensor_is_seen() -> None:
    torch = pytest.importorskip("torch")
    weight = torch.ones(3, requires_grad=True)
    assert find_newest([(weight * 2).sum()], 1) == ("Tensor with its graph", None)
    assert find_newest([torch.ones(256)], 1) == ("Tensor", 1_024)
