"""Options that several commands share, and the types of their values."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial, wraps
from pathlib import Path
from typing import Any, NamedTuple

import click

from ltr_duel import bandits, core, interleaving, logs
from ltr_duel.cli._words import click_model_names, declared_names, flag, method_names, policy_names
from ltr_duel.core import InputError, files

option = partial(click.option, show_default=True)


class Count(click.ParamType):  # type: ignore[type-arg]  # generic only in new versions of click
    """A whole number, which may be written as 1e6 or 1_000_000."""

    name = "count"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Parse the number. A fraction is an error."""
        with suppress(ValueError):
            return int(value)
        with suppress(ValueError):
            if float(value).is_integer():
                return int(float(value))
        self.fail(f"'{value}' is not a whole number (for example 1000000 or 1e6)", param, ctx)


class OutputPath(click.Path):
    """A path for results, which is tested and locked before any work is done.

    Files whose names match the patterns ``results`` are earlier results. Only --overwrite replaces them. With
    ``continues``, the command adds to earlier results, and the path is not locked.
    """

    def __init__(self, *, results: Sequence[str] = (), folder: bool = False, continues: bool = False) -> None:
        super().__init__(path_type=Path)
        self.results, self.folder, self.refuses = results, folder or bool(results), not continues

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path, after it has been tested and locked."""
        if not str(value):
            raise InputError("an empty name is not an output path")
        path = Path(str(super().convert(value, param, ctx)))
        (files.require_folder_place if self.folder else files.require_file_place)(path)
        if self.refuses and ctx is not None:
            existing = [file for name in self.results for file in sorted(path.glob(name))]
            if not self.folder and path.is_file():
                existing = [path]
            if existing and not ctx.meta.get("overwrite"):
                raise InputError(f"{existing[0]}: already exists; give another name, or --overwrite to replace it")
            ctx.with_resource(files.sole_writer(path))
        return path


PATH, FOLDER = click.Path(path_type=Path), click.Path(exists=True, file_okay=False, path_type=Path)  # input paths
COUNT, ROWS = Count(), click.IntRange(min=0)
OUT_FILE, CONTINUED_FILE = OutputPath(), OutputPath(continues=True)
CONTINUED_FOLDER = OutputPath(folder=True, continues=True)


def _checked_jobs(context: click.Context, param: click.Parameter, jobs: int) -> int:
    core.parallel.checked_jobs(jobs)
    return jobs


def check_plugins(plugins: Iterable[core.plugins.Plugin]) -> None:
    """Refuse plug-ins whose compiled policies or methods have errors that a run would not notice."""
    for kind, name in (component for plugin in plugins for component in plugin.components):
        import numba

        if numba.config.DISABLE_JIT:
            return
        if kind == "policy" and bandits.POLICIES[name].compiled:
            bandits.check_compiled(name)
        elif kind == "comparison method" and interleaving.METHODS[name].compiled:
            interleaving.check_method(name)


def _load(ctx: click.Context, param: click.Parameter, paths: tuple[Path, ...]) -> list[core.plugins.Plugin]:
    return [core.plugins.load_plugin(path) for path in paths]


def _load_checked(ctx: click.Context, param: click.Parameter, paths: tuple[Path, ...]) -> None:
    check_plugins(_load(ctx, param, paths))


def _declared(ctx: click.Context, param: click.Parameter, labels: tuple[str, ...]) -> tuple[str, ...]:
    if "ltr_duel.bandits.policy" not in sys.modules:
        names = declared_names("bandits/policies")  # does not load the compiler
        for name in ("".join(label.partition(":")[0].split()) for label in labels):
            if name not in names:
                raise core.components.unknown_component("policy", name, names)
    return labels


_plugin = partial(
    click.option, "--plugin", multiple=True, type=PATH, is_eager=True,
    help="A Python file that defines policies, comparison methods or click models; may be repeated.",
)  # fmt: skip
plugin = _plugin(expose_value=False, callback=_load_checked)
plugins = _plugin("plugins", callback=_load)  # for commands that receive the plug-ins
jobs = option("-j", "--jobs", type=COUNT, default=-1, show_default="all cores", callback=_checked_jobs, help="Threads.")
seed = option("-s", "--seed", type=COUNT, default=0, help="Seed of all random numbers.")
explain = flag("--explain", help="Print everything behind the answer.")
top = option("--top", type=COUNT, default=10, help="Number of documents shown to users.")
batch = option("--batch", type=COUNT, default=1, help="Comparisons that a policy chooses before it receives outcomes.")
clicks = option("--clicks", default="navigational", shell_complete=click_model_names, help="Click model.")
method = option("--method", default="probabilistic", shell_complete=method_names, help="Method of comparing rankers.")
policy = partial(
    option, "--policy", "policies", multiple=True, shell_complete=policy_names, callback=_declared,
    help="A policy, with optional parameters (rucb:alpha=0.51); may be repeated.",
)  # fmt: skip
horizon = option("--horizon", type=COUNT, default=1_000_000, help="Steps in each run.")


def bundle(name: str, record: Any, *options: Callable[..., Any]) -> Callable[..., Any]:
    """Return a decorator that adds several options. Their values reach the command as one argument, a ``record``."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def command(**values: Any) -> Any:
            fields = {field: values.pop(field) for field in record._fields}
            return function(**{name: record(**fields)}, **values)

        for option in reversed(options):
            option(command)
        return command

    return decorate


