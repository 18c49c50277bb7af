"""Write ``generated/commands.md``, a page with the help of every command, as printed by ``--help``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from pages import written

from ltr_duel.cli.main import cli


def commands(command: click.Command, words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield each command and its help."""
    context = click.Context(command, info_name=" ".join(words), max_content_width=100, terminal_width=100)
    yield words, command.get_help(context)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            if inner is not None and not inner.hidden:
                yield from commands(inner, (*words, name))


def write_page(app: Any) -> None:
    """Write the page."""
    parts = ["# Commands\n\nThe output of `ltr-duel COMMAND --help` for all commands.\n"]
    for words, text in commands(cli, ("ltr-duel",)):
        parts.append(f"## {' '.join(words)}\n\n```text\n{text}\n```\n")
    written(Path(app.srcdir) / "generated" / "commands.md", "\n".join(parts))


def setup(app: Any) -> dict[str, bool]:
    """Write the page before Sphinx reads the sources."""
    app.connect("builder-inited", write_page, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
