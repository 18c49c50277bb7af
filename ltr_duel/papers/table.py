"""The table of a paper: what the paper states, what we measured, and whether the two agree.

Each statement has a range of numbers for which it is true, and our number has an interval. The verdict is ``agrees`` if
the whole interval is inside the range. The verdict is ``differs`` if the whole interval is outside the range.
Otherwise, the verdict is ``open``. It is also ``open`` if our data or runs cannot decide the statement, and the column
``why`` then gives the reason. If a row has several numbers, the worst verdict counts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from ltr_duel.core import columns as col
from ltr_duel.papers.estimates import Check, Estimate, Missing, select

if TYPE_CHECKING:
    from ltr_duel.papers.declaration import Figure
    from ltr_duel.papers.reproduce import Made

AGREES, OPEN, DIFFERS = "agrees", "open", "differs"
NOT_RUN = "not run"  # what the column "data" then says
COLUMNS = ["row", "the paper", "where", "ours (95 %)", "data", "verdict", "why"]
_ORIGINAL = ("real data", "published matrix", "as in the paper")  # data by which a statement about a corpus is decided
_FEWEST_RUNS, _MOST_LISTED = 20, 6
_NO_NUMBER = "—"


@dataclass(frozen=True)
class Row:
    """A statement of a paper, declared with `row`."""

    name: str
    quote: str
    where: str
    checks: Sequence[Check]
    why: str
    undecided: str
    anywhere: bool
    also: Sequence[str]


def row(
    name: str,
    quote: str,
    where: str,
    *checks: Check,
    why: str = "",
    undecided: str = "",
    anywhere: bool = False,
    also: Sequence[str] = (),
) -> Row:
    """Declare a row of a paper's table: a statement of the paper, and the numbers that test it.

    Parameters
    ----------
    name : str
        A short name of the row, unique in the paper's table.
    quote, where : str
        The statement in the words of the paper, and the section, figure or table where it is. The words may be
        shortened. They may also end in "(paraphrase)" or "(figure)".
    *checks : Check
        The numbers that test the statement, each with the range in which the statement is true.
    why : str
        A remark that readers need to understand the comparison.
    undecided : str
        A fact that the paper does not give, although the statement cannot be decided without it.
    anywhere : bool
        Whether the statement can be decided with any corpus. By default, only the paper's own corpus decides it.
    also : sequence of str
        The names of other figures whose tables the checks need.
    """
    return Row(name, quote, where, checks, why, undecided, anywhere, also)


class _Panel(NamedTuple):
    name: str
    estimate: Estimate
    verdict: str


def paper_table(figures: Sequence[Figure], reproduced: Mapping[str, Made]) -> pd.DataFrame:
    """Return the table of a paper. The rows of figures that were not reproduced have no numbers."""
    rows = [(row, figure) for figure in figures for row in figure.rows]
    rows.sort(key=lambda pair: (len(pair[0].name), pair[0].name))  # M9 before M10
    lines = [_line(row, figure, reproduced) for row, figure in rows]
    return pd.DataFrame(lines, columns=COLUMNS)


def _line(row: Row, figure: Figure, reproduced: Mapping[str, Made]) -> list[str]:
    needed = [figure.name, *row.also]
    absent = [name for name in needed if name not in reproduced]
    if absent or not row.checks:
        reason = f"not reproduced: {', '.join(absent)}" * bool(absent)
        return _cells(row, _NO_NUMBER, NOT_RUN if absent else "", OPEN, [reason, row.undecided])
    frame = pd.concat([reproduced[name].frame for name in needed], ignore_index=True)
    if col.REPETITION in frame:  # a run that several figures share counts once
        frame = frame.drop_duplicates([col.PROBLEM, col.POLICY, col.HORIZON, col.REPETITION, col.T])
    panels, parts, reasons, kinds = [], [], [row.undecided], dict[str, str]()
    for check in row.checks:
        answers = list(_panels(check, frame, reasons, kinds))
        panels += answers
        parts.append(f"{check.words}{_range(check)}: {_numbers(answers)}")
    foreign = [kind for kind in kinds if kind not in _ORIGINAL]
    if foreign and not row.anywhere:
        reasons.append(f"{', '.join(foreign)}: does not decide a statement about the paper's corpus")
    if any(reproduced[name].facts["shortened"] for name in needed):
        reasons.append("shorter or fewer runs than printed")
    fewest = min((panel.estimate.runs for panel in panels if panel.verdict), default=math.inf)
    reasons += [f"only {fewest:.0f} runs"] * (fewest < _FEWEST_RUNS)
    sources = [source for name in needed for source in reproduced[name].facts["sources"]]
    data = "; ".join([*kinds, *dict.fromkeys(source["note"] for source in sources if source["note"])])
    verdicts = [panel.verdict for panel in panels if panel.verdict]
    return _cells(row, "; ".join(parts), data, OPEN if any(reasons) else _joined(verdicts), reasons)


def _cells(row: Row, ours: str, data: str, verdict: str, reasons: Sequence[str]) -> list[str]:
    why = ". ".join(filter(None, (*dict.fromkeys(reasons), row.why)))
    return [row.name, row.quote, row.where, ours, data, verdict, why]


def _panels(check: Check, frame: pd.DataFrame, reasons: list[str], kinds: dict[str, str]) -> Iterator[_Panel]:
    try:
        rows = select(frame, check.where)
        values = [rows[column].dropna().unique() for column in check.each]
    except (Missing, KeyError) as missing:
        reasons.append(str(missing))
        return
    for chosen in product(*values):
        wanted: dict[str, Any] = dict(zip(check.each, chosen, strict=True))
        name = ", ".join(map(str, chosen))
        try:
            part = select(rows, wanted)
            estimate = check.estimate(part)
        except Missing as missing:
            reasons.append(f"{name}: {missing}" if name else str(missing))
            continue
        kinds.update(dict.fromkeys(part[col.SOURCE].unique(), ""))
        yield _Panel(name, estimate, _verdict(estimate, check))


def _verdict(estimate: Estimate, check: Check) -> str:
    if math.isinf(check.low) and math.isinf(check.high):
        return ""  # the paper states nothing about this number
    if check.low <= estimate.low and estimate.high <= check.high:
        return AGREES
    return DIFFERS if estimate.high < check.low or estimate.low > check.high else OPEN


def _joined(verdicts: Sequence[str]) -> str:
    worst = next((word for word in (DIFFERS, OPEN) if word in verdicts), AGREES if verdicts else OPEN)
    count = verdicts.count(worst)
    return worst if count == len(verdicts) else f"{worst} in {count} of {len(verdicts)}"


def _range(check: Check) -> str:
    low, high = f"{check.low:g}", f"{check.high:g}"
    if math.isinf(check.low):
        return "" if math.isinf(check.high) else f" [at most {high}]"
    if math.isinf(check.high):
        return f" [at least {low}]"
    return f" [{low}]" if low == high else f" [{low} to {high}]"


def _numbers(panels: Sequence[_Panel]) -> str:
    listed = list(panels)
    if len(panels) > _MOST_LISTED:
        listed = [panel for panel in panels if panel.verdict in (OPEN, DIFFERS)][:_MOST_LISTED]
    texts = [f"{panel.name}: {_number(panel.estimate)}".removeprefix(": ") for panel in listed]
    if rest := [panel.estimate for panel in panels if panel not in listed]:
        least, most = min(estimate.low for estimate in rest), max(estimate.high for estimate in rest)
        ends = " to ".join(dict.fromkeys((_digits(least), _digits(most))))
        texts.append(f"{'the other' if listed else 'all'} {len(rest)}: {ends}")
    return "; ".join(texts) or _NO_NUMBER


def _number(estimate: Estimate) -> str:
    value, low, high, _ = estimate
    return _digits(value) if low == value == high else f"{_digits(value)} ({_digits(low)} to {_digits(high)})"


def _digits(value: float) -> str:
    return f"{value:,.0f}" if 1000 <= abs(value) < math.inf else f"{value:.3g}"