_BANDS = ("quantiles", "standard error", "sd", "range", "none")


class FigureOptions(NamedTuple):
    """How to draw figures."""

    x: str
    band: str
    start: int
    width: str | None
    figures: str

    @property
    def keywords(self) -> dict[str, Any]:
        """The keyword arguments of `plot_facets`. `plot_regret` also has ``x``."""
        return {"spread": self.band, "start": self.start, "width": self.width or ""}


figure_options = bundle(
    "figure", FigureOptions,
    option("--x", type=click.Choice(("steps", "outcomes")), default="steps", help="x-axis: steps, or their outcomes."),
    option("--band", type=click.Choice(_BANDS), default="quantiles", help="Statistic that the bands show."),
    option("--start", type=COUNT, default=100, help="First step shown in figures."),
    click.option("--width", type=click.Choice(("column", "text")), help="3.3 or 7 inches.  [default: for a screen]"),
    option("--figures", type=click.Choice(("png", "pdf", "svg")), default="png", help="Kind of the figure files."),
)  # fmt: skip

OUTCOMES = "click, another kind of event, value, dwell>=30"
log_format = click.option("--format", default="", help="Format: jsonl, csv, parquet or ubi.  [default: from the name]")
skip_bad = option("--skip-bad", type=ROWS, default=0, help="Maximum number of bad lines to skip and count.")


class LogOptions(NamedTuple):
    """Where a click log is, and how it is read."""

    file: str | None
    exposures: str | None
    events: str | None
    source: Path | None
    connect: str
    within: str
    format: str

    @property
    def is_given(self) -> bool:
        """Whether the user has named a log."""
        return bool(self.file or self.exposures or self.source)

    def open(self, outcome: str | Sequence[str | logs.Outcome], **more: Any) -> logs.ClickLog:
        """Open the log to compute one or more outcomes."""
        if (self.file and self.exposures) or not self.is_given:
            raise InputError("give either a LOG, or --exposures with --events, or --source")
        settings = {name: value for name, value in self._asdict().items() if name not in ("file", "exposures")}
        return logs.ClickLog(self.file or self.exposures, outcome=outcome, **settings, **more)


_TABLES = (
    click.option("--exposures", help="Instead of a LOG: file, folder, glob or table of the shown lists."),
    click.option("--events", help="File, folder, glob or table of the clicks and other events."),
    click.option("--source", type=PATH, help="TOML file that maps the columns of both tables."),
    click.option("--connect", default="", help="Ibis URL of the database that contains the tables."),
    click.option("--within", default="", metavar="7d", help="Largest delay of an event after its item is shown."),
    log_format,
)  # fmt: skip
log_options = bundle("log", LogOptions, click.argument("file", metavar="[LOG]", required=False), *_TABLES)
plan_log_options = bundle(
    "log", LogOptions, click.option("--log", "file", help="Click log of all earlier plans: a file, folder or glob."),
    *_TABLES,
)  # fmt: skip
