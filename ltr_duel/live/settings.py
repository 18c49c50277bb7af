"""Read, check and write the settings of a live experiment. They are stored as a TOML file."""

from __future__ import annotations

import dataclasses
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tomli_w

from ltr_duel.bandits import POLICIES, Policy
from ltr_duel.core import InputError, arguments, errors, files, schema
from ltr_duel.interleaving import METHODS, Method, able_methods
from ltr_duel.logs import LOG_COLUMNS

COUNTS = ("seen", "shown")
MOST_DRAWS = 100_000  # largest number of the policy's choices in a plan
_COLUMN = re.compile(r"[a-z][a-z0-9_]{0,31}")
_MOST_RANKERS = 200
_LARGEST = 10**15
_LARGEST_SEED = 1 << 128
_EXAMPLES = 'name = "shoes"', 'rankers = ["old", "new"]'


def _seed(value: Any) -> int | None:
    return None if value is None else schema.whole(0, _LARGEST_SEED)(value)


def _text_or_nothing(value: Any) -> str:
    return "" if value == "" else schema.text(value)


def _columns(names: Any) -> tuple[str, ...]:
    if not isinstance(names, list | tuple) or not all(
        isinstance(name, str) and _COLUMN.fullmatch(name) for name in names
    ):
        raise InputError("must be a list of names of up to 32 letters a to z, digits and '_'")
    if reserved := set(LOG_COLUMNS).intersection(names):
        raise InputError(f"'{min(reserved)}' is a column of every log; use another name")
    return tuple(names)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings of a live experiment. In a file, they are the table ``[experiment]``.

    Parameters
    ----------
    name : str
        The name of the experiment.
    rankers : tuple of str
        The names of the rankers, 2 to 200.
    policy : str
        The policy, which chooses the rankers to compare; ``auto`` by default. For three or more rankers, ``auto``
        becomes ``auto_sets`` if the method and the outcome rule can compare sets of rankers.
    method : str
        The comparison method, ``team_draft`` by default. Some policies require a method that compares sets of rankers.
    outcome : str
        The rule that decides which ranker wins a page. By default, a rule that favours no ranker if clicks are random.
    top : int
        The number of documents on a page, from 1 to 1,000; 10 by default.
    horizon : int
        The planned number of comparisons in the experiment, which some policies require.
    batch : int
        How many sets of rankers the policy chooses for a plan, from 1 to 100,000; 1,000 by default. `Experiment` makes
        the next plan after the same number of pages.
    window : float
        How many seconds the policy waits for the events of a page; 1,800 by default. Later events have no influence on
        who wins the page.
    share, holdback : float
        The share of users who take part, 1 by default, and the share of users who always get the incumbent's list, 0
        by default. The two shares sum to at most 1.
    count : {"seen", "shown"}
        The pages that are used in the results. With "seen", the default, pages without any event are ignored. Choose
        "shown" if your site reports only clicks; all pages are then used.
    confidence : float
        The probability that all statements about winners are right, however often you look; .95 by default.
    margin : float
        The largest mean outcome of two rankers that you regard as no difference, from 0 to 1; 0 by default.
    seed : int, optional
        The seed of all random numbers; by default, a random seed. Keep it private, or users can predict their pages.
    credit : str
        The kind of event that credits rankers, ``click`` by default.
    context : tuple of str
        The names of more attributes of a search, such as the device. They become columns of the log.
    incumbent : str
        The ranker for users who do not take part in the experiment; by default, the first ranker.
    serve : mapping
        The settings of the service, which are the table ``[serve]`` of the file.

    Raises
    ------
    InputError
        If a value is invalid, or if the method does not fit the policy.

    Examples
    --------
    >>> settings = Settings(name="shoes", rankers=("old", "new"), policy="rucb")
    >>> settings.method, settings.outcome, settings.top
    ('team_draft', 'credit', 10)
    """

    name: str = schema.value(schema.text, _EXAMPLES[0])
    rankers: tuple[str, ...] = schema.axis(schema.text, _EXAMPLES[1])
    policy: str = schema.value(schema.component(POLICIES), default="auto")
    method: str = schema.value(schema.component(METHODS), default="team_draft")
    outcome: str = schema.value(_text_or_nothing, default="")
    top: int = schema.value(schema.whole(1, 1000), default=10)
    horizon: int = schema.value(schema.whole(0, _LARGEST), default=0)
    batch: int = schema.value(schema.whole(1, MOST_DRAWS), default=1000)
    window: float = schema.value(schema.number(0, 1e9), default=1800.0)
    share: float = schema.value(schema.number(0, 1), default=1.0)
    holdback: float = schema.value(schema.number(0, 1), default=0.0)
    count: str = schema.value(schema.one_of("way to count impressions", COUNTS), default="seen")
    confidence: float = schema.value(schema.number(1e-9, 1 - 1e-9), default=0.95)
    margin: float = schema.value(schema.number(0, 1), default=0.0)
    seed: int | None = schema.value(_seed, default=None)
    credit: str = schema.value(schema.text, default="click")
    context: tuple[str, ...] = schema.value(_columns, default=())
    incumbent: str = schema.value(_text_or_nothing, default="")
    serve: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        for item in _fields():
            value = getattr(self, item.name)
            value = item.metadata["read"](list(value) if isinstance(value, tuple) else value, item.name)
            object.__setattr__(self, item.name, value)
        if not 2 <= len(self.rankers) <= _MOST_RANKERS:
            raise InputError(f"rankers: there must be 2 to {_MOST_RANKERS}, not {len(self.rankers)}")
        if any("\x1f" in name for name in self.rankers):  # this character separates names in queries of logs
            raise InputError("rankers: a name contains the control character 0x1f")
        require_shares(self.share, self.holdback)
        object.__setattr__(self, "incumbent", self.incumbent or self.rankers[0])
        if self.incumbent not in self.rankers:
            raise InputError(f"incumbent: {errors.unknown_name('ranker', self.incumbent, self.rankers)}")
        compares_sets = self._method.slates and self.outcome in ("", *self._method.outcomes_of(sets=True))
        if compares_sets and len(self.rankers) > 2 and self.policy_component.for_sets:
            object.__setattr__(self, "policy", self.policy_component.for_sets)
        if self.policy_component.needs_horizon and not self.horizon:
            raise InputError(
                f"horizon: policy '{self.policy}' requires the number of comparisons, for example horizon = 100000"
            )
        self._require_method()

    @property
    def policy_component(self) -> Policy:
        """The policy, without its parameters."""
        return POLICIES.configure(self.policy).component

    @property
    def compares_sets(self) -> bool:
        """Whether the policy compares sets of rankers."""
        return self.policy_component.feedback == "slate"

    @property
    def _method(self) -> Method:
        return METHODS.configure(self.method).component

    def _require_method(self) -> None:
        sets, method = self.compares_sets, self._method
        if not (method.slates if sets else method.pairs):
            kind = "sets of rankers" if sets else "two rankers"
            able = ", ".join(able_methods(sets=sets))
            raise InputError(
                f"method: '{self.policy}' requires a method that compares {kind}, which '{self.method}' does not; use"
                f" {able}"
            )
        rule = self.outcome or method.default_outcome(sets=sets)
        if rule not in method.outcomes:
            raise errors.unknown_name(f"outcome rule of {method.name} called", rule, method.outcomes)
        if rule == "expectation":
            raise InputError("outcome: 'expectation' is a number, for estimating matrices; a policy requires a winner")
        if sets and rule not in method.outcomes_of(sets=True):
            raise InputError(f"outcome: '{rule}' is for two rankers, and '{self.policy}' compares sets")
        object.__setattr__(self, "outcome", rule)


def require_shares(share: float, holdback: float) -> None:
    """Raise `InputError` if a share is not from 0 to 1, or if the two shares sum to more than 1."""
    errors.require_between("the share of the users in the experiment", share, 0, 1)
    errors.require_between("the share of the users held back", holdback, 0, 1)
    if share + holdback > 1:
        raise InputError(
            f"a share of {share:g} and a holdback of {holdback:g} sum to more than 1: the share is at most"
            f" {1 - holdback:g}"
        )


def with_seed(settings: Settings) -> Settings:
    """Return the settings, with a random seed if they have none."""
    return settings if settings.seed is not None else dataclasses.replace(settings, seed=secrets.randbits(128))


def agreed(stored: Settings, settings: Settings, place: str) -> Settings:
    """Change confidence, margin and ``serve`` of stored settings. Raise an error if other settings have changed."""
    new = dataclasses.replace(settings, seed=stored.seed if settings.seed is None else settings.seed)
    merged = dataclasses.replace(stored, confidence=new.confidence, margin=new.margin, serve=new.serve)
    for name in vars(new):
        if getattr(new, name) != getattr(merged, name):
            before, now = getattr(stored, name), getattr(new, name)
            raise InputError(f"{place}: was made with {name} = {before!r}, not {now!r}; start another store")
    return merged


def _fields() -> list[Any]:
    return [item for item in dataclasses.fields(Settings) if "read" in item.metadata]


def read_settings(path: str | Path) -> Settings:
    r"""Read the settings of a live experiment from a file.

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
        If the file cannot be read, is not TOML, or contains an invalid value. The message names the key of the value.

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
    return parse_settings(None, path)


