"""The operating system refused a request: too many open files, no permission, a file that is there, a file or name too long.

What it is
----------
A process may have only so many files open and threads running, a file and a path may be only so long, and a file may be read or
written only by those that have the permission. Workers of a DataLoader and of Keras pass batches through shared memory, whose
size is limited, too. The request that goes beyond that fails, though the program is right in itself.

How we know
-----------
The error carries the number of the system's own answer (EMFILE, EACCES, ENAMETOOLONG, …), which is the same in every library
and version.

When this is wrong
------------------
If files are opened and not closed again: then a higher limit only puts the end off.

What to do
----------
Close files when they have been read (`with open(…)`), or raise the limit. Give the user of the program the permission. Enlarge
the shared memory of a container with `--shm-size`.
"""

from __future__ import annotations

import ast
import re
import textwrap

from unstall.base.formatting import format_size
from unstall.diagnosis.causes.disk_full import NO_ROOM_BYTES
from unstall.diagnosis.errors.evidence import as_maker, create_found, describe_line
from unstall.diagnosis.errors.failures import Failure, Maker, find_failure
from unstall.diagnosis.errors.fatal_error import find_unseen_end, format_texts, is_of_shared_memory
from unstall.diagnosis.errors.line_changes import add_argument
from unstall.diagnosis.verdict import Certainty, Clear, Found, Verdict
from unstall.journal.events import DiskSeen
from unstall.journal.reader import Journal

EXPLAINS = ("process_died",)
_ERRNO = re.compile(r"\[Errno (?P<number>\d+)\][^:\n]*(?:: (?P<quote>['\"])(?P<path>.*?)(?P=quote))?")
# What TensorFlow and PyTorch write behind the path, in the words of the C library.
_OF_C = (
    (re.compile(r"(?P<path>[^\s;'\"]+); Too many open files|Too many open files"), 24),
    (re.compile(r"(?P<path>[^\s;'\"]+); Permission denied"), 13),
    (re.compile(r"(?P<path>[^\s;'\"]+); File name too long"), 36),
    (re.compile(r"(?P<path>[^\s;'\"]+); Read-only file system"), 30),
    (re.compile(r"can't start new thread"), 11),
    (re.compile(r"failed with strerror: Is a directory|(?P<path>[^\s;'\"]+); Is a directory"), 21),
    (re.compile(r"failed with strerror: Permission denied"), 13),
    (re.compile(r"failed with strerror: Read-only file system"), 30),
    (re.compile(r"failed with strerror: File name too long"), 36),
    (re.compile(r"(?P<path>[^\s;'\"]+); File too large|File too large"), 27),
    (re.compile(r"insufficient shared memory|unable to (?:open|write to|mmap) .{0,40}(?:shm|torch_\d+)"), -1),
)
_NO_ROOM = re.compile(r"No space left on device|\[Errno (?:12|28)\]|Cannot allocate memory")
_WATCHES_FULL = re.compile(r"\[Errno (?:24|28)\]|limit reached|No space left on device")
_SYSTEM_ERRORS = ("OSError", "PermissionError", "BlockingIOError", "IOError", "IsADirectoryError", "FileExistsError")
# What a write says that took only a part, in NumPy, HDF5 and PyTorch; it does not say why.
_PART_WRITTEN = re.compile(
    r"(?P<wanted>\d+) requested and (?P<written>\d+) written|file write failed|unexpected pos \d+ vs \d+|failed writing file"
)
_MAKING = ("makedirs", "mkdir")
_IS_LAZY = re.compile(r"\bImage\.open\(")
_MAX_CALLERS = 2
_STARTING = ("_launch", "_execute_child", "_fork_exec", "fork", "start", "_start_new_thread")
_WORDS = {
    24: "The process has as many files open as it may have, and the next one could not be opened{path}.",
    23: "The system has as many files open as it may have, and the next one could not be opened{path}.",
    11: "The system did not let the program start another thread or process.",
    27: "A file was to become larger than the process or the file system allows{path}.",
    21: "There is a folder where a file was to be opened or written{path}.",
    17: "The file or folder is there already, and the call makes only a new one{path}.",
    36: "The name of a file, or a part of its path, is longer than the file system allows{path}.",
    13: "The program has no permission for what it wanted to do with a file or folder{path}.",
    1: "The system does not permit what the program wanted to do{path}.",
    30: "The file system can be read, and not written{path}.",
    -1: "The shared memory of processes (/dev/shm) has no room for what was asked for, or could not be opened.",
    -2: "The system watches as many files and folders for changes as it may, and the next one was refused.",
}
_ACTIONS = {
    24: (
        "open each file when it is read, and close it: with open(path) as file",
        "or raise the limit before the start: ulimit -n 65536",
    ),
    23: ("close files of other programs, or raise fs.file-max of the system",),
    11: (
        "start fewer workers and threads",
        "or raise the limits of the user (ulimit -u) or of the container (its limit of processes)",
    ),
    27: ("raise the limit of the size of files before the start: ulimit -f unlimited", "or write smaller files, several of them"),
    21: ("give the path of a file, with its name and ending", "or delete the folder, if an earlier run has left it"),
    17: ("give each run a folder of its own, or delete what an earlier run has left",),
    36: ("shorten the names: one part of a path has at most 255 bytes on most file systems",),
    13: (
        "give the user of the program the permission, or choose a place that the user may write to",
        "and see whether the path is a folder, or belongs to another user: ls -ld",
    ),
    1: ("run it as a user that may do so, or leave it out",),
    30: ("choose a place that can be written",),
    -2: (
        "watch fewer folders, and none that holds the data",
        "or raise the limit: sysctl fs.inotify.max_user_watches=524288, and fs.inotify.max_user_instances",
    ),
    -1: (
        "give the container more shared memory: docker run --shm-size=8g",
        "or use fewer workers, or smaller batches",
        "see what lies in it already: ls -l /dev/shm",
    ),
}


