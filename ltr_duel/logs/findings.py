"""What the checks of an experiment have found, and the statistical tests behind these checks.

A test fails if its p-value is below 0.01. In an experiment without faults, a test fails with at most this probability.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import special

from ltr_duel.core import FloatMatrix, IntMatrix, IntVector, several

ERROR = 0.01  # maximum probability of a false alarm of a test
RATE = 0.01  # share of faulty rows or events above which a check fails
_ROBOT, _CLICKED = 50, 0.95  # minimum number of lists of a robot; minimum share of its lists with a click
_UNUSUAL = 4.0  # standard deviations by which a robot clicks more often than other users


class Finding(NamedTuple):
    """What a check of an experiment has found."""

    name: str
    verdict: str  # "sound", "fails", or "not checked"
    number: float  # p-value of a test, or a rate
    sentence: str


def tested(name: str, p: float, sentence: str) -> Finding:
    """Return a finding about a test with a p-value."""
    digits = "p < 1e-12" if p < 1e-12 else f"p = {p:.3g}"
    return Finding(name, "fails" if p < ERROR else "sound", p, f"{sentence} ({digits})")


def limited(name: str, rate: float, limit: float, sentence: str) -> Finding:
    """Return a finding about a rate, which fails if the rate exceeds a limit."""
    return Finding(name, "fails" if rate > limit else "sound", rate, sentence)


def seldom(name: str, number: int, total: int, limit: float, sentence: str) -> Finding:
    """Return a finding about a rate, which fails if a binomial test shows that the rate exceeds a limit."""
    p = float(special.bdtrc(number - 1, total, limit)) if number else 1.0
    return Finding(name, "fails" if p < ERROR else "sound", number / max(total, 1), sentence)


def not_checked(name: str, reason: str) -> Finding:
    """Return a finding about a check that could not be made."""
    return Finding(name, "not checked", np.nan, reason)


def even(counts: IntVector) -> float:
    """Return the p-value of "all categories are equally likely"."""
    if len(counts) < 2 or not counts.sum():
        return 1.0
    if len(counts) == 2:
        return float(min(1.0, 2 * special.bdtr(counts.min(), counts.sum(), 0.5)))
    return _chi_squared(counts[None], np.full((1, len(counts)), counts.mean()), len(counts) - 1)


def unchanged(table: IntMatrix) -> float:
    """Return the p-value of "the share of each row is the same in all columns". Rows with few counts are merged."""
    table = table[:, table.sum(axis=0) > 0]
    if not table.size:
        return 1.0
    rare = table.sum(axis=1) * (table.sum(axis=0).min() / table.sum()) < 5
    table = np.concatenate([table[~rare], table[rare].sum(axis=0, keepdims=True)])
    table = table[table.sum(axis=1) > 0]
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    if min(table.shape) < 2 or expected.min() < 5:
        return 1.0
    return _chi_squared(table, expected, (table.shape[0] - 1) * (table.shape[1] - 1))


def _chi_squared(table: IntMatrix, expected: FloatMatrix, freedom: int) -> float:
    return float(special.chdtrc(freedom, ((table - expected) ** 2 / expected).sum()))


def robots(n: int, lists: IntVector, clicked: IntVector, users: IntVector) -> Finding:
    """Look for users who click on nearly all lists, and more often than others.

    ``users[k]`` users have ``lists[k]`` lists each, of which ``clicked[k]`` have a click.
    """
    often, rate = (lists >= _ROBOT) & (clicked >= _CLICKED * lists), clicked / lists
    others = users * ~often
    mean = others @ rate / max(others.sum(), 1)
    chance = max(mean * (1 - mean), 1e-9)
    between = max(others @ ((rate - mean) ** 2 - chance / lists) / max(others @ (1 - 1 / lists), 1e-9), 0.0)
    unusual = rate - mean > _UNUSUAL * np.sqrt(between + chance / lists)  # a user with easy queries is not unusual
    sure = often & unusual & others.any()
    named = sure if lists[sure] @ users[sure] > RATE * n else often
    number, theirs = int(users[named].sum()), int(lists[named] @ users[named])
    sentence = f"{several(number, 'user')} with {_ROBOT} or more lists clicked on nearly all of {theirs:,} lists"
    if named is often and theirs > RATE * n:
        usual = f"within {_UNUSUAL:g} standard deviations of the others, who clicked on {mean:.1%} of theirs on average"
        reason = f"this is {usual}" if others.any() else "there are no others to compare them with"
        return not_checked("robots", f"{sentence}; {reason}")
    return limited("robots", theirs / n, RATE, sentence)


def check_counts(findings: Sequence[Finding]) -> str:
    """Return how many checks passed and how many could not be made."""
    passed, left = (sum(finding.verdict == verdict for finding in findings) for verdict in ("sound", "not checked"))
    return f"{several(passed, 'check')} passed" + f", {left} could not be made" * bool(left)


def finding_lines(findings: Sequence[Finding], *, only_failures: bool = False) -> list[str]:
    """Return the findings as lines of text, failures first."""
    verdicts = ("fails",) if only_failures else ("fails", "sound", "not checked")
    ordered = sorted((f for f in findings if f.verdict in verdicts), key=lambda f: verdicts.index(f.verdict))
    return [f"{finding.verdict}: {finding.name}: {finding.sentence}" for finding in ordered]