def parse_settings(text: str | None, place: Path) -> Settings:
    """Read settings from ``text``, or from the file ``place`` if the text is None."""
    tables = schema.read_toml(place, text)[1]
    for key in tables:
        if key not in ("experiment", "serve"):
            below = "the keys of an experiment follow a line [experiment]"
            raise InputError(f"{place}: {errors.unknown_name('table', key, ('experiment', 'serve'), otherwise=below)}")
    if "experiment" not in tables:
        raise schema.missing(
            f"{place}: the table [experiment]", " and ".join(("[experiment] with " + _EXAMPLES[0], *_EXAMPLES[1:]))
        )
    serve = tables.get("serve", {})
    if not isinstance(serve, dict):
        raise InputError(f"{place}: serve: must be a table")
    settings = schema.read_table(Settings, tables["experiment"], f"{place}: experiment")
    return dataclasses.replace(settings, serve=serve)


def write_settings(settings: Settings, path: str | Path) -> None:
    """Write settings to a file that `read_settings` can read. Default values are left out, except for the method.

    Parameters
    ----------
    settings : Settings
    path : path
        The file to write. If writing fails, an existing file does not change.

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
    files.write_text(path, settings_text(settings))


def settings_text(settings: Settings) -> str:
    """Return settings as TOML. Default values are left out, except for the method."""
    component = METHODS.configure(settings.method).component
    defaults = {item.name: item.default for item in _fields()} | {
        "incumbent": settings.rankers[0],
        "outcome": component.default_outcome(sets=settings.compares_sets),
        "method": None,
    }
    table = {}
    for name, default in defaults.items():
        value = getattr(settings, name)
        if value != default:
            table[name] = list(value) if isinstance(value, tuple) else value
    serve = {"serve": dict(settings.serve)} if settings.serve else {}
    return tomli_w.dumps({"experiment": table, **serve})
