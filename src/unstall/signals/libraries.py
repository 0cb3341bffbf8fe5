"""Which frameworks a process has loaded: by the files mapped into its memory, without its help."""

from __future__ import annotations

import re
import time
from pathlib import Path

from unstall.journal.events import LibrariesSeen

_NAMES = {
    "tensorflow": re.compile(r"/(libtensorflow|_pywrap_tensorflow|tensorflow/python/)"),
    "jax": re.compile(r"/jaxlib/"),
    "torch": re.compile(r"/libtorch(_cpu|_python|_cuda)?\.so"),
}


def sample(pid: int) -> LibrariesSeen | None:
    """None where it may not be read, or the process is gone."""
    try:
        maps = Path(f"/proc/{pid}/maps").read_text(errors="replace")
    except OSError:
        return None
    return LibrariesSeen(at=time.time(), pid=pid, names=[name for name, pattern in _NAMES.items() if pattern.search(maps)])
