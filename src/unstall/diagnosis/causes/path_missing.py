"""A file or folder of the data is not where the program looks for it, or the variable that should say where is not set.

What it is
----------
The program opens a path that does not exist: it was moved, mistyped, is called otherwise on this machine, or was put
together from an environment variable that is not set (then it begins with `None/`). A pattern that matches no file
gives an empty data set, and some programs train on it without an error.

How we know
-----------
The error that ended the program says which path is not there. Unstall then looks how far the path does exist, what lies
there under a similar name, and which environment variables the program asks for are not set. `cv2.imread` gives None for a
path that is not there: that is noted, and named where the program then ends on it. The same holds for a pattern that has just
matched no file, where the error quotes it, or where it says before the first step that there is no data. Where a file on the
command line contains the path, that file is named with the line. Where there was no error: a pattern matched nothing, the data
set was empty, and the program ended without a single step.

When this is wrong
------------------
If the missing file is only the last of several faults: a program that was to make the file and failed to do so.

What to do
----------
Correct the path or set the variable. Let the program check its data paths before it builds the model, and say which is
missing.
"""

from __future__ import annotations

import re
from pathlib import PurePath

from unstall.diagnosis.errors.error_messages import find_missing_path
from unstall.diagnosis.errors.fatal_error import (
    explain_unread_image,
    find_fatal_error,
    find_unmatched_pattern,
    find_unread_image,
    find_unseen_end,
    find_user_line,
    format_texts,
    get_error_text,
)
from unstall.diagnosis.pipelines import shorten_stage
from unstall.diagnosis.verdict import Certainty, Clear, Effect, Evidence, Found, Verdict
from unstall.journal.events import (
    DataMet,
    ErrorRaised,
    ImageNotRead,
    LoopSeen,
    PathLooked,
    PatternMatchedNothing,
    ProcessEnded,
    ProgramEnded,
    StepsEnded,
)
from unstall.journal.reader import Journal
from unstall.journal.stack_frames import find_program_folder, format_place, is_user_file

# The words of samplers, loaders and arrays that were given none.
_NOTHING = re.compile(
    r"num_samples=0\b|\bnum_samples should be a positive|\bempty (?:data ?set|data ?loader|sequence|list|array|data)\b"
    r"|\b(?:data ?set|data ?loader|sequence|list|array|input|data|arg) (?:is|was) (?:an )?empty\b|\bzero-size array\b"
    r"|\bneed at least one array\b|\bdata ?(?:set|loader) (?:has|with|of) (?:no|0|zero)\b|\blength of 0\b"
    r"|\b(?:found|got|with) (?:no|0|zero) (?:\w+ )?(?:files?|images?|samples?|examples?|records?|batches|data|rows)\b"
    r"|\bno (?:\w+ )?(?:files?|images?|samples?|examples?|records?|batches|data|rows) (?:were |was |could be )?found\b",
    re.IGNORECASE,
)
# Who says so has looked; a relative path may have been meant from another folder. Any other words may be wrong.
_SYSTEM_SAYS = re.compile(r"No such file or directory|Not a directory|No files matched|errno = 2|File not found: filepath")
# PyTorch looks itself for the folder into which it is to write.
_NO_FOLDER = re.compile(r"\bParent directory (?P<path>\S+) does not exist")
# What a library raises over a list of files that is empty, where it does not say so.
_ON_NOTHING = (
    re.compile(r"TypeError: 'NoneType' object"),
    re.compile(r"IndexError: .*(?:out of (?:range|bounds)|index)"),
    re.compile(r"ZeroDivisionError|StopIteration"),
)
_OF_DATA = re.compile(
    r"\.(?:jpe?g|png|bmp|gif|webp|tiff?|tfrecords?|record|csv|tsv|npy|npz|parquet|wav|mp3|flac|mp4|xml)$", re.IGNORECASE
)
_NOT_THERE = ("FileNotFoundError", "NotADirectoryError", "NotFoundError", "InvalidArgumentError", "OSError", "ValueError")


def examine(journal: Journal) -> Verdict:
    error = find_fatal_error(journal)
    if error is not None:
        return _of_error(journal, error)
    ended = journal.last(ProcessEnded)
    if ended is None:
        return Clear("the program runs")
    if ended.exit_code == 0:
        return _of_emptiness(journal)
    return find_unseen_end(journal) or Clear("no path was missing")


