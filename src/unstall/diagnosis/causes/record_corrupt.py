"""A file or record of the data is damaged, or not of the kind it is said to be, and the program ended when it met it.

What it is
----------
A truncated or damaged image, a TFRecord whose checksum does not fit, a PNG that is decoded as a JPEG, an archive that
is none. It is met only when its turn comes, often after hours.

How we know
-----------
The error that ended the program is one that decoders and record readers raise for damaged data. The file is named where
the error or the stage that reads it tells; for a TFRecord the place in the file is named.

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

from unstall.diagnosis.failures import fatal_error, of_unread_image, texts, unread_image, unseen_end, user_line
from unstall.diagnosis.stacks import place, program_folder
from unstall.diagnosis.verdict import Certainty, Clear, Effect, Evidence, Found, Verdict
from unstall.journal.events import ErrorRaised, FileMet, ImageNotRead, PipelineBuilt, StepsEnded
from unstall.journal.reader import Journal

MET_S = 5.0  # files are looked for when an error ends the program

# (what decoders and readers say, what it means)
_SAYINGS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"corrupted record at (?P<at>\d+)"), "a record's checksum does not fit"),
    (re.compile(r"truncated record at (?P<at>\d+)"), "a record is cut off"),
    (re.compile(r"DataLossError"), "a record is damaged"),
    (re.compile(r"detected (?P<real>PNG|GIF|BMP|JPEG|WEBP|[Uu]nknown)"), "an image is of another kind than its decoder"),
    (re.compile(r"Expected image \(JPEG, PNG, or GIF\)|Unknown image file format"), "a file is no image"),
    (re.compile(r"Invalid (?P<real>JPEG|PNG|GIF|BMP|WebP) data"), "an image is damaged or cut off"),
    (re.compile(r"Input is empty"), "a file is empty"),
    (re.compile(r"[Ii]mage file is truncated|broken data stream|unrecognized data stream contents"), "an image is cut off"),
    (re.compile(r"cannot identify image file"), "a file is no image that can be read"),
    (re.compile(r"Not a (?P<real>JPEG|PNG) file"), "an image is of another kind than its decoder"),
    (re.compile(r"BadZipFile|is not a zip file|Bad magic number for|Bad CRC-32"), "an archive is damaged"),
    (
        re.compile(r"CRC check failed|Not a gzipped file|Error -3 while decompressing|end-of-stream marker was reached"),
        "a compressed file is damaged",
    ),
    (
        re.compile(r"Failed to interpret file .* as a pickle|No data left in file|cannot reshape array of size .* npy"),
        "an array file is damaged",
    ),
    (
        re.compile(r"[Uu]nable to (?:synchronously )?open file \((?:truncated file|file signature not found)"),
        "an HDF5 file is damaged",
    ),
    (
        re.compile(r"Could not parse example|Error parsing .*Example|wire-format data|InvalidProtocolBuffer"),
        "a record holds no valid example",
    ),
    (re.compile(r"UnpicklingError|pickle data was truncated"), "a pickled file is damaged"),
)
_DATA = r"\.(?:jpe?g|png|gif|bmp|webp|tiff?|tfrecords?|record|np[yz]|h5|hdf5|zip|gz|tar|pkl|pickle|parquet)"
_NODE = re.compile(r"\{\{node (?P<node>\w+)\}\}")
_DECODERS = ("Decode", "ParseExample", "ParseSingleExample")


def examine(journal: Journal) -> Verdict:
    error = fatal_error(journal)
    if error is None:
        return unseen_end(journal) or Clear("no record was damaged")
    for text in texts(error):
        for pattern, meaning in _SAYINGS:
            said = pattern.search(text)
            if said:
                return _found(journal, error, text, said, meaning)
    image = unread_image(journal, error)
    if image is not None and image.exists:
        return _of_image(journal, error, image)
    return Clear("the error is about something else")


def _of_image(journal: Journal, error: ErrorRaised, image: ImageNotRead) -> Found:
    return of_unread_image(
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


def _found(journal: Journal, error: ErrorRaised, text: str, said: re.Match[str], meaning: str) -> Found:
    folder = program_folder(journal)
    steps = [group for group in journal.of(StepsEnded) if group.phase == "train"]
    made = steps[-1].last + 1 if steps else 0
    file = _file(journal, error)
    place_in_file = f", at byte {int(said['at']):,}" if "at" in said.re.groupindex else ""
    which = f" in {file}" if file else ""
    evidence = [Evidence(f"the error that ended it: {_line_of(text, said)}", _line_of(text, said), None, (error,))]
    if steps:
        evidence.append(Evidence(f"{made:,} steps went well before it", made, None, tuple(steps[-1:])))
    summary = f"The data is damaged{which}: {meaning}{place_in_file}. " + (
        f"It was met in step {made}." if steps else "It was met before the first step."
    )
    return Found(
        certainty=Certainty.CERTAIN,
        summary=summary,
        evidence=tuple(evidence),
        do=(
            "read every file once before training, and list those that fail",
            "leave the damaged ones out or replace them; dataset.ignore_errors() skips them unseen",
        ),
        where=_stage(journal, text, folder) or user_line(error, folder),
        effect=Effect.STOPS,
    )


def _line_of(text: str, said: re.Match[str]) -> str:
    line = text[: said.end()].rpartition("\n")[2] + text[said.end() :].partition("\n")[0]
    return line.strip()[:240]


def _file(journal: Journal, error: ErrorRaised) -> str | None:
    """A file of data that the error names; else one that was open when it came, and that a variable holds, the innermost last;
    else the only one that was open, or that a variable holds."""
    for text in texts(error):
        named = re.search(rf"(?P<path>(?:/[\w.@%+-]+)+{_DATA})", text)
        if named:
            return named["path"]
    met = [file for file in journal.of(FileMet) if abs(file.at - error.at) < MET_S and re.search(f"{_DATA}$", file.path)]
    opened = list(dict.fromkeys(file.path for file in met if file.how == "open"))
    held = list(dict.fromkeys(file.path for file in met if file.how != "open"))
    both = [path for path in held if path in opened]
    return both[-1] if both else opened[0] if len(opened) == 1 else held[-1] if held and not opened else None


def _stage(journal: Journal, text: str, folder: str) -> str | None:
    """The user's line of the stage whose function decodes, if the error came out of one."""
    node = _NODE.search(text)
    if node is None or not node["node"].startswith(_DECODERS):
        return None
    maps = [stage for stage in journal.of(PipelineBuilt) if stage.stage in {"map", "flat_map", "interleave"}]
    decoding = [stage for stage in maps if stage.arguments.get("decodes")] or maps
    where = decoding[-1].arguments.get("decodes_where") or decoding[-1].where if len(decoding) == 1 else None
    file, _, line = (where or "").rpartition(":")
    return place(file, int(line), folder) if file else None
