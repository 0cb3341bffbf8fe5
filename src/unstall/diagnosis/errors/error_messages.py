"""The innermost sentence of an error's message, without what frameworks wrap around it.

TensorFlow, Keras, PyTorch and JAX pass an error on inside the text of another: the traceback of a generator or of a worker
process, a list of the nodes of a graph, the arguments of a layer. What went wrong is one sentence in the middle of that.
"""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass

_MISSING = (
    re.compile(r"No such file or directory: '(?P<path>[^']+)'"),
    re.compile(r'No such file or directory: "(?P<path>[^"]+)"'),
    re.compile(r"Not a directory: '(?P<path>[^']+)'"),
    re.compile(r"(?P<path>[^\s;'\"]+); No such file or directory"),
    re.compile(r"No files matched pattern: (?P<path>[^\s'\"]+)"),
    re.compile(r"[Uu]nable to (?:synchronously )?open file.*name = '(?P<path>[^']+)'.*errno = 2"),
    re.compile(r"File not found: filepath=(?P<path>\S+?)\.?(?:\s|$)"),
    re.compile(r"(?P<path>\S+) not found\.?$"),
    re.compile(r"(?P<path>[^\s'\"]*/[^\s'\"]*)['\"]? does(?: not|n't) exist\b"),
    re.compile(r"(?P<path>[^\s'\"]*[*?\[][^\s'\"]*)['\"]? (?:does|did)(?: not|n't) match any\b"),
    re.compile(
        r"\b(?:not find|no)\b[^\n]{0,40}?\bfiles? (?:that )?match\w* (?:the )?(?:glob |file )?pattern"
        r":? \[?['\"]?(?P<path>[^\s'\"]+)",
        re.IGNORECASE,
    ),
    # In words of the program's own, which may say of a file that it is not there although it is.
    re.compile(r"\b(?:FileNotFound|NotADirectory)Error: .*?(?<![\w/.:])(?P<path>/[^\s'\":,;)\]]+)"),
)

MAX_LAYERS = 8  # texts inside of texts
MAX_LETTERS = 300

_CODES = re.compile(r"\x1b\[[0-9;]*m")
_KIND = r"(?P<kind>(?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*)"
_LAST_OF_TRACEBACK = re.compile(rf"^{_KIND}(?:: (?P<rest>.*))?$", re.DOTALL)
_NAMES_AN_ERROR = re.compile(r"(?:Error|Exception|Warning|Interrupt|Exit|Iteration|Timeout)$|^_pickle\.")
_TRACEBACK = "Traceback (most recent call last):"
_FRAME = re.compile(r'File "(?P<file>[^"\n]+)", line (?P<line>\d+)')
_FRAME_IN = re.compile(r'File "(?P<file>[^"\n]+)", line (?P<line>\d+)(?:, in (?P<function>[\w<>.]+))?')
_LAYER = re.compile(
    r"\AException encountered when calling .*?\n(?P<inner>.*?)(?:\n\s*(?:Arguments|Call arguments) received by .*)?\Z", re.DOTALL
)
_INFERRED = re.compile(r"\ACould not automatically infer the output shape.*?Error encountered:\s*(?P<inner>.*)\Z", re.DOTALL)
_RESTORED = re.compile(r"could not be deserialized properly\..*Exception encountered: (?P<inner>\S.*)\Z", re.DOTALL)
_NUMBERS = re.compile(r",? ?(?:numpy|value)=\s*(?:array|Array)\(.*?\)(?=>)", re.DOTALL)  # of a variable that is printed
_IN_DYNAMO = re.compile(r"got (?P<kind>\w+)\((?P<quote>['\"])(?P<rest>.*?)(?P=quote)\)")
_IN_UNPICKLER = re.compile(
    r"\AWeights only load failed.*?(?P<inner>WeightsUnpickler error: [^\n]*?)(?: Please use |\n|\Z)", re.DOTALL
)
_GRAPH_LINE = re.compile(
    r"^Graph execution error:|^Detected at node |^<stack traces unavailable>|^Node: '|^\s*\[\[|^\d+ root error\(s\) found"
    r"|^\d+ successful op|^\d+ derived errors ignored|^Original stack trace for |^Stack trace for op definition"
)
_OF_GRAPH = re.compile(r"Detected at node |Original stack trace for |Stack trace for op definition")
_PREFIXES = (
    re.compile(r"\A\{\{function_node [^}]*\}\}\s*"),
    re.compile(r"\AError in user-defined function passed to \S+ transformation with iterator: \S+: "),
    re.compile(r"\A\(\d+\) (?:[A-Z_]+: +)?"),
)
_SUFFIX = re.compile(r"\s*(?:\[\[\{\{node [^}]*\}\}\]\]\s*)?\[Op:\w+\](?: name:.*)?\s*\Z", re.DOTALL)
_NODE = re.compile(r"'\{\{node (?P<name>[^}]*)\}\} = [^']*'")
_COMPILED = re.compile(r"\b__(?:inference|forward|backward)_(?P<name>\w+?)_\d+\[[^\]]*\]")  # a function, with how it is compiled
_NODE_AGAIN = re.compile(r"(?<=\))\{\{node [^}]*\}\}")  # behind a sentence that names it
_NODE_ALONE = re.compile(r"\{\{node (?P<name>[^}]*)\}\}")