def _of_error(journal: Journal, error: ErrorRaised) -> Verdict:
    folder = find_program_folder(journal)
    variable = _unset_variable(error)
    if variable is not None:
        claim = f"os.environ[{variable!r}] raised KeyError"
        return Found(
            certainty=Certainty.CERTAIN,
            summary=f"The environment variable {variable} is not set, and the program needs it.",
            evidence=(Evidence(claim, variable, None, (error,)),),
            actions=(f"set it: export {variable}=…", "or give the program a default, and a message that names the variable"),
            where=find_user_line(error, folder),
        )
    image = find_unread_image(journal, error)
    if image is not None and not image.exists:
        return _of_image(journal, error, image)
    result = next((text for text in format_texts(error) if _names_missing(text)), None)
    path = find_missing_path(result) if result is not None else None
    if path is None:  # a program's own words; but the pattern that they quote had just matched nothing
        path = next((pattern for pattern in find_unmatched_pattern(journal, error) if pattern in error.message), None)
    if path is None:
        return _of_nothing_found(journal, error) or Clear("the error is about something else")
    looked = next((look for look in reversed(journal.of(PathLooked)) if look.path == path), None)
    if result is not None and _NO_FOLDER.search(result):
        return _of_folder(error, path, looked, find_user_line(error, folder))
    if (looked is None or looked.is_there) and result is not None and not _SYSTEM_SAYS.search(result):
        return Clear("the program says that a path is not there, and no look has confirmed it")
    return _found(error, path, looked, find_user_line(error, folder))


def _names_missing(text: str) -> bool:
    """Of an error of any other kind, only a pattern is taken for a path."""
    path = find_missing_path(text)
    is_meant = any(kind in text for kind in _NOT_THERE) or _NO_FOLDER.search(text) is not None
    return path is not None and (is_meant or "*" in path)


def _of_image(journal: Journal, error: ErrorRaised, image: ImageNotRead) -> Found:
    looked = next((look for look in reversed(journal.of(PathLooked)) if look.path == image.path), None)
    stem = PurePath(image.path).stem.lower()  # what is only similar may be the next image of the same folder
    near = next((name for name in looked.near if PurePath(name).stem.lower() == stem), "") if looked is not None else ""
    lies = f" In its folder lies {near}." if near else ""
    return explain_unread_image(
        journal,
        error,
        image,
        f"There is no {image.path}.{lies} cv2.imread gives None for it, and no error; the program ended when it used that.",
        ", which does not exist",
        (
            f"read {near}, or rename that file: names are distinguished by upper and lower case and by their ending"
            if near
            else "correct the path: print the one that is read, and look where the files are",
            "check what cv2.imread gives: if image is None: raise FileNotFoundError(path)",
        ),
    )


def _unset_variable(error: ErrorRaised) -> str | None:
    """KeyError out of os.environ itself."""
    inner = error.frames[0] if error.frames else None
    if error.kind == "KeyError" and inner is not None and inner["file"].endswith("/os.py"):
        return error.message.strip("'\"")
    return None


def _found(error: ErrorRaised, path: str, looked: PathLooked | None, line: str | None) -> Found:
    evidence = [Evidence(f"{error.kind.rpartition('.')[2]}: {path}", path, None, (error,))]
    is_pattern = any(letter in path for letter in "*?[")
    summary = f"No file matches {path}." if is_pattern else f"There is no {path}."
    do: list[str] = []
    if path.startswith(("None/", "None\\")) or "/None/" in path:
        names = looked.unset_variables if looked else []
        summary += " It holds the word None, as a path does that is put together from a value that is not set."
        if names:
            summary += f" {', '.join(names)} {'is' if len(names) == 1 else 'are'} not set, and the program asks for {_it(names)}."
        do.append(f"set it: export {names[0]}=…" if names else "find out which variable or setting should hold the folder")
    elif "$" in path or path.startswith("~"):
        summary += " It holds a variable or ~, which was not expanded."
        do.append("expand it: os.path.expanduser(os.path.expandvars(path))")
    if looked is not None:
        evidence.append(Evidence(f"it exists as far as {looked.exists_up_to}", looked.exists_up_to, None, (looked,)))
        if looked.named_at:
            summary += f" That path stands in {looked.named_at}."
            evidence.append(Evidence(f"the path stands in {looked.named_at}", looked.named_at, None, (looked,)))
        if looked.near:
            evidence.append(Evidence(f"there lies {', '.join(looked.near)}", looked.near[0], None, (looked,)))
            do.append(f"did you mean {looked.near[0]}?")
        elif looked.unset_variables and not do:
            do.append(f"not set, and asked for by the program: {', '.join(looked.unset_variables)}")
    do.append("correct the path, and let the program check its paths before it builds the model")
    return Found(certainty=Certainty.CERTAIN, summary=summary, evidence=tuple(evidence), actions=tuple(do), where=line)


