"""``ltr-duel serve``: serve a live experiment behind a search page."""

from __future__ import annotations

from pathlib import Path

import click

from ltr_duel import live
from ltr_duel.cli import _options as options
from ltr_duel.cli._options import COUNT, PATH
from ltr_duel.cli._output import end
from ltr_duel.cli._signals import interruption
from ltr_duel.cli._words import Command
from ltr_duel.core import InputError


@click.command(cls=Command)
@click.argument("config", type=PATH)
@click.option("--host", default="", help="Address to listen on.  [default: the host in CONFIG, or 127.0.0.1]")
@click.option("--port", type=COUNT, help="Port, 0 for any free port.  [default: the port in CONFIG, or 8080]")
@options.plugin
def command(config: Path, host: str, port: int | None) -> None:
    """Serve the live experiment of the TOML file CONFIG, until SIGTERM or Ctrl-C stops the service.

    POST /decide returns the page of a search, POST /events receives views and clicks, and / shows the state of the
    experiment. The API key is read from LTR_DUEL_API_KEY or from the file 'api_key_file', by default api.key beside
    CONFIG. The first start makes this file, and the file 'key_file' with the secret that signs tokens.
    """
    try:
        run_service = live.run_service
    except ImportError as error:
        raise InputError(
            f"serving needs {error.name}: pip install 'ltr-duel[serve]', or '.[serve]' in the folder of the source"
        ) from None
    try:
        run_service(config, host=host, port=port, ready=_print_address)
    except KeyboardInterrupt:
        end(interruption()[0])


def _print_address(url: str, key_file: Path | None) -> None:
    click.echo(f"listening on {url}" + (f"\nthe API key is in {key_file}" if key_file else ""))
