"""Errors of the program pass through our hooks, and must print as they would alone: without a frame of ours.

Alone in its file, and with nothing to load: `trigger` is in every process, and needs it before anything else of Unstall.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Any, Optional, TypeVar

    Function = TypeVar("Function", bound=Callable[..., Any])

OWN = __file__.rsplit("/probe/", 1)[0] + "/"
_PROBE = (OWN + "probe/", OWN + "journal/", OWN + "base/")  # what runs on our account; a training of ours is a program
_TRACEBACK: Any = BaseException.__dict__["__traceback__"]  # itself, whatever a class of the program's makes of the name


def hide_own_frames(hook: Function) -> Function:
    """The same, but an error that passes through it shows no frame of ours: the program may catch and print it.

    Nothing is caught here. Since Python 3.11 an error goes on with the traceback that it has by then; in an older one the frames
    stay where the program catches an error itself.
    """

    def call(*args: Any, **kwargs: Any) -> Any:
        has_failed = True
        try:
            result = hook(*args, **kwargs)
            has_failed = False
            return result
        finally:
            if has_failed:
                try:
                    hide_ours(sys.exc_info()[1])
                except RecursionError:  # the program is at the end of its stack: its error goes on as it is
                    pass

    return call  # type: ignore[return-value]


def hide_ours(error: Optional[BaseException]) -> None:
    """Of the traceback that the error has by now."""
    if error is not None:
        _TRACEBACK.__set__(error, remove_own_frames(_TRACEBACK.__get__(error)))


def remove_own_frames(traceback: Optional[TracebackType]) -> Optional[TracebackType]:
    """The same traceback without our frames, which are unlinked where they stand."""
    first = _next_not_ours(traceback)
    part = first
    while part is not None:
        following = _next_not_ours(part.tb_next)
        if following is not part.tb_next:
            part.tb_next = following
        part = following
    return first


def _next_not_ours(traceback: Optional[TracebackType]) -> Optional[TracebackType]:
    while traceback is not None and traceback.tb_frame.f_code.co_filename.startswith(_PROBE):
        traceback = traceback.tb_next
    return traceback