def _of_folder(error: ErrorRaised, path: str, looked: PathLooked | None, line: str | None) -> Found:
    up_to = (Evidence(f"it exists as far as {looked.exists_up_to}", looked.exists_up_to, None, (looked,)),) if looked else ()
    return Found(
        certainty=Certainty.CERTAIN,
        summary=f"There is no folder {path}, into which a file was to be written.",
        evidence=(Evidence(f"the error that ended it: {get_error_text(error).line}", path, None, (error,)), *up_to),
        actions=(f"make it before the file is written: os.makedirs({path!r}, exist_ok=True)", "or correct the path"),
        where=line,
    )


def _it(names: list[str]) -> str:
    return "it" if len(names) == 1 else "them"


def _of_nothing_found(journal: Journal, error: ErrorRaised) -> Found | None:
    """An error for want of data, before the first step, after a pattern that had matched nothing.

    It says so itself, or was raised over a data set that is empty.
    """
    patterns = [event for event in journal.of(PatternMatchedNothing) if event.at <= error.at]
    empty = [event for event in journal.of(LoopSeen) if event.facts.get("kind") == "empty" and event.facts.get("raised")]
    asked = [event for event in patterns if _was_asked_in_failed_call(event, error)]
    if empty and not _NOTHING.search(error.message):
        patterns = [event for event in patterns if _OF_DATA.search(event.pattern)]
    if not patterns or journal.of(StepsEnded) or not (_NOTHING.search(error.message) or empty or asked):
        return None
    had_none = (Evidence("a data set had no batch at all", 0, 1, tuple(empty[-1:])),) if empty else ()
    pattern, folder = (asked or patterns)[-1], find_program_folder(journal)
    says_so = bool(empty) or _NOTHING.search(error.message) is not None
    others = [path for event in journal.of(DataMet) for path in event.paths]
    if not says_so and any(PurePath(path).parent == PurePath(pattern.pattern).parent for path in others):
        return None  # another pattern has found what lies there
    return Found(
        certainty=Certainty.LIKELY,
        summary=f"No file matches {pattern.pattern}, and the program ended for want of data.",
        evidence=(
            Evidence(f"the pattern {pattern.pattern} matched no file", pattern.pattern, None, (pattern,)),
            *had_none,
            Evidence(f"the error that ended it: {get_error_text(error).line}", None, None, (error,)),
        ),
        actions=("correct the pattern or the folder", "let the program stop when it finds no files"),
        where=shorten_stage(pattern.where, folder) or find_user_line(error, folder),
        effect=Effect.STOPS,
    )


def _was_asked_in_failed_call(event: PatternMatchedNothing, error: ErrorRaised) -> bool:
    """Whether a library failed on nothing, in the very call in which it asked for data by that pattern."""
    raised_by = error.frames[0]["file"] if error.frames else ""
    own = next((f"{frame['file']}:{frame['line']}" for frame in error.frames if is_user_file(frame["file"])), None)
    fails_on_nothing = any(pattern.search(f"{error.kind}: {error.message}") for pattern in _ON_NOTHING)
    is_of_data = _OF_DATA.search(event.pattern) is not None  # not that of a checkpoint, which need not be there
    return own in event.within and is_of_data and fails_on_nothing and not is_user_file(raised_by)


def _of_emptiness(journal: Journal) -> Verdict:
    """It ended well, without a step, after a pattern that matched nothing gave an empty data set."""
    patterns = [event for event in journal.of(PatternMatchedNothing) if _OF_DATA.search(event.pattern)]
    empty = [event for event in journal.of(LoopSeen) if event.facts.get("kind") == "empty"]
    if journal.of(StepsEnded) or not patterns or not empty or not journal.of(ProgramEnded):
        return Clear("the program ended as it should")
    pattern = patterns[-1]
    file, _, number = (pattern.where or "").rpartition(":")
    return Found(
        certainty=Certainty.LIKELY,
        summary=f"No file matches {pattern.pattern}, and a data set was empty. The program ended, and no step was seen.",
        evidence=(
            Evidence(f"the pattern {pattern.pattern} matched no file", pattern.pattern, None, (pattern,)),
            Evidence("the data set ended before its first batch", 0, 1, tuple(empty[-1:])),
        ),
        actions=("correct the pattern or the folder", "let the program stop when it finds no files"),
        where=format_place(file, int(number), find_program_folder(journal)) if file else None,
        effect=Effect.STOPS,
    )
