"""Options that several commands share, and their types; the last options are for commands that read a click log."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import reduce, wraps
from pathlib import Path
from typing import Any, NamedTuple

import click

from ltr_duel import bandits, core, interleaving, logs
from ltr_duel.cli._words import click_model_names, method_names
from ltr_duel.core import InputError, cache_home, files, kernel_cache


class Count(click.ParamType):  # type: ignore[type-arg]  # generic only in new versions of click
    """A whole number, also written as 1e6 or 1_000_000; optionally with a minimum."""

    name = "count"

    def __init__(self, least: int | None = None) -> None:
        self._least = least

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Parse the number; fail for fractions."""
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


class Figures(NamedTuple):
    """How to draw figures; the fields but the suffix are keywords of `plot_regret`."""

    x: str
    spread: str
    start: int
    width: str
    suffix: str


def require_start(figures: Figures, horizon: int) -> None:
    """Raise `InputError` if no step of the horizon would be shown; the default of --start fits every horizon."""
    if figures.start > max(100, horizon):
        raise InputError(f"--start {figures.start:,} is beyond the horizon, {horizon:,} steps")


def figures(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of figures; the command receives them as one `Figures`, ``figures``."""

    @wraps(function)
    def with_figures(**given: Any) -> Any:
        values: dict[str, Any] = {name: given.pop(name) for name in Figures._fields}
        return function(figures=Figures(**values | {"width": values["width"] or ""}), **given)

    return reduce(lambda command, option: option(command), reversed(_FIGURES), with_figures)


_FIGURES = (
    click.option(
        "--x", type=click.Choice(("steps", "outcomes")), default="steps", show_default=True,
        help="Quantity on the x-axis: steps (impressions), or outcomes of pairs of rankers.",
    ),
    click.option(
        "--band", "spread", type=click.Choice(("quantiles", "standard error", "sd", "range", "none")),
        default="quantiles", show_default=True, help="Statistic that the bands show.",
    ),
    click.option("--start", type=Count(), default=100, show_default=True, help="First step shown in figures."),
    click.option(
        "--width", type=click.Choice(("column", "text")),
        help="Width of figures for a paper: 3.3 or 7 inches.  [default: for a screen]",
    ),
    click.option(
        "--format", "suffix", type=click.Choice(("png", "pdf", "svg"), case_sensitive=False), default="png",
        show_default=True, help="Format of the figures.",
    ),
)  # fmt: skip


class Jobs(Count):
    """A number of threads."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Raise `InputError` for an excessive number, before any work is done."""
        jobs = super().convert(value, param, ctx)
        core.parallel.checked_jobs(jobs)
        return jobs


class Place(click.Path):
    """An output path, which is tested before any work is done: it can be written, and no result is there already.

    results: the names of the files in a folder that make it an existing result, as glob patterns.
    endings: the valid ends of a file's name; any by default.
    continues: the command continues what is there, and nothing is refused.

    A command with an output that is not continued has the option --overwrite (`Command`).
    """

    def __init__(
        self, *, results: Sequence[str] = (), endings: Sequence[str] = (), continues: bool = False, folder: bool = False
    ) -> None:
        super().__init__(path_type=Path)
        self._results, self._endings, self._folder = results, endings, folder or bool(results)
        self.refuses = not continues

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Check that the path can be written, and whether it is new."""
        path = Path(str(super().convert(value, param, ctx)))
        if not str(value):
            raise InputError("an empty name is not an output path")
        if self._endings and path.suffix.lower() not in self._endings:
            raise InputError(f"{path}: must end in {core.errors.listed(self._endings, 'or')}")
        (files.require_folder_place if self._folder else files.require_file_place)(path)
        if self.refuses and not (ctx and ctx.meta.get("overwrite")):
            there = [path] if not self._folder else [one for name in self._results for one in sorted(path.glob(name))]
            if there and (self._folder or path.is_file()):
                raise InputError(f"{there[0]}: already exists; give another name, or --overwrite to replace it")
        return path


PATH, FOLDER = click.Path(path_type=Path), click.Path(exists=True, file_okay=False, path_type=Path)  # input paths
COUNT, ROWS = Count(), Count(least=0)
OUT_FILE, OUT_FIGURE = Place(), Place(endings=(".png", ".pdf", ".svg"))
NEW_STORE, CONTINUED_FOLDER = Place(continues=True), Place(folder=True, continues=True)

jobs = click.option("-j", "--jobs", type=Jobs(), default=-1, show_default="all cores", help="Number of threads.")
batch = click.option(
    "--batch", type=COUNT, default=1, show_default=True,
    help="Number of comparisons that the policy chooses before it receives any of their outcomes.",
)  # fmt: skip
seed = click.option("-s", "--seed", type=COUNT, default=0, show_default=True, help="Seed of all random numbers.")


def _load(ctx: click.Context, param: click.Parameter, paths: tuple[Path, ...]) -> tuple[core.plugins.Plugin, ...]:
    if not paths:
        return ()
    return tuple(map(core.plugins.load_plugin, paths))


def check_once(plugins: Iterable[core.plugins.Plugin]) -> None:
    """Raise `InputError` if a compiled policy or method of a plug-in breaks its contract; a run would not detect this.

    Compiled policies are compared with their Python form, and compiled methods are tested for the whole contract.
    Components that run as plain Python are tested at each call. A passed check is recorded in the cache, keyed by the
    digests of the file and of this package, and not repeated.
    """
    for plugin in plugins:
        if not {"policy", "comparison method"} & {kind for kind, _ in plugin.components}:
            continue
        import numba

        if numba.config.DISABLE_JIT:
            return
        passed = None
        with suppress(InputError):  # without a home folder, no record is kept
            passed = cache_home() / "checked" / f"{plugin.sha256}-{kernel_cache.sources_digest()[:16]}"
        if passed is not None and passed.is_file():
            continue
        for kind, name in plugin.components:
            if kind == "policy" and bandits.POLICIES[name].compiled:
                bandits.check_compiled(name)
            elif kind == "comparison method" and interleaving.METHODS[name].compiled:
                interleaving.check_method(name)
        with suppress(OSError):  # without a record the check is repeated
            if passed is not None:
                passed.parent.mkdir(parents=True, exist_ok=True)
                passed.touch()


def _load_checked(
    ctx: click.Context, param: click.Parameter, paths: tuple[Path, ...]
) -> tuple[core.plugins.Plugin, ...]:
    plugins = _load(ctx, param, paths)
    check_once(plugins)
    return plugins


_PLUGIN: dict[str, Any] = {
    "multiple": True,
    "type": PATH,
    "callback": _load,
    "is_eager": True,
    "help": "A Python file that defines policies, comparison methods, click models or corpora; may be repeated.",
}
plugin = click.option("--plugin", expose_value=False, **_PLUGIN)
checked_plugin = click.option("--plugin", expose_value=False, **_PLUGIN | {"callback": _load_checked})
plugins = click.option("--plugin", "plugins", **_PLUGIN)  # for commands that use the loaded plug-ins


def clicks(about: str = "Click model.") -> Callable[..., Any]:
    """Return the option for one click model."""
    return click.option(
        "--clicks", default="navigational", show_default=True, shell_complete=click_model_names, help=about
    )


def method(about: str, default: str = "probabilistic") -> Callable[..., Any]:
    """Return the option for one comparison method."""
    return click.option("--method", default=default, show_default=True, shell_complete=method_names, help=about)


wide = click.option(
    "--wide", is_flag=True, expose_value=False, help="Print tables wider than the terminal.",
    callback=lambda context, _, wide: context.meta.update(wide=wide),
)  # fmt: skip

format_option = click.option(
    "--format", "kind", default="", help="Format: jsonl, csv, parquet or ubi.  [default: from the file name]"
)
skip_option = click.option(
    "--skip-bad", type=ROWS, default=0, show_default=True, help="Maximum number of bad lines to skip and count."
)


def _once(ctx: click.Context, param: click.Parameter, given: tuple[Any, ...]) -> Any:
    """Return the value of an option; raise `InputError` if it is given twice, because click would drop the first."""
    if len(given) > 1:
        raise InputError(f"{param.opts[0]} is given {len(given)} times; a folder or glob selects several files")
    return given[0] if given else None


_ONCE: dict[str, Any] = {"multiple": True, "callback": _once}
_SOURCES = (
    click.argument("file", metavar="[LOG]", required=False),
    click.option("--exposures", **_ONCE, help="Instead of a LOG: file, folder, glob or table of the shown lists."),
    click.option("--events", **_ONCE, help="File, folder, glob or table of the clicks and other events."),
    click.option("--source", **_ONCE, type=PATH, help="TOML file that maps the columns of both tables."),
    click.option("--connect", default="", help="Ibis URL of the database that contains the tables."),
    click.option(
        "--within", default="", metavar="7d",
        help="Maximum delay of events without an impression, which count for the last exposure of their item.",
    ),
)  # fmt: skip


OUTCOMES = "click, another kind of event, value, dwell>=30"


def sources(command: Callable[..., None]) -> Callable[..., None]:
    """Add to a command the argument LOG and the options that replace LOG."""
    return reduce(lambda command, option: option(command), reversed(_SOURCES), command)


def tables(command: Callable[..., None]) -> Callable[..., None]:
    """Add to a command the options that replace LOG."""
    return reduce(lambda command, option: option(command), reversed(_SOURCES[1:]), command)


def opened(outcome: str | Sequence[str | logs.Outcome], given: dict[str, Any]) -> logs.ClickLog:
    """Return the log that the options select, with one or more outcomes."""
    file, exposures, source = given["file"], given["exposures"], given["source"]
    if (file and exposures) or not (file or exposures or source):
        raise InputError("give either a LOG, or --exposures with --events, or --source")
    return logs.ClickLog(
        file or exposures,
        format=given["kind"],
        skip_bad=given["skip_bad"],
        events=given["events"],
        source=source,
        connect=given["connect"],
        outcome=outcome,
        within=given["within"],
        context=given.get("context", ()),
    )
