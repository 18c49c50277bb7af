"""The words a user types: what is suggested for a misspelt command, and what the shell completes.

The shell completes after ``eval "$(_LTR_DUEL_COMPLETE=bash_source ltr-duel)"`` (or ``zsh_source``, ``fish_source``).
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable

import click

from ltr_duel.core import errors

Completion = Callable[[click.Context, click.Parameter, str], list[str]]


class Commands(click.Group):
    """A group that answers a misspelt command with the nearest one and all others."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that the first word names."""
        wanted = args[0]
        if not ctx.resilient_parsing and not wanted.startswith("-") and self.get_command(ctx, wanted) is None:
            raise errors.unknown_name("command", wanted, self.list_commands(ctx))
        return super().resolve_command(ctx, args)


def _names_in(registry: str) -> Completion:
    """Complete the names in the registry that lies there, which is only imported when the shell asks.

    Of several names with commas between them, the last one.
    """

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
        before, comma, begun = incomplete.rpartition(",")
        names = pkgutil.resolve_name(registry).names()
        return [before + comma + name for name in names if name.startswith(begun)]

    return complete


policy_names = _names_in("ltr_duel.bandits:POLICIES")
method_names = _names_in("ltr_duel.interleaving:METHODS")
click_model_names = _names_in("ltr_duel.clicks:CLICK_MODELS")