@dataclass(frozen=True)
class ErrorText:
    """What an error says, in the end."""

    kind: str  # of the innermost error
    message: str  # in one line; empty where it says nothing

    @property
    def line(self) -> str:
        """ValueError: row 5 has no label"""
        return f"{self.name}: {self.message}" if self.message else self.name

    @property
    def name(self) -> str:
        """The kind without its module."""
        return self.kind.rpartition(".")[2]


def find_innermost(kind: str, message: str) -> ErrorText:
    """The kind and the sentence of the error that all the others wrap."""
    text = _NUMBERS.sub("", _CODES.sub("", message)).strip()
    for _ in range(MAX_LAYERS):
        inner = _unwrapped(kind, text)
        if inner == (kind, text):
            break
        kind, text = inner
    sentence = _sentence(text)
    return ErrorText(kind, sentence if len(sentence) <= MAX_LETTERS else f"{sentence[:MAX_LETTERS]}…")


def find_named_places(message: str) -> list[tuple[str, int]]:
    """The files and lines that a message names, as tracebacks do: the innermost last. Where it quotes a traceback, those alone:
    the lines that defined the nodes of a graph ran before."""
    text = _CODES.sub("", message)
    quoted = [_OF_GRAPH.split(part)[0] for part in text.split(_TRACEBACK)[1:]]
    places = [(each["file"], int(each["line"])) for part in quoted for each in _FRAME.finditer(part)]
    return places or [(each["file"], int(each["line"])) for each in _FRAME.finditer(text)]


@dataclass(frozen=True)
class QuotedLine:
    """A line of a traceback that stands in a message."""

    file: str
    line: int
    function: str
    code: str


def find_quoted_lines(message: str) -> list[QuotedLine]:
    """The lines of the innermost traceback in a message, outermost first."""
    lines = _CODES.sub("", message).splitlines()
    start = max((at for at, line in enumerate(lines) if _TRACEBACK in line or "in user code:" in line), default=0)
    rows = []
    for at, line in enumerate(lines[start:], start):
        match = _FRAME_IN.search(line)
        if match and not line.lstrip().startswith("#"):  # a comment in a recorded graph says where an operation comes from
            code = lines[at + 1].strip() if at + 1 < len(lines) and not _FRAME.search(lines[at + 1]) else ""
            rows.append(QuotedLine(match["file"], int(match["line"]), match["function"] or "", code))
    return rows


def _unwrapped(kind: str, text: str) -> tuple[str, str]:
    """The error one layer further inside; itself, if this is all."""
    if text.startswith("in user code:"):
        return _of_last_line(textwrap.dedent(text.partition("\n")[2]).strip()) or (kind, text)
    if _TRACEBACK in text:
        found = _of_last_line(text.rpartition(_TRACEBACK)[2])
        if found is not None:
            return found
    for pattern in (_LAYER, _INFERRED, _IN_UNPICKLER, _RESTORED):
        match = pattern.search(text)
        if match and match["inner"].strip():
            return kind, match["inner"].strip()
    in_dynamo = _IN_DYNAMO.search(text) if "torch._dynamo" in kind else None
    if in_dynamo:
        return in_dynamo["kind"], in_dynamo["rest"]
    return kind, _without_noise(text)


def _of_last_line(traceback: str) -> tuple[str, str] | None:
    """The error that stands below the frames of a traceback; what follows after an empty line is not its own."""
    lines = traceback.splitlines()
    frames = [number for number, line in enumerate(lines) if _FRAME.search(line)]
    for number in range(frames[-1] + 1 if frames else 0, len(lines)):
        match = _LAST_OF_TRACEBACK.match(lines[number]) if lines[number][:1].strip() else None
        if match and (_NAMES_AN_ERROR.search(match["kind"]) or frames):
            rest = "\n".join([match["rest"] or "", *lines[number + 1 :]])
            return match["kind"], rest.strip()
    return None


def _without_noise(text: str) -> str:
    if _GRAPH_LINE.search(text):
        text = _without_nodes(text)
    for prefix in _PREFIXES:
        text = prefix.sub("", text)
    return _SUFFIX.sub("", text).strip()


def _without_nodes(text: str) -> str:
    """Without the names of nodes and the lines that defined them."""
    kept: list[str] = []
    in_frame = False
    for line in text.splitlines():
        if _FRAME.match(line.strip()) and line.startswith(" "):
            in_frame = True
        elif not _GRAPH_LINE.search(line) and not (in_frame and (line.startswith("    ") or not line.strip())):
            in_frame = False
            kept.append(line.strip())
    return "\n".join(kept).strip()


def _sentence(text: str) -> str:
    """The first line; with the next one where it only announces that."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        return ""
    first = f"{lines[0]} {lines[1]}" if lines[0].endswith(":") and len(lines) > 1 else lines[0]
    first = _NODE.sub(lambda match: f"'{match['name']}'", first)
    return _NODE_ALONE.sub(r"\g<name>", _NODE_AGAIN.sub("", _COMPILED.sub(r"\g<name>", first)))


def find_missing_path(text: str) -> str | None:
    """The path that an error's text ('kind: message') says is not there."""
    text = _CODES.sub("", text)
    for pattern in _MISSING:
        found = pattern.search(text)
        if found:
            return found["path"]
    return None
