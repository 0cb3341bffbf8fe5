"""unseen_lines: the lines that an error is about and that no frame of its traceback shows."""

from __future__ import annotations

import linecache
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from unstall.probe.errors.unseen_lines import find_lines


def end(folder: Path, program: str, library: str = "", **names: Any) -> list[dict[str, Any]]:
    """What is found when a program ends with an error; `library` is code that is not the program's own."""
    library_path = folder / "site-packages" / "library.py"
    library_path.parent.mkdir()
    library_path.write_text(library)
    path = folder / "program.py"
    path.write_text(program)
    linecache.checkcache()
    space: dict[str, Any] = {"__name__": "program", **names}
    exec(compile(library, str(library_path), "exec"), space)
    try:
        exec(compile(program, str(path), "exec"), space)
    except Exception as error:  # whatever the program ends with
        return find_lines(error, error.__traceback__, time.monotonic() + 30)
    raise AssertionError("The program should have failed.")


CALLBACKS = (
    "class Callback:\n"
    "    def __init__(self, on_begin, on_end):\n"
    "        self.on_begin = on_begin\n"
    "        self.on_end = on_end\n"
    "class Callbacks:\n"
    "    def __init__(self, *callbacks):\n"
    "        self.callbacks = list(callbacks)\n"
    "    def run(self, epoch, logs):\n"
    "        for callback in self.callbacks:\n"
    "            callback.on_end(epoch, logs)\n"
)


def test_a_function_that_is_called_wrongly_is_found_by_the_name_of_the_call(tmp_path: Path) -> None:
    program = "callback = Callback(\n    on_begin=lambda logs: None,\n    on_end=lambda logs: None,\n)\nCallbacks(callback).run(1, {})\n"
    (row,) = end(tmp_path, program, CALLBACKS)
    assert (row["what"], row["name"], row["takes"]) == ("called", "on_end", ["logs"])
    assert row["where"] == f"{tmp_path / 'program.py'}:3"
    assert row["call"] == "callback.on_end(epoch, logs)"


def test_a_function_that_the_program_calls_itself_is_not_looked_for(tmp_path: Path) -> None:
    assert end(tmp_path, "def area(width): return width\narea(1, 2)\n", CALLBACKS) == []


def test_two_functions_that_fit_are_told_of_neither(tmp_path: Path) -> None:
    program = (
        "make = [Callback(None, lambda logs: None),\n        Callback(None, lambda logs: None)]\nCallbacks(*make).run(1, {})\n"
    )
    assert end(tmp_path, program, CALLBACKS) == []


RESTORED = (
    "class Layer:\n"
    "    @classmethod\n"
    "    def from_config(cls, config):\n"
    "        try:\n"
    "            return cls(**config)\n"
    "        except Exception as error:\n"
    "            raise TypeError(f'could not be deserialized properly. Exception encountered: {error}')\n"
    "    def get_config(self):\n"
    "        return {}\n"
)


@pytest.mark.skipif(sys.version_info < (3, 10), reason="Python names the class in the message since 3.10")
@pytest.mark.parametrize("has_own", [True, False])
def test_a_class_that_leaves_an_argument_out_of_its_configuration(tmp_path: Path, has_own: bool) -> None:
    method = "    def get_config(self):\n        config = super().get_config()\n        return config\n" if has_own else ""
    program = f"class Pool(Layer):\n    def __init__(self, heat):\n        self.heat = heat\n{method}Pool.from_config({{}})\n"
    (row,) = end(tmp_path, program, RESTORED)
    assert (row["what"], row["name"], row["missing"], row["has_own"]) == ("configuration", "Pool", ["heat"], has_own)
    assert row["where"] == f"{tmp_path / 'program.py'}:{4 if has_own else 2}"
    assert [line["source"] for line in row["lines"]] == (["config = super().get_config()"] if has_own else [])


LOADER = (
    "import torch\n"
    "from torch.utils.data import DataLoader, Dataset, Subset\n"
    "class Pictures(Dataset):\n"
    "    def __len__(self):\n"
    "        return 4\n"
    "    def __getitem__(self, at):\n"
    "        image = torch.zeros(3 + at % 2, 2)\n"
    "        return image, at\n"
)


@pytest.mark.parametrize("given", ["Pictures()", "Subset(Pictures(), [0, 1])"])
def test_what_makes_the_elements_of_a_loader(tmp_path: Path, given: str) -> None:
    pytest.importorskip("torch")
    (row,) = end(tmp_path, f"{LOADER}loader = DataLoader({given}, batch_size=2)\nfor image, at in loader: pass\n")
    assert (row["what"], row["name"]) == ("elements", "Pictures.__getitem__")
    assert [[line["source"] for line in part] for part in row["parts"]] == [
        ["image = torch.zeros(3 + at % 2, 2)"],
        [],  # an argument is made nowhere in it
    ]


