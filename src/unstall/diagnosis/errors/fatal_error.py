"""The error that ended a program: its texts, and the user's own line in it."""

from __future__ import annotations

import re

from unstall.base.formatting import format_count
from unstall.diagnosis.errors.error_messages import ErrorText, find_innermost, find_named_places
from unstall.diagnosis.pipelines import shorten_stage
from unstall.diagnosis.probe_facts import find_missing_probe
from unstall.diagnosis.verdict import Certainty, Evidence, Found, Unknown
from unstall.journal.events import (
    ErrorRaised,
    ExitCalled,
    Frame,
    FrameworkLoaded,
    ImageNotRead,
    PatternMatchedNothing,
    ProcessEnded,
    StepsEnded,
)
from unstall.journal.reader import Journal
from unstall.journal.stack_frames import find_program_folder, format_place, format_where, is_user_file, select_trainer_frames

JUST_BEFORE_S = 5.0
MAX_LETTERS = 240  # of a line of an error
_KIND = re.compile(r"[\w.]*(?:Error|Exception|BadZipFile)")
OF_CONTROL = ("KeyboardInterrupt", "SystemExit", "StopIteration", "StopAsyncIteration", "GeneratorExit")  # no errors of a program
_OF_NOTHING = ("NoneType", ".empty()")  # Python's words, and OpenCV's


def find_fatal_error(journal: Journal) -> ErrorRaised | None:
    """The error that reached the top, or the one that the program was handling when it ended itself with an exit code. Any other
    that the program caught is its own affair."""
    ended = journal.last(ProcessEnded)
    if ended is not None and ended.exit_code == 0:
        return None
    error = next((error for error in reversed(journal.of(ErrorRaised)) if error.fatal), None)
    return error if error is not None else _handled_at_exit(journal)


def find_own_exit(journal: Journal) -> ExitCalled | None:
    """That the program ended itself, with an exit code that says that something is wrong."""
    ended, exited = journal.last(ProcessEnded), journal.last(ExitCalled)
    if ended is None or exited is None or not ended.exit_code or exited.exit_code != ended.exit_code:
        return None
    if any(error.fatal and error.at > exited.at for error in journal.of(ErrorRaised)):
        return None  # it went on after that, and ended with an error
    return exited


def _handled_at_exit(journal: Journal) -> ErrorRaised | None:
    """An error of a class of the program's own is how the program speaks to itself: its end was meant."""
    exited = find_own_exit(journal)
    if exited is None or exited.error_at is None:
        return None
    handled = next((error for error in journal.of(ErrorRaised) if error.caught and error.at == exited.error_at), None)
    return None if handled is None or handled.own_class or handled.kind in OF_CONTROL else handled


def find_unseen_end(journal: Journal) -> Unknown | None:
    """For a program that failed with nothing inside it to see why."""
    ended = journal.last(ProcessEnded)
    if ended is None or not ended.exit_code:
        return None
    if journal.first(FrameworkLoaded) is not None or journal.first(ErrorRaised) is not None:
        return None
    return find_missing_probe(journal)


def format_texts(error: ErrorRaised) -> list[str]:
    """The error and those that led to it, each as 'kind: message', the last first."""
    return [f"{error.kind}: {error.message}", *error.chain]


_SHARED_MEMORY = re.compile(r"shared memory|/dev/shm/|<?/torch_\d+")
_SEMAPHORES = ("multiprocessing/synchronize.py", "multiprocessing/shared_memory.py")


def is_of_shared_memory(error: ErrorRaised) -> bool:
    """Whether what had no room was the memory that processes share: by what the error says, or by what raised it."""
    innermost_file = error.frames[0]["file"] if error.frames else ""
    return any(_SHARED_MEMORY.search(text) for text in format_texts(error)) or innermost_file.endswith(_SEMAPHORES)


def get_error_text(error: ErrorRaised) -> ErrorText:
    """What went wrong, in its innermost sentence; the whole text is in the journal."""
    return find_innermost(error.kind, error.message)