def examine(journal: Journal) -> Verdict:
    failure = find_failure(journal)
    if failure is None:
        return find_unseen_end(journal) or Clear("no error ended the program")
    found = _number(failure)
    full = any(disk.free_bytes < NO_ROOM_BYTES for disk in journal.of(DiskSeen))
    if found is None and not full and _limit(failure) and _PART_WRITTEN.search(failure.error.message):
        return _of_size(failure, "", Certainty.LIKELY)
    if found is None:
        return Clear("the system refused nothing")
    number, path = found
    named = f": {path}" if path else ""
    if number == 24:
        return _of_open_files(failure, named)
    if number == 27:
        return _of_size(failure, named)
    if number == 17:
        return _of_existing(failure, named)
    return create_found(failure, _WORDS[number].format(path=named), _ACTIONS[number])


def _of_open_files(failure: Failure, named: str) -> Found:
    limit, files = failure.maker("limit"), failure.maker("files")
    kept = [maker for maker in failure.makers if maker.what == "kept"]
    callers = {line.where: line for line in reversed(failure.lines[:-1])}  # of a comprehension the function around it
    claims = [f"called from {describe_line(line)}" for line in list(callers.values())[:_MAX_CALLERS]]
    if limit is not None:
        sets = f", which the program itself sets at {limit.where}: {limit.code}" if limit.where else ""
        claims.append(f"it may have {limit.facts['value']:,} files open (RLIMIT_NOFILE){sets}")
    if files is not None:
        claims.append(
            f"{files.facts['count']:,} of the files that are open end in {files.name or 'nothing'}: {files.facts['last']}"
        )
    claims += [
        f"`{maker.name}` keeps {maker.facts['count']:,} tensors in shared memory, filled at {maker.where}: {maker.code}"
        for maker in kept
    ]
    at_most = f" It may have {limit.facts['value']:,}." if limit is not None else ""
    summary, actions = f"{_WORDS[24].format(path=named)}{at_most}", list(_ACTIONS[24][:1])
    if kept:
        names = " and ".join(f"`{maker.name}`" for maker in kept)
        summary += f" {names} keeps tensors in shared memory, as the workers of a DataLoader pass them: each keeps a file open."
        actions = [
            f"copy what is kept, so that the file of the worker is closed: .clone() at {kept[0].where}",
            "or let the workers share by name: torch.multiprocessing.set_sharing_strategy('file_system')",
        ]
    elif failure.raised is not None and _IS_LAZY.search(failure.raised.code):
        summary += " Image.open of Pillow reads the pixels only when they are needed, and keeps the file open until then."
        summary += _count_opened(failure)
        actions = ["read the pixels and close the file at once: with Image.open(path) as image: image = image.copy()"]
    if limit is None or limit.facts.get("hard", 0) > limit.facts["value"] or not limit.where:
        higher = (
            f"or let the program set a higher limit at {limit.where}" if limit is not None and limit.where else _ACTIONS[24][1]
        )
        actions.append(higher)
    return create_found(failure, summary, tuple(actions), tuple(claims), kept[0].where if kept else None)


