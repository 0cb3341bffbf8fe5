"""The command line. A command is a file of this folder: its name is the command's, its docstring the help.

Commands are loaded when they are called, so that `unstall --help` stays quick. Here, and only here, an error of
Unstall's own becomes an exit code.
"""

from __future__ import annotations

import ast
import difflib
import pkgutil
import sys
from importlib import import_module
from pathlib import Path

import click

from unstall import __version__
from unstall.errors import UnstallError, WrongInput


class Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return command_names()

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in command_names():
            return None
        command: click.Command = import_module(f"{__name__}.{cmd_name}").command
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in command_names() and not args[0].startswith("-"):
            near = difflib.get_close_matches(args[0], command_names(), n=1)
            hint = f"Did you mean '{near[0]}'? " if near else ""
            raise WrongInput(f"There is no command '{args[0]}'. {hint}Commands: {', '.join(command_names())}.")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The first line of each file's docstring, read without loading the file."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, first_line(name)) for name in command_names()])


def command_names() -> list[str]:
    return sorted(info.name for info in pkgutil.iter_modules(__path__))


def first_line(name: str) -> str:
    source = (Path(__file__).parent / f"{name}.py").read_text(encoding="utf-8")
    return (ast.get_docstring(ast.parse(source)) or "").partition("\n")[0]


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
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
