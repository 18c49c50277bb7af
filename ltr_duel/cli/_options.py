"""Option types and printing that several commands share."""

from __future__ import annotations

import functools
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from ltr_duel.core import InputError, alone, errors, places, threads

if TYPE_CHECKING:
    import pandas as pd

    from ltr_duel.cli._reading import Reading
    from ltr_duel.core import plugins as core_plugins
    from ltr_duel.data import Dataset
    from ltr_duel.rankers import Rankings


class Count(click.ParamType):  # type: ignore[type-arg]  # generic only in new versions of click
    """A whole number, also written as 1e6 or 1_000_000; perhaps with a least one."""

    name = "count"

    def __init__(self, least: int | None = None) -> None:
        self._least = least

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Parse the number; refuse fractions."""
        try:
            number = int(str(value).replace(",", ""))
        except ValueError:
            try:
                real = float(value)
                number = int(real)
            except (ValueError, OverflowError):
                self.fail(f"'{value}' is not a whole number (for example 1000000 or 1e6)", param, ctx)
            if number != real:
                self.fail(f"'{value}' is not a whole number (for example 1000000 or 1e6)", param, ctx)
        if self._least is not None and number < self._least:
            self.fail(f"must be at least {self._least}, not {number}", param, ctx)
        return number


abscissa_option = click.option(
    "--x",
    type=click.Choice(("steps", "outcomes")),
    default="steps",
    show_default=True,
    help="The abscissa: impressions, or outcomes of pairs of rankers.",
)


class Jobs(Count):
    """A number of threads."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Refuse what nobody has cores for, before any work is done."""
        from ltr_duel.core import parallel

        jobs = super().convert(value, param, ctx)
        parallel.checked_jobs(jobs)
        return jobs


class Place(click.Path):
    """Where a command writes: a place where it cannot is refused before any work is done."""

    def __init__(self, *, folder: bool = False) -> None:
        super().__init__(path_type=Path)
        self._folder = folder

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Look at what is there."""
        path = Path(str(super().convert(value, param, ctx)))
        if not str(value):
            raise InputError("an empty name is no place to write to")
        (places.require_folder_place if self._folder else places.require_file_place)(path)
        return path


COUNT, ROWS = Count(), Count(least=0)
OUT_FILE, OUT_FOLDER = Place(), Place(folder=True)

jobs_option = click.option("--jobs", type=Jobs(), default=-1, show_default="all cores", help="Threads to use.")
most_rankers_option = click.option(
    "--most-rankers",
    type=COUNT,
    default=10_000,
    show_default=True,
    help="Larger matrices are refused, before memory is taken for them.",
)
seed_option = click.option("--seed", type=COUNT, default=0, show_default=True, help="Seed of everything random.")


def _load(ctx: click.Context, param: click.Parameter, paths: tuple[Path, ...]) -> tuple[core_plugins.Plugin, ...]:
    if not paths:
        return ()
    from ltr_duel.core import plugins as core_plugins

    return tuple(map(core_plugins.load_plugin, paths))


def check_once(plugins: Iterable[core_plugins.Plugin]) -> None:
    """Refuse a plug-in policy whose compiled form behaves differently from its Python text.

    Policies in plain Python need no check. A passed check is recorded in the cache, by the digests of the file and of
    this package, and not repeated.
    """
    for plugin in plugins:
        names = [name for kind, name in plugin.components if kind == "policy"]
        if not names:
            continue
        import numba

        from ltr_duel.bandits import POLICIES, check_compiled
        from ltr_duel.core import cache_home, sources

        if numba.config.DISABLE_JIT:
            return
        passed = cache_home() / "checked" / f"{plugin.sha256}-{sources.sources_digest()[:16]}"
        if passed.is_file():
            continue
        for name in names:
            if POLICIES[name].compiled:
                check_compiled(name)
        with suppress(OSError):  # without a record the check is repeated
            passed.parent.mkdir(parents=True, exist_ok=True)
            passed.touch()


def _load_checked(
    ctx: click.Context, param: click.Parameter, paths: tuple[Path, ...]
) -> tuple[core_plugins.Plugin, ...]:
    plugins = _load(ctx, param, paths)
    check_once(plugins)
    return plugins


_PLUGIN: dict[str, Any] = {
    "multiple": True,
    "type": click.Path(path_type=Path),
    "callback": _load,
    "is_eager": True,
    "help": "A Python file with policies, comparison methods, click models or corpora of yours; may be repeated.",
}
plugin_option = click.option("--plugin", expose_value=False, **_PLUGIN)
checked_plugin_option = click.option("--plugin", expose_value=False, **_PLUGIN | {"callback": _load_checked})
plugins_option = click.option("--plugin", "plugins", **_PLUGIN)  # for commands that keep what was loaded


def _worded(ctx: click.Context, param: click.Parameter, words: tuple[str, ...]) -> tuple[str, ...]:
    """Refuse an empty word before any work is done."""
    if not all(map(str.strip, words)):
        raise InputError("an empty word names no ranker")
    return words


rankers_option = click.option(
    "--rankers",
    "words",
    multiple=True,
    callback=_worded,
    metavar="WORD",
    help="features, features:1,5, run:FILE, lightgbm:FILE, xgboost:FILE, onnx:FILE, scores:FILE, lists:FILE, with NAME="
    " in front if wanted; may be repeated.  [default: all features]",
)


_TIES = (
    click.option(
        "--ties",
        default="fixed_random",
        show_default=True,
        help="Order of documents with equal scores: fixed_random, shared, file, resample or redraw_at_inference.",
    ),
    click.option(
        "--tie-seed",
        type=COUNT,
        default=0,
        show_default=True,
        help="Seed of the order under --ties; --seed does not change the order.",
    ),
)


def ties_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of the tie rule; the command gets them as ``ties``, arguments of `rankings_of`."""

    @functools.wraps(function)
    def with_ties(*args: Any, ties: str, tie_seed: int, **given: Any) -> Any:
        return function(*args, ties={"ties": ties, "seed": tie_seed}, **given)

    for option in reversed(_TIES):
        option(with_ties)
    return with_ties