def find_user_line(error: ErrorRaised, folder: str) -> str | None:
    """The innermost line of the user's own: of a traceback that the message quotes (a generator in tf.data, a worker process of a
    DataLoader, a function of a graph), which ran below the lines of the error's own; else of that. Where no line is the user's
    own, that of an installed trainer."""
    named = [(add_root(file, folder), line) for file, line in find_named_places(error.message)]
    quoted = [found for found in named if is_user_file(found[0])]
    if quoted:
        return format_place(*quoted[-1], folder)
    own = [frame for frame in error.frames if is_user_file(frame["file"])]
    quoted_frames: list[Frame] = [{"function": "", "file": file, "line": line, "module": ""} for file, line in reversed(named)]
    frames = own or select_trainer_frames(quoted_frames) or select_trainer_frames(error.frames)
    return format_where(frames[0], folder) if frames else None


def add_root(file: str, folder: str) -> str:
    """XLA writes the whole path of a file without the slash that it begins with."""
    return f"/{file}" if folder and f"/{file}".startswith(f"{folder.rstrip('/')}/") else file


def count_steps_by_then(journal: Journal, error: ErrorRaised) -> int | None:
    """How many training steps had ended when the error came; None where steps are not seen, as in most loops of one's own."""
    groups = [group for group in journal.of(StepsEnded) if group.phase == "train"]
    if groups:
        return max(error.step, groups[-1].last + 1)
    return error.step if error.step >= 0 else None


def describe_steps(made: int | None) -> str:
    """' 10 steps had ended by then.', with a blank before it; empty where steps are not seen."""
    return (
        "" if made is None else " No step had ended by then." if not made else f" {format_count(made, 'step')} had ended by then."
    )


def find_unread_image(journal: Journal, error: ErrorRaised) -> ImageNotRead | None:
    """The image that OpenCV gave None for just before, where the error is one of something that is None or empty."""
    if not any(sign in text for text in format_texts(error) for sign in _OF_NOTHING):
        return None
    before = [image for image in journal.of(ImageNotRead) if 0 <= error.at - image.at < JUST_BEFORE_S]
    return before[-1] if before else None


def find_unmatched_pattern(journal: Journal, error: ErrorRaised) -> list[str]:
    """The file patterns that matched nothing shortly before the error, the last first."""
    before = [event for event in journal.of(PatternMatchedNothing) if 0 <= error.at - event.at < JUST_BEFORE_S]
    return [event.pattern for event in reversed(before) if event.pattern]


def explain_unread_image(
    journal: Journal, error: ErrorRaised, image: ImageNotRead, summary: str, why: str, do: tuple[str, ...]
) -> Found:
    """The error came where the image is used; what is wrong is where it is read. A program that has got over such images before
    may have got over this one too, and ended on something else."""
    folder = find_program_folder(journal)
    return Found(
        certainty=Certainty.CERTAIN if len(journal.of(ImageNotRead)) == 1 else Certainty.LIKELY,
        summary=summary,
        evidence=(
            Evidence(f"cv2.imread gave None for {image.path}{why}", image.path, None, (image,)),
            Evidence(f"the error that ended it: {get_error_text(error).line}", None, None, (error,)),
        ),
        actions=do,
        where=shorten_stage(image.where, folder) or find_user_line(error, folder),
    )


def read_line_of(text: str, match: re.Match[str]) -> str:
    """The line of a text in which something was found, without what the framework puts around."""
    line = text[: match.end()].rpartition("\n")[2] + text[match.end() :].partition("\n")[0]
    kind, colon, message = line.strip().partition(": ")
    is_kind = bool(colon) and _KIND.fullmatch(kind) is not None
    return (find_innermost(kind, message).line if is_kind else find_innermost("", line.strip()).message)[:MAX_LETTERS]


def find_relevant_line(error: ErrorRaised, pattern: re.Pattern[str]) -> str:
    """The innermost sentence of an error where that says what is looked for; else the line of its message that does."""
    inner = get_error_text(error).line
    match = pattern.search(error.message)
    return inner if match is None or pattern.search(inner) else read_line_of(error.message, match)


def get_first_line(text: str) -> str:
    """What 'kind: message' says in the end: frameworks put their own words around it."""
    kind, _, message = text.partition(": ")
    return find_innermost(kind, message).line
