"""The class of every command: an option that it does not have is refused with the one to use instead."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from unstall.config.aliases import find_argument, suggest_option, suggest_training_option


class Command(click.Command):
    """A command that knows what its options were called before, and what other trainers call them."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        typed = list(args)
        try:
            rest = super().parse_args(ctx, args)
        except click.NoSuchOption as error:  # where there is no hint, click has found the nearest options
            if hint := self._hint_for_option(error.option_name, ctx):
                message = f"No such option '{error.option_name}': {hint}."
                raise click.NoSuchOption(error.option_name, message, ctx=ctx) from None
            raise
        except click.UsageError as error:
            if hint := self._hint_for_words(self._positional(typed), is_refused="extra argument" in error.message):
                raise click.UsageError(hint, ctx) from None
            raise
        if hint := self._hint_for_words(self._positional(typed), is_refused=False):
            raise click.UsageError(hint, ctx)
        return rest

    def _options(self) -> list[str]:
        """Without dashes, as Python names them."""
        names = (name for each in self.params if isinstance(each, click.Option) for name in (*each.opts, *each.secondary_opts))
        return [name.lstrip("-").replace("-", "_") for name in names]

    def _positional(self, typed: Sequence[str]) -> Iterator[str]:
        """The words that are neither an option nor its value."""
        takes_value = {
            name
            for each in self.params
            if isinstance(each, click.Option) and not each.is_flag and not each.count
            for name in each.opts
        }
        is_value = False
        for word in typed:
            if not is_value and not word.startswith("-"):
                yield word
            is_value = not is_value and word in takes_value

    def _hint_for_option(self, name: str, ctx: click.Context) -> str:
        if hint := suggest_option(name, self._options()):
            return hint
        arguments = {each.name or "": each for each in self.params if isinstance(each, click.Argument)}
        meant = find_argument(name, arguments)
        if meant:
            return f"write `{ctx.command_path} {arguments[meant].make_metavar(ctx)}`"
        return suggest_training_option(name, self._options())

    def _hint_for_words(self, words: Iterator[str], is_refused: bool) -> str:
        """For `lr0=0.01` of Ultralytics and `SOLVER.BASE_LR 0.01` of Detectron2, which have no dashes. A word without '=' may
        be an argument, unless the command has refused it; a file may be called as it likes."""
        for word in words:
            name, equals, _ = word.partition("=")
            if not (equals or is_refused) or Path(word).exists():
                continue
            is_option = name.replace("-", "_") in self._options() and bool(equals)
            if hint := f"use --{name.replace('_', '-')}" if is_option else suggest_option(name, self._options()):
                return f"No such argument '{word}': {hint}. Options begin with two dashes."
        return ""
