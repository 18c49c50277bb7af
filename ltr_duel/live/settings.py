"""The settings of a live experiment, and their file."""

from __future__ import annotations

import dataclasses
import re
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tomli_w

from ltr_duel.bandits import POLICIES, Policy
from ltr_duel.core import InputError, arguments, errors, files, schema
from ltr_duel.interleaving import METHODS, able_methods
from ltr_duel.logs import LOG_COLUMNS

ORDERS = ("arrival", "shown")
MOST_OPEN = 100_000  # maximum number of open pages; one more page closes the page with the earliest deadline
_BESIDE = ("serve", "plan")  # further tables of the file
_NAME = re.compile(r"[a-z][a-z0-9_]{0,31}")
_MOST_RANKERS = 200
_NO_LIMIT = 10**15
_EXAMPLES = 'name = "shoes"', 'rankers = ["old", "new"]'


def _seed(given: Any) -> int | None:
    return None if given is None else schema.whole(-_NO_LIMIT, _NO_LIMIT)(given)


def _text_or_nothing(given: Any) -> str:
    return "" if given == "" else schema.text(given)


def _columns(given: Any) -> tuple[str, ...]:
    if not isinstance(given, list | tuple) or not all(isinstance(one, str) and _NAME.fullmatch(one) for one in given):
        raise InputError("must be a list of names of up to 32 letters a to z, digits and '_'")
    if taken := set(LOG_COLUMNS).intersection(given):
        raise InputError(f"'{min(taken)}' is a column of every log; use another name")
    return tuple(given)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings of a live experiment: the table ``[experiment]`` of its file.

    Parameters
    ----------
    name : str
        Name of the experiment, for display.
    rankers : tuple of str
        2 to 200 names.
    policy : str
        The policy with its parameters; ``auto`` by default. ``auto`` becomes ``auto_sets`` for more than two rankers
        and a method that compares sets, unless the outcome rule is for pairs.
    method : str
        The comparison method, for pairs or sets, as the policy requires.
    outcome : str
        The outcome rule. If it is empty, an existing store keeps its rule, and a new store uses the default of
        simulations: ``marginal_bernoulli`` for probabilistic interleave with pairs of rankers, otherwise the method's
        first rule. Sets of rankers allow only the first rule.
    top : int
        Number of documents shown, 1 to 1,000.
    horizon : int
        Number of comparisons, for policies that require it.
    confidence : float
        Confidence of statements about winners, simultaneously for all times; above 0 and below 1.
    margin : float
        Largest mean outcome, 0 to 1, that is considered negligible.
    seed : int, optional
        Seed of all random streams. A new store samples a seed if none is given. With the seed and all earlier
        outcomes, the lists can be predicted, so keep the store private.
    deadline : float
        Seconds after which a page is closed with the clicks reported so far; if there are none, the page counts as seen
        without clicks.
    credit : str
        The kind of outcome that credits rankers.
    context : tuple of str
        Names of further attributes of a search, such as the device; they become columns of the exported log.
    keep_days : float
        Days after which a service forgets the user and the query of a page; 0: never.
    sticky : float
        Seconds, at most ``deadline``, during which a user who repeats a query sees the same page; 0: each search has a
        new page.
    incumbent : str
        The ranker whose list is served outside of the experiment; by default the first ranker.
    aa : bool
        Whether every ranker gets the incumbent's list, so that no ranker can win (an A/A test).
    order : {"arrival", "shown"}
        Whether outcomes of the same rankers reach the policy in the order of their arrival, or in the order of their
        pages. With ``"shown"``, the policy's guarantees hold even if the delay of an outcome depends on the clicks.
    serve, plan : mapping
        The tables ``[serve]`` and ``[plan]`` of the file.

    Raises
    ------
    InputError
        For an invalid value, or a method that does not fit the policy.

    Examples
    --------
    >>> settings = Settings(name="shoes", rankers=("old", "new"), policy="rucb")
    >>> settings.method, settings.top
    ('team_draft', 10)
    """

    name: str = schema.value(schema.text, _EXAMPLES[0])
    rankers: tuple[str, ...] = schema.axis(schema.text, _EXAMPLES[1])
    policy: str = schema.value(schema.component(POLICIES), default="auto")
    method: str = schema.value(schema.component(METHODS), default="team_draft")
    outcome: str = schema.value(_text_or_nothing, default="")
    top: int = schema.value(schema.whole(1, 1000), default=10)
    horizon: int = schema.value(schema.whole(0, _NO_LIMIT), default=0)
    confidence: float = schema.value(schema.number(1e-9, 1 - 1e-9), default=0.95)
    margin: float = schema.value(schema.number(0, 1), default=0.0)
    seed: int | None = schema.value(_seed, default=None)
    deadline: float = schema.value(schema.number(0.001, 1e9), default=1800.0)
    credit: str = schema.value(schema.text, default="click")
    context: tuple[str, ...] = schema.value(_columns, default=())
    keep_days: float = schema.value(schema.number(0, 36_500), default=0.0)
    sticky: float = schema.value(schema.number(0, 1e9), default=0.0)
    incumbent: str = schema.value(_text_or_nothing, default="")
    aa: bool = schema.value(schema.flag, default=False)
    order: str = schema.value(schema.one_of("order of outcomes", ORDERS), default="arrival")
    serve: Mapping[str, Any] = field(default_factory=dict, repr=False)
    plan: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        for one in _fields():
            given = getattr(self, one.name)
            read = one.metadata["read"](list(given) if isinstance(given, tuple) else given, one.name)
            object.__setattr__(self, one.name, read)
        if not 2 <= len(self.rankers) <= _MOST_RANKERS:
            raise InputError(f"rankers: there must be 2 to {_MOST_RANKERS}, not {len(self.rankers)}")
        object.__setattr__(self, "incumbent", self.incumbent or self.rankers[0])
        if self.incumbent not in self.rankers:
            raise InputError(f"incumbent: {errors.unknown_name('ranker', self.incumbent, self.rankers)}")
        self._take_sets()
        if self.policy_component.needs_horizon and not self.horizon:
            raise InputError(
                f"horizon: policy '{self.policy}' requires the number of comparisons, for example horizon = 100000"
            )
        if self.sticky > self.deadline:
            raise InputError(f"sticky: must be at most the deadline of {self.deadline:g} s, not {self.sticky:g}")
        self._check_method()

    @property
    def policy_component(self) -> Policy:
        """The registered policy."""
        return POLICIES.configure(self.policy).component

    def _take_sets(self) -> None:
        method = METHODS.configure(self.method).component
        to_sets = method.slates and len(self.rankers) > 2 and self.outcome in ("", *method.outcomes_of(sets=True))
        if to_sets and self.policy_component.for_sets:
            object.__setattr__(self, "policy", self.policy_component.for_sets)

    def _check_method(self) -> None:
        slates = self.policy_component.feedback == "slate"
        method = METHODS.configure(self.method).component
        if not (method.slates if slates else method.pairs):
            kind = "sets of rankers" if slates else "two rankers"
            able = ", ".join(able_methods(sets=slates))
            raise InputError(
                f"method: '{self.policy}' requires a method that compares {kind}, which '{self.method}' does not; use"
                f" {able}"
            )
        rule = self.outcome or default_outcome(self)
        if rule not in method.outcomes:
            raise errors.unknown_name(f"outcome rule of {method.name} called", rule, method.outcomes)
        if rule == "expectation":
            raise InputError("outcome: 'expectation' is a number, for estimating matrices; a policy requires a winner")
        if slates and rule not in method.outcomes_of(sets=True):
            raise InputError(f"outcome: '{rule}' is for two rankers, and '{self.policy}' compares sets")


def default_outcome(settings: Settings) -> str:
    """Return the outcome rule of a new experiment whose settings name no rule."""
    method = METHODS.configure(settings.method).component
    return method.default_outcome(sets=settings.policy_component.feedback == "slate")


def _fields() -> list[Any]:
    return [one for one in dataclasses.fields(Settings) if "read" in one.metadata]


def read_settings(path: str | Path) -> Settings:
    r"""Read the settings of a live experiment.

    Parameters
    ----------
    path : path
        A TOML file with a table ``[experiment]``, whose keys are the parameters of `Settings`.

    Returns
    -------
    Settings

    Raises
    ------
    InputError
        If the file cannot be read, is not TOML, or contains an invalid value; the message names the key.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "live.toml"
    ...     _ = path.write_text('[experiment]\nname = "shoes"\nrankers = ["old", "new"]\npolicy = "rucb"\n')
    ...     read_settings(path).rankers
    ('old', 'new')
    """
    path = arguments.as_path("the settings", path)
    return _settings_in(schema.read_toml(path)[1], path)


def _settings_in(given: dict[str, Any], path: Path) -> Settings:
    for key in given:
        if key not in ("experiment", *_BESIDE):
            below = "the keys of an experiment follow a line [experiment]"
            raise InputError(f"{path}: {errors.unknown_name('table', key, ('experiment', *_BESIDE), otherwise=below)}")
    if "experiment" not in given:
        raise schema.missing(
            f"{path}: the table [experiment]", " and ".join(("[experiment] with " + _EXAMPLES[0], *_EXAMPLES[1:]))
        )
    beside = {name: given.get(name, {}) for name in _BESIDE}
    for name, table in beside.items():
        if not isinstance(table, dict):
            raise InputError(f"{path}: {name}: must be a table")
    return dataclasses.replace(schema.read_table(Settings, given["experiment"], f"{path}: experiment"), **beside)


def write_settings(settings: Settings, path: str | Path) -> None:
    """Write settings to a file for `read_settings`, omitting defaults except for the method.

    Parameters
    ----------
    settings : Settings
    path : path
        The file is written completely or not at all.

    Raises
    ------
    InputError
        If the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "live.toml"
    ...     write_settings(Settings(name="shoes", rankers=("old", "new"), policy="rucb"), path)
    ...     read_settings(path).policy
    'rucb'
    """
    files.write_text(path, settings_text(settings, shown=("method",)))


def settings_text(settings: Settings, shown: tuple[str, ...] = ()) -> str:
    """Return settings as TOML, omitting defaults except for ``shown``."""
    table, first = {}, ("incumbent", settings.rankers[0])
    for one in _fields():
        given = getattr(settings, one.name)
        if one.name in shown or (given != one.default and (one.name, given) != first):
            table[one.name] = list(given) if isinstance(given, tuple) else given
    content: dict[str, Any] = {"experiment": table}
    content |= {name: dict(getattr(settings, name)) for name in _BESIDE if getattr(settings, name)}
    return tomli_w.dumps(content)


def kept_settings(text: str, place: Path) -> Settings:
    """Parse the settings in a store, which are stored as TOML."""
    return _settings_in(schema.read_toml(place, text)[1], place)


def settings_in(db: sqlite3.Connection, path: Path) -> Settings:
    """Return the settings of a store. Raises `InputError` if they are missing or damaged."""
    row: Any = db.execute("SELECT value FROM about WHERE key = 'settings'").fetchone()
    if row is None:
        raise InputError(f"{path}: the settings are missing")
    return kept_settings(row[0], path)
