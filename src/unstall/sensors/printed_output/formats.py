"""One printed line to what it says of a training: a step, of how many, an epoch, losses. Pure, and None for any other line.

Known by their form: the progress lines of Keras, tqdm bars (Lightning, Hugging Face, Ultralytics with their tables), Darknet.
All others are read as pairs of names and numbers, in whatever order and with whatever signs between: `step 20 loss 0.51`,
`loss = 0.34, step = 200`, `{'loss': 0.5, 'epoch': 1.2}`, `Epoch: [3][20/100]  loss: 0.51 (0.62)`. A line in which too many other
words stand is a sentence, and says nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_NUMBER = r"[-+]?(?:\d[\d,]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_NOT_FINITE = r"[-+]?(?:nan|inf(?:inity)?)(?:\.0|16|32|64)?"
_WRAPPER = r"(?:(?:tf\.|torch\.|np\.|jnp\.)?(?:tensor|Tensor|array|Array|float(?:16|32|64))\()?"
_VALUE = rf"['\"]?{_WRAPPER}(?P<value>{_NUMBER}|{_NOT_FINITE})(?![\w%/]|\.\d|:\d)"
_LOSS = re.compile(
    r"(?P<key>(?<![\w/.@-])[\w/.@-]*loss[\w/.@-]*)['\"]?(?:\s*\((?P<of>[a-z ]{1,12})\))?"
    rf"(?:\s*(?:->|[:=|])\s*|\s+){_VALUE}",
    re.IGNORECASE,
)
_STEP = re.compile(
    r"(?<![\w/])(?:global[_ ]?)?(?:step|iter(?:ation)?|it|batch|mini-?batch|update)\b['\"]?\s*[:=#]?\s*[\[(]?\s*"
    r"(?P<step>\d[\d,]*)(?![\w.%])(?:\s*(?:/|of|out of)\s*(?P<of>\d[\d,]*))?",
    re.IGNORECASE,
)
_EPOCH = re.compile(
    r"(?<![\w/])epoch(?:\([a-z]+\))?['\"]?\s*[:=#]?\s*\[?\s*['\"]?(?P<epoch>\d+(?:\.\d+)?)\]?"
    r"(?:\s*(?:/|of|out of)\s*(?P<epochs>\d+)\]?)?"
    r"(?:[,:]?\s*[\[(]\s*(?P<step>\d+)\s*(?:/|of)\s*(?P<of>\d+))?",
    re.IGNORECASE,
)
_PAIR = re.compile(
    rf"(?<![\w/.@-])[\w/.@-]+['\"]?\s*[:=]\s*(?:{_WRAPPER}(?:{_NUMBER}|{_NOT_FINITE}|None|True|False)\)?|\S+)", re.IGNORECASE
)
_KERAS = re.compile(r"^\s*(?P<step>\d+)/(?P<of>\d+|Unknown)\s*(?:\[[=>.]*\]|[━╸╺─ ]*[━╸╺─][━╸╺─ ]*|(?=-\s))(?P<rest>.*)$")
_KERAS_TIME = re.compile(r"(?:ETA:|\d+[smh]\b|\d+:\d\d|\d+(?:us|ms|s)/(?:step|sample|epoch))")
_BAR = re.compile(r"^(?P<before>.*?)(?:\d{1,3}%\|[^|]*\|\s*)(?P<step>\d+)/(?P<of>\d+)\s*\[(?P<time>[\d:]+)<[^,\]]*(?P<rest>.*)$")
_THIN_BAR = re.compile(r"^(?P<before>.*?)\d{1,3}% [━╸╺─]{4,} (?P<step>\d+)/(?P<of>\d+)(?P<rest>\s.*)?$")  # of Ultralytics
_COUNT = re.compile(r"^(?P<before>[^\d]*?)(?P<step>\d+)it \[(?P<time>[\d:]+),(?P<rest>.*)$")
_DARKNET = re.compile(
    rf"^\s*(?P<step>\d+):\s*(?:{_NUMBER}|{_NOT_FINITE}),\s*(?P<value>{_NUMBER}|{_NOT_FINITE})\s+avg\b", re.IGNORECASE
)
_TABLE_HEAD = re.compile(r"^\s*Epoch\s+GPU_mem\s+(?P<columns>.*)$", re.IGNORECASE)
_TABLE_ROW = re.compile(r"^\s*(?P<epoch>\d+)/(?P<epochs>\d+)\s+[\d.]+[MG]?\s+(?P<cells>[-+\w.\s]+?)(?::|$)")

_ASIDE_WORD = (
    r"(?:val|valid|validat\w+|eval|evaluat\w+|test|testing|dev|sanity|predict\w*|infer\w*|benchmark\w*"
    r"|trials?|sweep|candidate|experiment|saving dict)"
)
_ASIDE = re.compile(rf"(?<![\w/.-]){_ASIDE_WORD}\b", re.IGNORECASE)
_TRAIN = re.compile(r"(?<![\w/.-])train\w*", re.IGNORECASE)
_NOT_OF_NOW = re.compile(
    rf"(?:{_ASIDE_WORD}|best|min|minimum|lowest|max|prev|previous|last|target|initial|final|old|stop|threshold|weight|scale|factor)$",
    re.IGNORECASE,
)
_KEY_PARTS = re.compile(r"[/_.@-]+")
_NOT_OF_TRAINING = frozenset({
    "val", "valid", "validation", "eval", "evaluation", "test", "dev", "best", "min", "lowest", "prev", "previous", "last",
    "target", "weight", "weights", "scale", "scaler", "factor", "coef", "coeff", "coefficient", "lambda", "fn", "function",
    "type", "name", "rate", "threshold", "count", "ratio", "stop", "alpha", "beta", "gamma", "delta", "bound", "limit", "margin",
})  # fmt: skip
_TOTAL = frozenset(
    {"loss", "total", "train", "training", "step", "avg", "average", "mean", "running", "batch", "epoch", "overall"}
)
_PREFIX = re.compile(
    r"^(?:\W*(?:\d{4}-\d\d-\d\d|\d\d:\d\d:\d\d|[IWED]\d{4})[\d\s:.,TZ+-]*|\W*(?:INFO|WARNING|DEBUG|ERROR|WARN)\b\W*"
    r"|(?:tensorflow|root|absl|__main__|lightning\S*|transformers\S*)\s*[:\]-]\s*|\W*[\w./]+(?:\.py)?:\d+\]?\s*[-:]?\s*)*"
)
_SOURCE_LINE = re.compile(r"\s+[\w.\s=,]*\w\([^'\"]*=.*\)$")  # of a traceback: a call with an argument by its name
_WORD = re.compile(r"[^\W\d_]{3,}")
MAX_WORDS, MAX_WORDS_WITHOUT_STEP = 5, 3
MAX_STEP = 10**12


@dataclass(frozen=True)
class Reading:
    """What one line says. `is_aside`: of a validation or a test, or of something that is no training at all."""

    style: str  # keras | bar | table | darknet | pairs
    step: int | None = None
    of: int | None = None
    epoch: float | None = None
    epochs: int | None = None
    losses: dict[str, float] = field(default_factory=dict)  # by the name that was printed
    is_aside: bool = False
    label: str = ""  # what stands before a bar: several bars may be drawn by turns
    belongs_to_last: bool = False  # it names no step: it is part of what was printed before it
    columns: tuple[str, ...] = ()  # of a table whose head this is

    @property
    def loss(self) -> tuple[str, float] | None:
        """(name, value): the total where one is printed, else the sum of its parts."""
        if not self.losses:
            return None
        total = next((name for name in self.losses if is_total(name)), None)
        if total is not None:
            return total, self.losses[total]
        return " + ".join(self.losses), sum(self.losses.values())


def read_line(line: str, columns: tuple[str, ...] = ()) -> Reading | None:
    """`columns`: of the table whose head was printed last."""
    if _FIGURE.search(line) is None:
        return None
    for read in (_keras, _darknet, _bar):
        found = read(line)
        if found is not None:
            return _with_row(found, line, columns)
    head = _TABLE_HEAD.match(line)
    if head is not None:
        return Reading("table", columns=tuple(head["columns"].split()), is_aside=True)
    return _row(line, columns) or _pairs(line)


_FIGURE = re.compile(r"\d|nan|inf", re.IGNORECASE)


def parse_number(text: str) -> float:
    """Some bars write nan.0, and Julia NaN32."""
    text = text.replace(",", "").lower()
    return float(re.sub(r"[\d.]+$", "", text) if "n" in text else text)


def is_total(name: str) -> bool:
    return set(_parts(name)) <= _TOTAL


def _parts(name: str) -> list[str]:
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)
    return [part.lower() for part in _KEY_PARTS.split(spaced.replace(" ", "_")) if part]


def find_losses(text: str) -> dict[str, float]:
    """Training losses by name; those of a validation, the best so far, weights of losses and the like are left out."""
    found: dict[str, float] = {}
    for match in _LOSS.finditer(text):
        before = text[max(0, match.start() - 24) : match.start()].rstrip(" '\"_-")
        words = [*_parts(match["key"]), *_parts(match["of"] or "")]
        if "loss" not in words or _NOT_OF_TRAINING & set(words) or _NOT_OF_NOW.search(before):
            continue
        found.setdefault(match["key"].strip("-./"), parse_number(match["value"]))
    return found


# --- forms that are known ---


def _keras(line: str) -> Reading | None:
    match = _KERAS.match(line)
    if match is None or not _KERAS_TIME.search(match["rest"]):
        return None
    of = None if match["of"] == "Unknown" else int(match["of"])
    step = int(match["step"])
    if of is not None and not step <= of <= MAX_STEP:
        return None
    return Reading("keras", step, of, losses=find_losses(match["rest"]))


def _darknet(line: str) -> Reading | None:
    match = _DARKNET.match(line)
    return (
        Reading("darknet", int(match["step"]), losses={"avg loss": parse_number(match["value"])}) if match is not None else None
    )


def _bar(line: str) -> Reading | None:
    match = _BAR.match(line) or _THIN_BAR.match(line) or _COUNT.match(line)
    if match is None:
        return None
    before = match["before"]
    of = int(match["of"]) if "of" in match.groupdict() else None
    epoch = _EPOCH.search(before)
    losses = find_losses(match["rest"] or "") or find_losses(before)
    is_aside = _is_aside(before) or (bool(_WORD.search(_PREFIX.sub("", before))) and epoch is None and not losses
                                     and not _TRAIN.search(before))  # fmt: skip
    epochs = int(epoch["epochs"]) if epoch is not None and epoch["epochs"] else None
    return Reading(
        "bar", int(match["step"]), of, float(epoch["epoch"]) if epoch else None, epochs, losses, is_aside, _label(before)
    )


def _label(before: str) -> str:
    return re.sub(r"\d+", "#", before.strip())[:40]


def _with_row(found: Reading, line: str, columns: tuple[str, ...]) -> Reading:
    """A bar may stand behind the row of a table."""
    row = _row(line, columns) if found.style == "bar" else None
    if row is None:
        return found
    return Reading("table", found.step, found.of, row.epoch, row.epochs, row.losses)


def _row(line: str, columns: tuple[str, ...]) -> Reading | None:
    match = _TABLE_ROW.match(line) if columns else None
    if match is None:
        return None
    cells = match["cells"].split()
    if len(cells) < len(columns) - 1 or int(match["epoch"]) > int(match["epochs"]):
        return None
    losses = {}
    for name, cell in zip(columns, cells, strict=False):
        if "loss" in name.lower() and re.fullmatch(rf"{_NUMBER}|{_NOT_FINITE}", cell, re.IGNORECASE):
            losses[name] = parse_number(cell)
    return Reading("table", None, None, float(match["epoch"]), int(match["epochs"]), losses) if losses else None


# --- names and numbers ---


def _pairs(line: str) -> Reading | None:
    if _SOURCE_LINE.match(line) is not None:
        return None
    text = _PREFIX.sub("", line)
    step, epoch, losses = _STEP.search(text), _EPOCH.search(text), find_losses(text)
    if step is None and epoch is None and not losses:
        return None
    has_place = step is not None or epoch is not None
    if _free_words(text) > (MAX_WORDS if has_place else MAX_WORDS_WITHOUT_STEP):
        return None
    number_of, of = _place(step, epoch)
    return Reading(
        "pairs",
        number_of,
        of,
        float(epoch["epoch"]) if epoch is not None else None,
        int(epoch["epochs"]) if epoch is not None and epoch["epochs"] else None,
        losses,
        is_aside=_is_aside(_lead(text)),
        belongs_to_last=not has_place,
    )


def _place(step: re.Match[str] | None, epoch: re.Match[str] | None) -> tuple[int | None, int | None]:
    """(step, of how many), which some print in brackets behind the epoch."""
    for match in (step, epoch):
        if match is not None and match["step"]:
            number_of = int(match["step"].replace(",", ""))
            of = int(match["of"].replace(",", "")) if match["of"] else None
            return (number_of, of) if number_of <= MAX_STEP else (None, None)
    return None, None


def _lead(text: str) -> str:
    """What stands before the first loss, or the first number."""
    loss, digit = _LOSS.search(text), re.search(r"\d", text)
    ends = [match.start() for match in (loss, digit) if match is not None]
    return text[: min(ends)] if ends else text


def _is_aside(lead: str) -> bool:
    return _ASIDE.search(lead) is not None and not _TRAIN.search(lead)


def _free_words(text: str) -> int:
    """Words that belong to no pair: many in a sentence, few in a line of figures."""
    rest = _EPOCH.sub(" ", _STEP.sub(" ", _LOSS.sub(" ", text)))
    return len(_WORD.findall(_PAIR.sub(" ", rest)))
