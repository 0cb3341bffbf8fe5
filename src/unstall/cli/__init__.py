"""The command line. A command is a file of this folder: its name is the command's, its docstring the help.

Commands are loaded when they are called, so that `unstall --help` stays quick. Here, and only here, an error of
Unstall's own becomes an exit code.
"""

from __future__ import annotations

import ast
import pkgutil
import sys
from importlib import import_module
from pathlib import Path

import click

from unstall import __version__
from unstall.errors import UnstallError


class Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return command_names()

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in command_names():
            return None
        command: click.Command = import_module(f"{__name__}.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The first line of each file's docstring, read without loading the file."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, first_line(name)) for name in command_names()])


def command_names() -> list[str]:
    return sorted(info.name for info in pkgutil.iter_modules(__path__))


def first_line(name: str) -> str:
    source = (Path(__file__).parent / f"{name}.py").read_text(encoding="utf-8")
    return (ast.get_docstring(ast.parse(source)) or "").partition("\n")[0]


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="unstall")
def group() -> None:
    """Why a TensorFlow or Keras training hangs, starves, dies or learns nothing.

    Stuck right now: unstall attach PID. From the start: unstall run -- python train.py
    """


def main() -> None:
    try:
        group(standalone_mode=True)
    except UnstallError as error:
        sys.stderr.write(f"unstall: {error}\n")
        sys.exit(error.exit_code)
