"""The law for the data side: TensorFlow is named in one file, and loaded only when its engine is asked for."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import unstall

DATA = Path(unstall.__file__).parent / "data"
BACKENDS = {"tensorflow", "keras", "tf_keras", "jax", "torch"}
# tf.data is TensorFlow: an engine of it cannot be had without naming it.
ALLOWED = {"pipeline/tfdata_engine.py": {"tensorflow"}}


def test_only_the_engine_of_tf_data_names_a_backend() -> None:
    for path in DATA.rglob("*.py"):
        named = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            named |= {name.partition(".")[0] for name in names} & BACKENDS
        assert named == ALLOWED.get(str(path.relative_to(DATA)), set()), path


def test_the_pipeline_loads_no_backend() -> None:
    code = "import unstall.data.pipeline, unstall.data.pipeline.tfdata_engine, sys; print(sorted({!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code.format(BACKENDS)], capture_output=True, text=True, check=True, timeout=240)
    assert done.stdout == "[]\n"


def test_a_missing_decoder_is_named_with_the_command_that_installs_it() -> None:
    code = "import sys; sys.modules['simplejpeg'] = None\ntry:\n import unstall.data.pipeline\nexcept Exception as error: print(error)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=240)
    assert done.stdout == "The pipeline needs the package simplejpeg. Install it: pip install 'unstall[data]'\n"
