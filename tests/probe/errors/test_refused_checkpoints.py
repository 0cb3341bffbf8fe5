"""refused_checkpoints: the entry that torch.load refuses is read while the file is there; the error is passed on as it is."""

from __future__ import annotations

import linecache
import types
from pathlib import Path

import pytest

from unstall.journal.run_folder import RunFolder
from unstall.probe.core.probe import Probe
from unstall.probe.errors import refused_checkpoints

PROGRAM = (
    "import os\n"
    "def save(path, model, score):\n"
    "    torch.save({'model': model.state_dict(), 'score': score, 'kind': 'a'}, path)\n"
    "save(path, torch.nn.Linear(2, 2), best)\n"
    "try:\n"
    "    serialization.load(path)\n"
    "finally:\n"
    "    os.remove(path)\n"
)


@pytest.mark.parametrize("is_hooked", [True, False])
def test_the_entry_of_a_checkpoint_that_is_refused(tmp_path: Path, is_hooked: bool) -> None:
    probe = Probe(RunFolder(tmp_path))
    torch, numpy = pytest.importorskip("torch"), pytest.importorskip("numpy")
    serialization = types.ModuleType("serialization")
    serialization.load = torch.load  # type: ignore[attr-defined]
    if is_hooked:
        refused_checkpoints.install(serialization, probe)
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    linecache.checkcache()
    names = {"torch": torch, "serialization": serialization, "path": str(tmp_path / "a.pt"), "best": numpy.float64(0.5)}
    with pytest.raises(Exception, match="Weights only load failed") as caught:
        exec(compile(PROGRAM, str(path), "exec"), {"__name__": "program", **names})
    (row,) = refused_checkpoints.find_entry(probe, caught.value, caught.value.__traceback__)
    assert row["where"] == f"{path}:3"
    assert (row["what"], row.get("name"), row.get("names")) == (
        ("entry", "score", None) if is_hooked else ("saved", None, ["score"])
    )


def test_nothing_is_kept_of_a_file_that_is_read_or_not_there(tmp_path: Path) -> None:
    probe = Probe(RunFolder(tmp_path))
    torch = pytest.importorskip("torch")
    serialization = types.ModuleType("serialization")
    serialization.load = torch.load  # type: ignore[attr-defined]
    refused_checkpoints.install(serialization, probe)
    torch.save({"a": 1}, tmp_path / "a.pt")
    assert serialization.load(tmp_path / "a.pt") == {"a": 1}  # type: ignore[attr-defined]
    with pytest.raises(FileNotFoundError) as caught:
        serialization.load(tmp_path / "b.pt")  # type: ignore[attr-defined]
    assert refused_checkpoints.find_entry(probe, caught.value, caught.value.__traceback__) == []