def corpus_at(path: Path, words: Sequence[str], reading: Reading) -> Dataset:
    """Read the corpus at a path; ``qrels:FILE`` is made of judgements and of the runs among the rankers."""
    from ltr_duel.rankers import pool_named

    pool = pool_named(str(path), words, reading=reading.is_given)
    if pool is None:
        return reading.load(path)
    click.echo(
        f"{path}: {pool.dataset.n_queries:,} queries, {pool.dataset.n_docs:,} documents (judged, or among the"
        f" first {pool.depth} of a run), of which {pool.unjudged:,} are"
        f" not judged and have grade 0; "
        + (f"{pool.negative:,} judgements below 0 count as 0; " if pool.negative else "")
        + f"{pool.left_out:,} queries without judgements or documents are left out",
        err=True,
    )
    return pool.dataset


def rankings_of(dataset: Dataset, words: Sequence[str], **options: Any) -> Rankings:
    """Build the rankers that the words name; print which order nothing, and what their files have beyond the corpus."""
    from ltr_duel.cli import _reading
    from ltr_duel.rankers import rankers_named

    rankings = rankers_named(dataset, words, **options)
    _reading.print_constant(dataset, rankings.names, all_named="features" in (words or ("features",)))
    for name, about in rankings.provenance.get("rankers", {}).items():
        strange = [
            f"{about[key]:,} {key.removeprefix('unknown_')}"
            for key in about
            if key.startswith("unknown_") and about[key]
        ]
        if strange:
            click.echo(
                f"{name}: {dataset.name} lacks {' and '.join(strange)} of {about['file']}; they are left out", err=True
            )
    return rankings


overwrite_option = click.option("--overwrite", is_flag=True, help="Replace the click log or matrix if it exists.")


def require_new(path: Path, overwrite: bool) -> None:
    """Refuse to replace a click log or a matrix, which may have taken weeks or hours, unless that was asked for."""
    if not overwrite and places.is_file(path):
        raise InputError(f"{path}: exists already; give another name, or --overwrite to replace it")


def only_writer(out: Path | None) -> None:
    """Refuse a place that another process is writing to; keep others from it until the command ends."""
    if out is not None:
        click.get_current_context().with_resource(alone.sole_writer(out))


def end(code: int, *, at_once: bool = False) -> NoReturn:
    """End the process; without Python's shutdown where runs are still going on that nobody waits for."""
    if not at_once and not threads.abandoned_threads_run():
        sys.exit(code)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


wide_option = click.option(
    "--wide", is_flag=True, expose_value=False, help="Print tables wider than the terminal.",
    callback=lambda context, _, wide: context.meta.update(wide=wide),
)  # fmt: skip


def print_table(frame: pd.DataFrame) -> None:
    """Print a table of text: the first column to the left, the others to the right; control characters escaped.

    Where it is wider than the terminal, parts of it with the first column and some others stand below each other.
    """
    columns = [[errors.in_one_line(str(cell)) for cell in (name, *frame[name])] for name in frame.columns]
    widths = [max(len(cell) for cell in column) for column in columns]
    context, parts = click.get_current_context(silent=True), [list(range(1, len(columns)))]
    if sys.stdout.isatty() and not (context and context.meta.get("wide")):
        parts = _parts(widths, shutil.get_terminal_size().columns)
    for part in parts:
        for row in zip(*columns, strict=True):
            cells = [row[0].ljust(widths[0]), *(row[place].rjust(widths[place]) for place in part)]
            click.echo("  ".join(cells).rstrip())
        if len(parts) > 1:
            click.echo()
    if len(parts) > 1:
        click.echo(f"the columns are in {len(parts)} parts, to fit the terminal; --wide prints them side by side")


def _parts(widths: Sequence[int], width: int) -> list[list[int]]:
    """Return the columns after the first one, in as few parts as fit beside it."""
    parts: list[list[int]] = [[]]
    for place in range(1, len(widths)):
        if parts[-1] and sum(2 + widths[other] for other in (*parts[-1], place)) > width - widths[0]:
            parts.append([])
        parts[-1].append(place)
    return parts


def print_rest(rows: int, total: int, what: str) -> None:
    """Print how many lines of a table were left out, if any, and the option that lists them."""
    if total > rows:
        click.echo(f"{total - rows:,} more {what}; --rows {total} lists them")
