"""The programs that are run on every stack, with what is true of each. A program begins with a block of TOML in comments:

    # /// program
    # cause = "generator_blocked"    "" for a healthy one
    # also = []                      causes that are true too
    # where = "BLOCKED HERE"         the comment on the lines of which the verdict should name one; "" if none can be known
    # ends = "hangs"                 hangs | crashes | exits
    # steps = 39                     the last step that must have been seen, or a later one
    # ///

Optional: loss = true (a loss must have been seen), epochs = 3 (so many), waits_in = "openat" (there is no cause for it, but the threads are
listed: one in this system call, and the main thread at the line of `where`), compare = true (exit code and output must be as
without Unstall).
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent / "programs"


@dataclass(frozen=True)
class Program:
    path: Path
    cause: str
    where: tuple[int, ...]
    ends: str
    steps: int | None = None
    also: tuple[str, ...] = ()
    loss: bool = False
    epochs: int | None = None
    waits_in: str = ""
    compare: bool = False

    @property
    def name(self) -> str:
        return self.path.stem

    @property
    def is_healthy(self) -> bool:
        return self.name.startswith("healthy_")

    @property
    def hangs(self) -> bool:
        return self.ends == "hangs"


def load(path: Path) -> Program:
    text = path.read_text(encoding="utf-8")
    begin, end = "# /// program\n", "# ///\n"
    if not text.startswith(begin) or end not in text:
        raise ValueError(f"{path.name}: expected a block from '# /// program' to '# ///' at the top")
    block = text[len(begin) : text.index(f"\n{end}") + 1]
    fields = tomllib.loads("\n".join(line.removeprefix("#") for line in block.splitlines()))
    lines = list(enumerate(text.splitlines(), 1))

    def marked(mark: str) -> tuple[int, ...]:
        found = tuple(number for number, line in lines if mark and line.endswith(f"# {mark}"))
        if mark and not found:
            raise ValueError(f"{path.name}: no line ends with '# {mark}'")
        return found

    return Program(
        path=path,
        cause=fields.pop("cause"),
        where=marked(fields.pop("where", "")),
        also=tuple(fields.pop("also", ())),
        **fields,
    )


def programs(framework: str) -> list[Program]:
    return [load(path) for path in sorted((FOLDER / framework).glob("*.py"))]
