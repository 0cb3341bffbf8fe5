"""What changed in the source of a program: lines with their file and number, without what cannot matter (comments, blanks)."""

from __future__ import annotations

import ast
import difflib
import io
import re
import tokenize
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

MAX_LINES_COMPARED = 20_000  # of a file; difflib is quadratic at its worst
MAX_CHANGES = 200
MAX_USES = 20
_ASSIGNED = re.compile(r"^([A-Za-z_]\w*)\s*(?::[^=]+)?=[^=]")
_SET = re.compile(r"""(?P<name>['"]?[\w.@/-]+['"]?)\s*(?P<sign>[:=])\s*(?P<value>[^\s:=\[({].*?),?""")  # of a configuration
_NUMBER = re.compile(r"(?<![\w.])\d[\d_]*\.?\d*(?:[eE][-+]?\d+)?(?![\w])")


@dataclass(frozen=True)
class Change:
    """Some lines that became others. Either may be none."""

    file: str
    line: int  # in the newer file, from 1
    before: tuple[str, ...]
    after: tuple[str, ...]
    uses: tuple[str, ...] = ()  # lines that use a name which these lines give a value

    @property
    def where(self) -> str:
        return f"{self.file}:{self.line}"

    @property
    def lines(self) -> tuple[str, ...]:
        return (*(f"- {line}" for line in self.before), *(f"+ {line}" for line in self.after))

    @property
    def text(self) -> str:
        return "\n".join((*self.before, *self.after))

    @property
    def only_imports(self) -> bool:
        return all(line.startswith(("import ", "from ")) for line in (*self.before, *self.after))

    @property
    def names(self) -> tuple[str, ...]:
        """Names that these lines give a value."""
        return tuple(match[1] for line in self.after if (match := _ASSIGNED.match(line)))

    def turns(self, before: Any, after: Any) -> bool:
        """Whether it writes `after` where `before` stood: numbers by their value, words as words."""
        if before == after:
            return False
        return _holds(self.before, before) and _holds(self.after, after)

    def writes(self, value: Any) -> bool:
        return _holds(self.after, value) and not _holds(self.before, value)

    def wrote(self, value: Any) -> bool:
        return _holds(self.before, value) and not _holds(self.after, value)

    @property
    def is_program(self) -> bool:
        return self.file.endswith(".py")

    @property
    def words(self) -> str:
        """`SIZE = 10 → SIZE = 90`; of a configuration, where the name stays the same, `learning_rate_base: 0.08 → 1000`."""
        was, is_now = (_SET.fullmatch(lines[0]) if len(lines) == 1 else None for lines in (self.before, self.after))
        if not self.is_program and was and is_now and was["name"] == is_now["name"]:
            return f"{_cut(was['name'] + was['sign'])} {_cut(was['value'])} → {_cut(is_now['value'])}"
        removed, added = " / ".join(self.before[:3]), " / ".join(self.after[:3])
        return (
            f"{_cut(removed)} → {_cut(added)}"
            if removed and added
            else f"new: {_cut(added)}"
            if added
            else f"gone: {_cut(removed)}"
        )


def find_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Change]:
    """Of all files that both runs have recorded, or one of them."""
    found: list[Change] = []
    for file in sorted({*before, *after}):
        old, new = _entry(before, file), _entry(after, file)
        if old.get("sha256") is not None and old.get("sha256") == new.get("sha256"):
            continue
        if file not in before or file not in after:
            entry = new if file in after else old
            count = int(entry.get("lines") or 0)
            text = (f"({count:,} lines)",)
            found.append(Change(file, 1, () if file in after else text, text if file in after else ()))
        else:
            found += find_file_changes(file, str(old.get("text") or ""), str(new.get("text") or ""))
    return found[:MAX_CHANGES]


def find_file_changes(file: str, before: str, after: str) -> list[Change]:
    if _means_the_same(before, after):
        return []
    old, new = _code_lines(before), _code_lines(after)
    if max(len(old), len(new)) > MAX_LINES_COMPARED:
        return [Change(file, 1, (f"({len(old):,} lines)",), (f"({len(new):,} lines)",))]
    matcher = difflib.SequenceMatcher(None, [line for _, line in old], [line for _, line in new], autojunk=False)
    found: list[Change] = []
    for tag, old_from, old_to, new_from, new_to in matcher.get_opcodes():
        if tag != "equal":
            found += _of_block(file, old[old_from:old_to], new[new_from:new_to], new, new_from)
    return [replace(change, uses=_uses(change, new)) for change in found]


def _uses(change: Change, lines: list[tuple[int, str]]) -> tuple[str, ...]:
    """`READERS = 1` says little; `map(read, num_parallel_calls=READERS)` says what it is."""
    pattern = re.compile(rf"\b({'|'.join(change.names)})\b") if change.names else None
    found = [line for _, line in lines if pattern and pattern.search(line) and line not in change.after]
    return tuple(found[:MAX_USES])


def _of_block(
    file: str, old: list[tuple[int, str]], new: list[tuple[int, str]], all_new: list[tuple[int, str]], at: int
) -> list[Change]:
    """As many lines as before: each became its successor. Else the block as a whole."""
    if len(old) == len(new):
        return [Change(file, number, (was,), (is_now,)) for (_, was), (number, is_now) in zip(old, new, strict=True)]
    line = new[0][0] if new else all_new[min(at, len(all_new) - 1)][0] if all_new else 1
    return [Change(file, line, tuple(text for _, text in old), tuple(text for _, text in new))]


def _means_the_same(before: str, after: str) -> bool:
    """Whether only comments, blanks or the form differ."""
    try:
        return ast.dump(_without_docstrings(ast.parse(before))) == ast.dump(_without_docstrings(ast.parse(after)))
    except (SyntaxError, ValueError, RecursionError):
        return before == after


def _without_docstrings(tree: ast.AST) -> ast.AST:
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(node, ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and body:
            first = body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
                node.body = body[1:]
    return tree


def _code_lines(source: str) -> list[tuple[int, str]]:
    """Lines that hold code, with their numbers; comments and blanks around them are gone."""
    lines = source.splitlines()
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.COMMENT:
                row, column = token.start
                lines[row - 1] = lines[row - 1][:column]
    except (tokenize.TokenError, SyntaxError, IndexError):
        pass  # not Python, or torn: its lines as they stand
    return [(number, text) for number, line in enumerate(lines, 1) if (text := " ".join(line.split()))]


def _entry(files: Mapping[str, Any], file: str) -> dict[str, Any]:
    entry = files.get(file)
    return entry if isinstance(entry, dict) else {}


def _holds(lines: tuple[str, ...], value: Any) -> bool:
    text = "\n".join(lines)
    if isinstance(value, bool) or value is None:
        return str(value) in text
    if isinstance(value, int | float):
        return any(abs(number - value) <= 1e-9 + 1e-6 * abs(value) for number in _numbers(text))
    return len(str(value)) > 1 and re.search(rf"(?<!\w){re.escape(str(value))}(?!\w)", text, re.IGNORECASE) is not None


def _numbers(text: str) -> list[float]:
    found = []
    for match in _NUMBER.findall(text):
        try:
            found.append(float(match.replace("_", "")))
        except ValueError:
            continue
    return found


def _cut(text: str) -> str:
    return text if len(text) <= 90 else f"{text[:87]}…"
