"""The command line. A command is a file of this folder: its name is the command's, its docstring the help.

A folder in this folder is a group of commands: `data/check.py` is `unstall data check`. Commands are loaded when they are
called, so that `unstall --help` stays quick. Here, and only here, an error of Unstall's own becomes an exit code.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

import click

from unstall import __version__
from unstall.base.console import print_what_the_stream_has
from unstall.base.errors import InvalidInputError, UnstallError, name_missing_packages
from unstall.base.formatting import strip_codes
from unstall.base.redact.text import redact_text
from unstall.base.registry import Registry
from unstall.config.aliases import COMMANDS_ELSEWHERE, OLD_COMMANDS
from unstall.config.command import Command
from unstall.supervisor.signals import list_inherited_ignored

FOLDER = Path(__file__).parent
INTERRUPTED = 128 + 2  # by Ctrl-C, as shells have it


def _leave(exit_code: int) -> NoReturn:
    """At once where a framework is loaded: it may still compile in a thread, and crashes when Python is taken apart meanwhile."""
    from unstall.backends import BACKENDS

    if any(backend in sys.modules for backend in BACKENDS):
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, AttributeError):  # gone, or there is none
                stream.flush()
        os._exit(exit_code)
    sys.exit(exit_code)


class Commands(click.Group):
    """The commands of a folder: of this one, or of the group that it is given."""

    group_name = ""  # 'data' for those of data/
    extras = ""  # of pip, with which comes what they need besides Unstall itself

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return self._invoke(ctx)
        except KeyboardInterrupt:  # else it were 1, which here means that something was found or refused
            sys.stderr.write("\nunstall: interrupted.\n")
            _leave(INTERRUPTED)

    def _invoke(self, ctx: click.Context) -> Any:
        if not self.extras:
            return super().invoke(ctx)
        with name_missing_packages(f"unstall {self.group_name}", self.extras):
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(list_group_commands(self.group_name).names())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in list_group_commands(self.group_name).names():
            return None
        return load(f"{self.group_name} {cmd_name}".strip())

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        if not args[0].startswith("-"):
            typed = f"{self.group_name} {args[0]}".strip()
            now = OLD_COMMANDS.get(typed) or COMMANDS_ELSEWHERE.get(typed)
            if now is not None:
                raise InvalidInputError(f"There is no command '{args[0]}'. Use '{now}'.")
            list_group_commands(self.group_name).refuse_unknown(args[0], within=self.group_name)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The first line of each file's docstring, read without loading the file."""
        with formatter.section("Commands"):
            formatter.write_dl(list(list_group_commands(self.group_name).summaries().items()))


class TrainingCommand(Command):
    """A command of the learning half: what it needs besides Unstall itself comes with extras."""

    def invoke(self, ctx: click.Context) -> Any:
        with name_missing_packages(ctx.command_path, "data,tensorflow"):
            return super().invoke(ctx)


# --- options that several commands have: named and explained alike wherever they are ---

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def json_option(what: str) -> Decorator:
    """`what` is what is written: 'the story'. The command has it as `json_target`, for report.json.write."""
    explained = f"Write {what} as JSON; '-' is standard output, and nothing else is printed."
    return click.option("--json", "json_target", metavar="PATH", help=explained)


def write_answer(plain: dict[str, Any], json_target: str | None, show: Callable[[dict[str, Any], Any], None]) -> None:
    """What a command found: as JSON where that was asked for, and for a person unless standard output is to hold JSON alone."""
    from unstall.base.console import create_console
    from unstall.base.formatting import clean_text
    from unstall.report import json

    if json_target:
        json.write(plain, json_target)
    if json_target != "-":
        show(clean_text(plain), create_console())


def data_format_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Of a command that reads a data set: `format_name` and `label_map`."""
    label_map = click.option(
        "--label-map", metavar="FILE", help="Label map or list of classes, if it is not part of the data set."
    )
    known = "Format of the data set: coco, voc, yolo or tfrecord. Without it, it is detected."
    return click.option("--format", "format_name", metavar="FORMAT", help=known)(label_map(function))


def batch_size_option(default: int) -> Decorator:
    """Of a command that computes detections."""
    kind = click.IntRange(1, 1024)
    return click.option("--batch-size", default=default, show_default=True, type=kind, help="Images processed at once.")


def num_classes_option(explained: str) -> Decorator:
    return click.option("--num-classes", type=click.IntRange(1, 100_000), metavar="N", help=explained)


weights_option: Decorator = click.option("--weights", required=True, metavar="FILE", help="A weights file of Unstall.")
backend_option: Decorator = click.option(
    "--backend", metavar="NAME", help="tensorflow, jax or torch; else KERAS_BACKEND, or what is installed."
)


@cache
def list_group_commands(group_name: str) -> Registry:
    """Of the group of this name; of this folder, where it is "". One registry for each, which reads its folder once."""
    return Registry(list_group_commands("").module_name(group_name) if group_name else __name__, "command", hyphens=True)


def list_all_commands() -> list[str]:
    """Each command as it is typed after `unstall`, those of the groups after their group: 'data', 'data check'."""
    return [
        typed
        for name in list_group_commands("").names()
        for typed in (name, *(f"{name} {inner}" for inner in list_inner_names(name)))
    ]


def list_inner_names(typed: str) -> tuple[str, ...]:
    """The commands of a group; of a command that is none, nothing."""
    return list_group_commands(typed).names() if find_source_file(typed).name == "__init__.py" else ()


def load(typed: str) -> click.Command:
    command: click.Command = import_module(name_module(typed)).command
    return command


def name_module(typed: str) -> str:
    group_name, _, name = typed.rpartition(" ")
    return list_group_commands(group_name).module_name(name)


def find_source_file(typed: str) -> Path:
    group_name, _, name = typed.rpartition(" ")
    return list_group_commands(group_name).source_file(name)


def read_first_line(typed: str) -> str:
    group_name, _, name = typed.rpartition(" ")
    return list_group_commands(group_name).summary(name)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="unstall")
def group() -> None:
    """Why a TensorFlow or Keras training hangs, starves, dies or learns nothing.

    Stuck right now: unstall attach PID. From the start: unstall run -- python train.py
    """


def main() -> None:
    print_what_the_stream_has()
    list_inherited_ignored()  # where SIGCHLD is ignored, nobody would know how any process ended that we start
    try:
        group(standalone_mode=True)
    except UnstallError as error:
        sys.stderr.write(f"unstall: {redact_text(strip_codes(str(error)))}\n")
        sys.exit(error.exit_code)
