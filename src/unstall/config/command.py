"""The class of every command: an option that it does not have is refused with the one to use instead."""

from __future__ import annotations

from collections.abc import Sequence

import click

from unstall.config.aliases import option_hint


class Command(click.Command):
    """A command that knows what its options were called before, and what other trainers call them."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        typed = list(args)
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:  # where there is no hint, click has found the nearest options
            if hint := option_hint(error.option_name, self._options()):
                said = f"No such option '{error.option_name}': {hint}."
                raise click.NoSuchOption(error.option_name, said, ctx=ctx) from None
            raise
        except click.UsageError as error:
            if "extra argument" in error.message and (hint := self._hint_for_words(typed)):
                raise click.UsageError(hint, ctx) from None
            raise

    def _options(self) -> list[str]:
        """Without dashes, as Python names them."""
        names = (name for parameter in self.params for name in (*parameter.opts, *parameter.secondary_opts))
        return [name.lstrip("-").replace("-", "_") for name in names]

    def _hint_for_words(self, typed: Sequence[str]) -> str:
        """For `lr0=0.01` of Ultralytics and `SOLVER.BASE_LR 0.01` of Detectron2, which have no dashes."""
        for word in typed:
            name = word.partition("=")[0]
            is_option = name.replace("-", "_") in self._options() and "=" in word
            hint = f"use --{name.replace('_', '-')}" if is_option else option_hint(name, self._options())
            if hint and not word.startswith("-"):
                return f"No such argument '{word}': {hint}. Options begin with two dashes."
        return ""