def test_lists_that_keep_shared_tensors_are_told_with_the_line_that_fills_them(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    program = (
        "import torch, torch.multiprocessing\n"
        "def main():\n"
        "    kept, own = [], []\n"
        "    for _ in range(10):\n"
        "        kept.append(torch.zeros(2).share_memory_())\n"
        "        own.append(torch.zeros(2))\n"
        "    raise OSError('[Errno 24] Too many open files')\n"
        "main()\n"
    )
    limit, *others = end(tmp_path, program)
    assert limit["what"] == "limit"
    assert limit["value"] > 0
    (row,) = (row for row in others if row["what"] == "kept")  # files of this process may be open, too
    assert (row["name"], row["count"], row["where"]) == ("kept", 10, f"{tmp_path / 'program.py'}:5")


class FakeBuffer:
    """As an array of JAX says of itself that it is deleted; jaxlib is none of what these tests may load."""

    def __init__(self, gone: bool) -> None:
        self.gone = gone

    def is_deleted(self) -> bool:
        return self.gone


FakeBuffer.__module__ = "jaxlib._jax"


def test_deleted_arrays_are_named_once_with_the_lines_that_donate(tmp_path: Path) -> None:
    program = (
        "class Trainer:\n"
        "    def __init__(self):\n"
        "        self.params = {'b': kept, 'w': gone}\n"
        "    def step(self):\n"
        "        raise RuntimeError('Array has been deleted with shape=float32[2].')\n"
        "compiled = dict(donate_argnums=(0,))\n"
        "trainer = Trainer()\n"
        "trainer.step()\n"
    )
    rows = end(tmp_path, program, kept=FakeBuffer(False), gone=FakeBuffer(True))
    assert [row["name"] for row in rows if row["what"] == "deleted"] == ["self.params['w']"]
    assert f"{tmp_path / 'program.py'}:6" in [row.get("where") for row in rows if row["what"] == "donates"]


def test_a_file_of_the_programs_that_hides_a_library_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "shelve.py"
    own.write_text("KEPT = []\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "shelve", raising=False)
    (row,) = end(tmp_path, "from shelve import Shelf\n")
    monkeypatch.delitem(sys.modules, "shelve", raising=False)
    assert (row["what"], row["name"], row["where"]) == ("shadowing", "shelve", f"{own}:1")


def test_a_file_of_the_programs_that_hides_nothing_is_its_own_affair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "models_of_mine.py").write_text("KEPT = []\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert end(tmp_path, "from models_of_mine import Net\n") == []


def test_names_like_the_one_that_a_library_lacks(tmp_path: Path) -> None:
    (row,) = end(tmp_path, "import json\njson.loadz('1')\n")
    assert (row["what"], row["name"], row["module"]) == ("lacking", "loadz", "json")
    assert set(row["close"]) >= {"loads", "load"}


class Tracer:
    """What JAX's own class is called and where it lies is all that is read of it."""


Tracer.__module__ = "jax._src.core"


def test_values_that_a_traced_function_keeps_are_told_with_the_lines_that_store_them(tmp_path: Path) -> None:
    program = (
        "kept = []\n"
        "class Norm:\n"
        "    def __init__(self):\n"
        "        self.mean = 0\n"
        "    def __call__(self, x):\n"
        "        self.mean = x\n"
        "        kept.append(x)\n"
        "    def read(self):\n"
        "        raise UnexpectedTracerError('Encountered an unexpected tracer.')\n"
        "norm = Norm()\n"
        "norm(Tracer())\n"
        "norm.read()\n"
    )
    rows = end(tmp_path, program, Tracer=Tracer, UnexpectedTracerError=type("UnexpectedTracerError", (Exception,), {}))
    assert [(row["what"], row["name"], row["where"].rpartition(":")[2]) for row in rows] == [
        ("stored", "self.mean", "6"),
        ("stored", "kept", "7"),
    ]


MANY = 200  # more than this process has open of any kind


def test_the_limit_of_open_files_is_told_with_the_line_that_sets_it_and_what_is_open(tmp_path: Path) -> None:
    for number in range(MANY):
        (tmp_path / f"{number}.jpg").touch()
    program = (
        "import resource\n"
        "def main():\n"
        "    files = [open(path) for path in paths]\n"
        "    raise OSError('[Errno 24] Too many open files')\n"
        "main()\n"
    )
    limit, files = end(tmp_path, program, paths=[str(tmp_path / f"{number}.jpg") for number in range(MANY)])
    assert limit["value"] > 0
    assert (files["what"], files["name"], files["count"]) == ("files", ".jpg", MANY)


def test_the_limit_of_a_files_size_with_the_line_that_sets_it_and_the_list_that_grows(tmp_path: Path) -> None:
    program = (
        "import resource\n"
        "class Recorder:\n"
        "    def __init__(self):\n"
        "        self.seen, self.other = [], []\n"
        "    def add(self, row):\n"
        "        self.seen.append(row)\n"
        "    def write(self):\n"
        "        save(self.seen)\n"
        "def save(rows):\n"
        "    raise OSError('[Errno 27] File too large')\n"
        "recorder = Recorder()\n"
        "recorder.add(1); recorder.add(2)\n"
        "before = resource.getrlimit(resource.RLIMIT_FSIZE)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 40, before[1]))\n"
        "try:\n"
        "    recorder.write()\n"
        "except OSError as error:\n"
        "    seen = find_lines(error, error.__traceback__, float('inf'))\n"
        "finally:\n"
        "    resource.setrlimit(resource.RLIMIT_FSIZE, before)\n"
        "raise Told(seen)\n"
    )
    ended = type("Told", (Exception,), {})
    path = tmp_path / "program.py"
    path.write_text(program)
    linecache.checkcache()
    with pytest.raises(ended) as caught:
        exec(compile(program, str(path), "exec"), {"__name__": "program", "find_lines": find_lines, "Told": ended})
    limit, grown = caught.value.args[0]
    assert (limit["name"], limit["value"]) == ("file size", 1 << 40)
    assert (grown["what"], grown["name"], grown["count"], grown["where"]) == ("grown", "self.seen", 2, f"{path}:6")
