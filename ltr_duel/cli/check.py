"""``ltr-duel check``: whether components of your own keep the contracts."""

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
    """Check all components that the plug-in FILE registers: policies, methods, click models, corpora, kinds of rankers.

    Exit code: 0 all keep the contract of their kind; 1 some do not; 2 the file cannot be loaded.
    """
    plugin = plugins.load_plugin(file)  # which makes all kinds known
    registries = {registry.kind: registry for registry in components.REGISTRIES}
    broken = False
    for kind, name in plugin.components:
        try:
            registries[kind].check(name)
            click.echo(f"{kind} '{name}' keeps the contract")
        except InputError as error:
            click.echo(str(error))
            broken = True
        except (Exception, SystemExit) as error:
            complaint = plugins.plugin_complaint(error) or f"{type(error).__name__}: {error}"
            click.echo(f"{kind} '{name}': {complaint}")
            broken = True
    sys.exit(1 if broken else 0)
