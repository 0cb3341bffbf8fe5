"""A file or record of the data is damaged, or not of the kind it is said to be, and the program ended when it met it.

What it is
----------
A truncated or damaged image, a TFRecord whose checksum does not fit, a PNG that is decoded as a JPEG, an archive that
is none. It is met only when its turn comes, often after hours.

How we know
-----------
The error that ended the program is one that decoders and record readers raise for damaged data. A file is named where that
was seen: the error names it, the library that raised the error was reading it, the line that failed was given it, or it was the
only one of its kind that was open. For a TFRecord the place in the file is named. Where an error says in words of the program's
own that an image cannot be found or read, and the file that it names is there, its first bytes are looked at.

When this is wrong
------------------
If the data is whole and the decoder is the wrong one for it: then all files fail, from the first on, and the verdict
says so.

What to do
----------
Find all damaged files before training, not one a night: read each once. Then leave them out or replace them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from unstall.base.formatting import format_count
from unstall.diagnosis.errors.fatal_error import (
    count_steps_by_then,
    describe_steps,
    explain_unread_image,
    find_fatal_error,
    find_unread_image,
    find_unseen_end,
    find_user_line,
    format_texts,
    get_error_text,
    read_line_of,
)
from unstall.diagnosis.verdict import Certainty, Clear, Effect, Evidence, Found, Verdict
from unstall.journal.events import DataChecked, ErrorRaised, FileMet, ImageNotRead, PipelineBuilt
from unstall.journal.reader import Journal
from unstall.journal.stack_frames import find_program_folder, format_place

NO_IMAGE = "no beginning of an image"  # what the watcher says of a file that begins as no image does
MET_S = 5.0  # files are looked for when an error ends the program

_NO_HDF5 = r"[Uu]nable to (?:synchronously )?open file \("
# (what decoders and readers say, what it means)
_SAYINGS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"corrupted record at (?P<at>\d+)"), "a record's checksum does not fit"),
    (re.compile(r"truncated record at (?P<at>\d+)"), "a record is cut off"),
    (re.compile(r"DataLossError"), "a record is damaged"),
    (re.compile(r"detected (?P<real>PNG|GIF|BMP|JPEG|WEBP|[Uu]nknown)"), "an image is of another kind than its decoder"),
    (re.compile(r"Expected image \(JPEG, PNG, or GIF\)|Unknown image file format"), "a file is no image"),
    (re.compile(r"Invalid (?P<real>JPEG|PNG|GIF|BMP|WebP) data"), "an image is damaged or cut off"),
    (re.compile(r"Input is empty"), "a file is empty"),
    (
        re.compile(r"[Ii]mage file is truncated|Truncated File Read|broken data stream|unrecognized data stream contents"),
        "an image is cut off",
    ),
    (re.compile(r"cannot identify image file"), "a file is no image that can be read"),
    (re.compile(r"Not a (?P<real>JPEG|PNG) file"), "an image is of another kind than its decoder"),
    (re.compile(r"is not a zip file"), "a file has no end of a zip archive: it is cut off, or no such archive"),
    (re.compile(r"BadZipFile|Bad magic number for|Bad CRC-32"), "an archive is damaged"),
    (re.compile(r"Not a gzipped file"), "a file does not begin as one that gzip has compressed"),
    (
        re.compile(r"Error -3 while decompressing.*?(?:incorrect header check|unknown compression method)"),
        "data that were to be decompressed do not begin as compressed data",
    ),
    (re.compile(r"CRC check failed|Error -3 while decompressing"), "a compressed file is damaged"),
    (re.compile(r"end-of-stream marker was reached"), "a compressed file is cut off"),
    (re.compile(r"No data left in file"), "an array file is empty"),
    (re.compile(r"Failed to interpret file .* as a pickle"), "a file does not begin as one in which NumPy saves arrays"),
    (re.compile(r"cannot reshape array of size .* npy"), "an array file is damaged"),
    (re.compile(rf"{_NO_HDF5}truncated file"), "an HDF5 file is cut off"),
    (re.compile(rf"{_NO_HDF5}file signature not found"), "a file does not begin as an HDF5 file"),
    (
        re.compile(r"Could not parse example|Error parsing .*Example|wire-format data|InvalidProtocolBuffer"),
        "a record holds no valid example",
    ),
    (re.compile(r"failed locating file constants\.pkl"), "a file holds no program of TorchScript, which torch.jit.load reads"),
    (re.compile(r"PytorchStreamReader failed locating"), "a file lacks a part that PyTorch looks for in it"),
    (
        re.compile(r"PytorchStreamReader failed (?:reading zip archive|finding central directory)"),
        "a file has no end of a file of PyTorch: it is cut off, or no such file",
    ),
    (re.compile(r"PytorchStreamReader failed reading"), "a file of torch.save is damaged or cut off"),
    (re.compile(r"pickle data was truncated|UnpicklingError: invalid load key"), "a pickled file is damaged, or is none"),
)
_DAMAGED = re.compile(r"(?:damaged|cut off|empty)$|checksum")  # else it may be whole, and read as what it is not
_IMAGES = r"\.(?:jpe?g|png|gif|bmp|webp|tiff?)"
_OTHERS = r"\.(?:tfrecords?|record|np[yz]|h5|hdf5|keras|zip|gz|tar|pkl|pickle|parquet|pth?|ckpt|bin)"
_DATA = rf"(?:{_IMAGES}|{_OTHERS})"
# In quotes any path is whole. Without them a relative one may be the end of one with spaces: '/data/my photos/1.jpg'.
_QUOTED = re.compile(rf"""(?P<quote>['"])(?P<path>[^'"\n]*{_DATA})(?P=quote)""")
_ABSOLUTE = re.compile(rf"(?<![^\s:=(\[,;<])(?P<path>(?:[a-z][a-z0-9]*:/)?(?:/[\w.@%+-]+)+{_DATA})")
_NODE = re.compile(r"\{\{node (?:\w+/)*(?P<node>\w+)\}\}")
_DECODERS = ("Decode", "ParseExample", "ParseSingleExample")


def examine(journal: Journal) -> Verdict:
    error = find_fatal_error(journal)
    if error is None:
        return find_unseen_end(journal) or Clear("no record was damaged")
    for text in format_texts(error):
        for pattern, meaning in _SAYINGS:
            said = pattern.search(text)
            if said:
                return _found(journal, error, text, said, meaning)
    image = find_unread_image(journal, error)
    if image is not None and image.exists:
        return _of_image(journal, error, image)
    checked = journal.last(DataChecked)
    if (
        checked is not None
        and checked.what == NO_IMAGE
        and any(path in text for path in checked.damaged for text in format_texts(error))
    ):
        return _of_no_image(journal, error, checked)
    return Clear("the error is about something else")


def _of_image(journal: Journal, error: ErrorRaised, image: ImageNotRead) -> Found:
    return explain_unread_image(
        journal,
        error,
        image,
        f"{image.path} is there, but no image that OpenCV can read: cv2.imread gives None for it, and no error.",
        "",
        (
            "read every file once before training, and list those for which cv2.imread gives None",
            "leave the damaged ones out or replace them",
        ),
    )


def _of_no_image(journal: Journal, error: ErrorRaised, checked: DataChecked) -> Found:
    """The error names the file, in words of the program's own, and the file is no image."""
    path, made = checked.damaged[0], count_steps_by_then(journal, error)
    stands = f" It stands in {checked.named_at}." if checked.named_at else ""
    line = get_error_text(error).line
    return Found(
        certainty=Certainty.CERTAIN,
        summary=f"{path} is there, but it has {checked.what}: it is damaged, or something else.{stands}{describe_steps(made)}",
        evidence=(
            Evidence(f"the error that ended it: {line}", line, None, (error,)),
            Evidence(f"{path} has {checked.what}", path, None, (checked,)),
        ),
        actions=(
            "look at the file, and where it comes from: `file PATH`",
            "read every file once before training, and list those that fail",
            "leave the damaged ones out or replace them",
        ),
        where=find_user_line(error, find_program_folder(journal)),
        effect=Effect.STOPS,
    )


def _found(journal: Journal, error: ErrorRaised, text: str, said: re.Match[str], meaning: str) -> Found:
    folder = find_program_folder(journal)
    made = count_steps_by_then(journal, error)
    seen = _file(journal, error, _IMAGES if "image" in meaning else _DATA)
    place_in_file = f", at byte {int(said['at']):,}" if "at" in said.re.groupindex else ""
    which = f" in {seen.path}" if seen else ""
    is_damaged = bool(_DAMAGED.search(meaning))
    how = "is damaged" if is_damaged else "cannot be read"
    line = read_line_of(text, said)
    evidence = [Evidence(f"the error that ended it: {line}", line, None, (error,))]
    if seen is not None and seen.met is not None:
        evidence.append(Evidence(seen.how, seen.path, None, (seen.met,)))
    if made:
        evidence.append(Evidence(f"{format_count(made, 'step')} had ended before it", made, None, (error,)))
    begins = seen.met.begins if seen is not None and isinstance(seen.met, DataChecked) else ""
    content = f" It begins with {begins}." if begins else ""
    return Found(
        certainty=Certainty.CERTAIN,
        summary=f"The data {how}{which}: {meaning}{place_in_file}.{content}{describe_steps(made)}",
        evidence=tuple(evidence),
        actions=(
            *(() if is_damaged else ("see of what kind the file is, and of what kind the line reads it: `file PATH`",)),
            "read every file once before training, and list those that fail",
            "leave the damaged ones out or replace them"
            + (
                "; dataset.ignore_errors() skips them unseen"
                if any("tensorflow" in frame["file"] for frame in error.frames)
                else ""
            ),
        ),
        where=_stage(journal, text, folder) or find_user_line(error, folder),
        effect=Effect.STOPS,
    )


@dataclass(frozen=True)
class _RecordFile:
    """A file that was seen to be the damaged one, and how it was seen."""

    path: str
    how: str = ""
    met: FileMet | DataChecked | None = None


def _file(journal: Journal, error: ErrorRaised, kind: str) -> _RecordFile | None:
    """None where it may be any: that a variable holds a path, or that a file is open, does not make it the one."""
    for text in format_texts(error):
        named = _QUOTED.search(text) or _ABSOLUTE.search(text)
        if named:
            return _RecordFile(named["path"])
    met = [file for file in journal.of(FileMet) if abs(file.at - error.at) < MET_S and re.search(f"{kind}$", file.path)]
    read = [file for file in met if file.how == "read"]
    if read:
        return _RecordFile(read[-1].path, f"the library that raised the error was reading {read[-1].path}", read[-1])
    checked = journal.last(DataChecked)
    if checked is not None and checked.num_damaged == 1 and (checked.kind == "image") == (kind == _IMAGES):
        stands = f", which stands in {checked.named_at}" if checked.named_at else ""
        files = format_count(checked.looked_at, checked.kind)
        how = f"of {files} of the program, {checked.damaged[0]} alone has {checked.what}{stands}"
        return _RecordFile(checked.damaged[0], how, checked)
    given = [file for file in met if file.in_line]
    if len({file.path for file in given}) == 1:
        return _RecordFile(given[-1].path, f"the line that failed was given {given[-1].path} (`{given[-1].how}`)", given[-1])
    opened = [file for file in met if file.how == "open"]
    if len({file.path for file in opened}) == 1 and not given:
        return _RecordFile(
            opened[0].path, f"{opened[0].path} was open when the error came, and no other file of its kind", opened[0]
        )
    return None


def _stage(journal: Journal, text: str, folder: str) -> str | None:
    """The user's line of the stage whose function decodes, if the error came out of one."""
    node = _NODE.search(text)
    if node is None or not node["node"].startswith(_DECODERS):
        return None
    maps = [stage for stage in journal.of(PipelineBuilt) if stage.stage in {"map", "flat_map", "interleave"}]
    decoding = [stage for stage in maps if stage.arguments.get("decodes")] or maps
    where = decoding[-1].arguments.get("decodes_where") or decoding[-1].where if len(decoding) == 1 else None
    file, _, line = (where or "").rpartition(":")
    return format_place(file, int(line), folder) if file else None
