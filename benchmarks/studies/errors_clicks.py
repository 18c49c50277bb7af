"""Standard errors of fitted click models over queries: ``python -m benchmarks.studies.errors_clicks [--corpora 200]``.

A corpus has twenty queries of ten documents in three grades; documents of one grade differ in attractiveness (Beta
around the grade's mean). Each of 500 users searches four times. Each corpus has different queries, so correct standard
errors equal the standard deviation of the fits over corpora.
"""

from __future__ import annotations

import argparse

import numpy as np

from benchmarks.studies.tables import table
from ltr_duel.clicks import Sessions, fit_clicks
from ltr_duel.core import FloatVector, stream
from tests.reference.fitted_clicks import Truth, drawn

QUERIES, DOCUMENTS, GRADES = 20, 10, 3
_MEAN, _LIKE = (0.15, 0.4, 0.7), 8.0  # mean attractiveness of a grade, and concentration of its documents


def corpus(seed: int, users: int = 500, visits: int = 4) -> Sessions:
    """Sample queries and sessions of users."""
    rng = stream(seed, "corpus")
    grade = rng.integers(0, GRADES, QUERIES * DOCUMENTS)
    mean = np.array(_MEAN)[grade]
    truth = Truth(rng.beta(_LIKE * mean, _LIKE * (1 - mean)).tolist(), np.array([0.2, 0.4, 0.6])[grade].tolist())
    user = np.repeat(np.arange(users), visits)
    query = rng.integers(0, QUERIES, len(user))
    lists = np.array([rng.permutation(DOCUMENTS)[:6] + DOCUMENTS * q for q in query])
    sessions = drawn("sdbn", truth, lists, None, rng)
    return sessions._replace(item=grade[sessions.item], query=query, items=GRADES, graded=True, user=user)


def errors_over_corpora(corpora: int) -> tuple[FloatVector, FloatVector, FloatVector]:
    """Return mean errors of each grade's attractiveness, by user and by query, and the fits' deviation."""
    fits, errors = [], []
    for seed in range(corpora):
        sessions = corpus(seed)
        by_item = [fit_clicks(sessions._replace(graded=graded), "sdbn") for graded in (False, True)]
        fits.append(by_item[0].fit.model.theta[:GRADES])
        errors.append([fitted.errors.values[:GRADES] for fitted in by_item])
    by_user, by_query = np.mean(errors, axis=0)
    return by_user, by_query, np.std(fits, axis=0, ddof=1)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--corpora", type=int, default=200)
    number = parser.parse_args().corpora
    by_user, by_query, spread = errors_over_corpora(number)
    rows = [
        [f"{grade}", f"{a:.4f}", f"{b:.4f}", f"{s:.4f} +- {s / np.sqrt(2 * (number - 1)):.4f}"]
        for grade, (a, b, s) in enumerate(zip(by_user, by_query, spread, strict=True))
    ]
    table(f"Attractiveness by grade, {number} corpora", ["grade", "error by user", "error by query", "spread"], rows)


if __name__ == "__main__":
    main()
