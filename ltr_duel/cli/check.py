"""``ltr-duel check``: test whether your own policies, methods and click models keep the rules of their kind."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ltr_duel.cli._options import PATH
from ltr_duel.cli._words import Command
from ltr_duel.core import InputError, components, plugins


@click.command(cls=Command)
@click.argument("file", type=PATH)
def command(file: Path) -> None:
    """Check all policies, comparison methods and click models that the Python file FILE registers.

    Exit code: 0 if all keep the rules of their kind, 1 if one breaks a rule, 2 if the file cannot be loaded.
    """
    plugin, broken = plugins.load_plugin(file), False  # also loads the registries of all kinds
    registries = {registry.kind: registry for registry in components.REGISTRIES}
    for kind, name in plugin.components:
        sentence = f"{kind} '{name}' satisfies the contract"
        try:
            registries[kind].check(name)
        except (Exception, SystemExit) as error:
            broken, complaint = True, plugins.plugin_complaint(error) or f"{type(error).__name__}: {error}"
            sentence = str(error) if isinstance(error, InputError) else f"{kind} '{name}': {complaint}"
        click.echo(sentence)
    sys.exit(1 if broken else 0)