def _count_opened(failure: Failure) -> str:
    """For a list that is made by opening a file for each element of another."""
    for line in reversed(failure.own_lines[:-1]):
        try:
            tree = ast.parse(textwrap.dedent("\n".join(line.source)))
        except SyntaxError:
            continue
        lists = [node for node in ast.walk(tree) if isinstance(node, ast.ListComp) and not node.generators[0].ifs]
        over = {ast.unparse(node.generators[0].iter) for node in lists}
        for value in line.values:
            if value.name in over and isinstance(value.facts.get("length"), int):
                count = f"{value.facts['length']:,}"
                of = f"each of the {count} elements of `{value.name}`"
                return f" The list made at {line.where} is to keep what is opened for {of}."
    return ""


def _limit(failure: Failure) -> Maker | None:
    """How large a file of the process may become, where that is limited."""
    return next((maker for maker in failure.makers if maker.what == "limit" and maker.name == "file size"), None)


def _of_size(failure: Failure, named: str, certainty: Certainty = Certainty.CERTAIN) -> Found:
    limit, grown = _limit(failure), [maker for maker in failure.makers if maker.what == "grown" and maker.where]
    torn = "what was being written is cut off: delete it, and see that the last checkpoint before is whole"
    claims, said, actions = [], "", list(_ACTIONS[27])
    if limit is not None:
        size = format_size(limit.facts["value"])
        sets = f", which the program itself sets at {limit.where}: {limit.code}" if limit.where else ""
        claims.append(f"the process may write files of {size} (RLIMIT_FSIZE, ulimit -f){sets}")
        said = (
            f" The process may write files of {size} at most{f', a limit that is set at {limit.where}' if limit.where else ''}."
        )
        actions[0] = f"let the program set a higher limit at {limit.where}" if limit.where else actions[0]
    if grown:
        first = grown[0]
        said += (
            f" `{first.name}`, which is written into the file, has {first.facts['count']:,} entries and grows at {first.where}."
        )
        claims.append(f"`{first.name}` grows at {first.where}: {first.code}")
        actions[1] = f"or write a file of its own for each entry of `{first.name}`"
    return create_found(failure, _WORDS[27].format(path=named) + said, (*actions, torn), tuple(claims), certainty=certainty)


def _of_existing(failure: Failure, named: str) -> Found:
    """A folder that is there may be taken, where the program does not mean to begin with an empty one."""
    raised = failure.raised
    function = next((name for name in _MAKING if raised is not None and re.search(rf"\b{name}\(", raised.code)), "")
    is_plain = raised is not None and re.search(r"\bos\.mkdir\(", raised.code) is not None
    when = "if the files in it may be written over"
    change = add_argument(as_maker(raised), function, "exist_ok=True", when) if raised and function and not is_plain else None
    actions = (
        *(("take the folder that is there: os.makedirs(path, exist_ok=True), " + when,) if function else ()),
        *_ACTIONS[17],
    )
    return create_found(failure, _WORDS[17].format(path=named), actions, changes=(change,))


def _number(failure: Failure) -> tuple[int, str] | None:
    """The number of the system's answer, and the path that it was about."""
    for text in format_texts(failure.error):
        if "inotify" in text and _WATCHES_FULL.search(text):
            return -2, ""
        if _NO_ROOM.search(text) and is_of_shared_memory(failure.error):
            return -1, ""
        kind = text.partition(": ")[0].rpartition(".")[2]
        match = _ERRNO.search(text) if kind in _SYSTEM_ERRORS else None
        if match is not None and int(match["number"]) in _WORDS and (match["number"] != "11" or _starts(failure)):
            return int(match["number"]), match["path"] or ""
        is_of_library = text.startswith("tensorflow.") or kind in ("RuntimeError", "OSError")
        for pattern, number in _OF_C if is_of_library else ():
            other = pattern.search(text)
            if other is not None:
                return number, other.groupdict().get("path") or ""
    return None


def _starts(failure: Failure) -> bool:
    """Whether a process or a thread was being started: a file that is locked gives the same answer."""
    return any(frame["function"] in _STARTING for frame in failure.error.frames[:3])
