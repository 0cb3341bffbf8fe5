"""Images that OpenCV could not read: `cv2.imread` gives None and no error, and the program fails later, or not at all."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

from unstall.journal.events import ImageNotRead
from unstall.probe.core.patches import wrap
from unstall.probe.core.probe import Probe
from unstall.probe.core.user_code import user_place

MAX_EVENTS = 50


def install(module: ModuleType, probe: Probe) -> None:
    """cv2"""
    told = 0

    def record(path: Any) -> None:
        nonlocal told
        told += 1
        if told <= MAX_EVENTS and isinstance(path, (str, os.PathLike)):
            name = os.fspath(path)
            probe.emit(ImageNotRead(at=time.time(), path=str(name)[:500], exists=os.path.exists(name), where=user_place()))

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def imread(*args: Any, **kwargs: Any) -> Any:
            image = original(*args, **kwargs)
            if image is None and probe.active:
                probe.shield.call("images", record, args[0] if args else kwargs.get("filename"))
            return image

        return imread

    wrap(module, "imread", make)
