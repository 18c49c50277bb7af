"""Keep the files of all plans of an experiment, and check that a log fits these plans."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from scipy import special

from ltr_duel.core import InputError, files, several
from ltr_duel.live.plan import LivePlan
from ltr_duel.live.planner import IMPRESSION
from ltr_duel.live.settings import Settings
from ltr_duel.live.signing import Keys
from ltr_duel.logs import ClickLog, check_log, credited, finding_lines

_ALLOWED = "gaps", "repeated impressions"  # logs lack pages of one ranker, and a page may be shown again
_TESTS = "pairs shown", "pairs over time", "owners of position 1"
_ERROR = 0.001  # probability of a false alarm of a test; small, because tests run before every plan
_SLACK = 300.0  # tolerated difference of clocks, in seconds
_NEEDED = "impression", "time", "query", "user", "shown", "rankers", "propensity"


def keep_plan(plan: LivePlan, out: Path, keys: Keys) -> Path:
    """Write a plan to the file ``out``, and to a second file with the version in its name. Return the second path.

    Raises `InputError` if the second file contains a different plan.
    """
    path, text = out.with_name(f"{out.stem}.{plan.version}{out.suffix}"), plan.to_json(keys)
    if path.exists() and json.loads(path.read_text("utf-8"))["plan"] != json.loads(text)["plan"]:
        raise InputError(f"{path}: a different plan {plan.version} exists and may be in use")
    files.write_text(path, text)
    files.write_text(out, text)
    return path


def kept_plans(out: Path, keys: Keys) -> dict[int, LivePlan]:
    """Return all plans that `keep_plan` has written for the file ``out``, by version."""
    name = re.compile(rf"{re.escape(out.stem)}\.\d+{re.escape(out.suffix)}")
    plans = [LivePlan.read(path, keys) for path in sorted(out.parent.glob("*")) if name.fullmatch(path.name)]
    return {plan.version: plan for plan in plans}


def check_plans(log: ClickLog, plans: Mapping[int, LivePlan], settings: Settings) -> list[str]:
    """Return sentences about failed checks of a log, and about rows that do not fit the plans.

    Open the log with ``skip_bad=None``, so that its bad lines are counted.
    """
    failed = [row for row in check_log(log, settings.rankers) if row.verdict == "fails" and row.name not in _ALLOWED]
    failed = [row for row in failed if row.name not in _TESTS or row.number < _ERROR]  # number: the p-value of a test
    sentences = [line for line in finding_lines(failed) if line]
    credit = "owners" if settings.method.partition(":")[0] == "team_draft" else "page"
    rows = credited(log, settings.rankers, columns=(*_NEEDED, credit)).rows
    if lost := log.bad.count - log.bad.repeated:
        sentences.append(f"{several(lost, 'line')} cannot be used; the first: {log.bad.sentences[0]}")
    if missing := [name for name in (*_NEEDED, credit) if name not in rows.columns]:
        raise InputError(f"{log.path}: the log of a plan must have the column '{missing[0]}'")
    table = log.engine.query(f"SELECT line, {', '.join((*_NEEDED, credit))} FROM shown ORDER BY line", shown=rows)
    complaints: dict[str, list[int]] = {}  # complaint -> line numbers
    shown: dict[int, Counter[tuple[str, ...]]] = {}
    for line, *row in zip(*(table[name].to_pylist() for name in table.column_names), strict=True):
        if complaint := _complaint(plans, *row):
            complaints.setdefault(complaint, []).append(line)
        else:
            shown.setdefault(int(row[0].partition("-")[0]), Counter())[tuple(row[5])] += 1
    shares = [_shares(plans[version], counts, len(shown)) for version, counts in sorted(shown.items())]
    sentences += [sentence for sentence in shares if sentence]
    return sentences + [
        f"{complaint}: {several(len(lines), 'row')}, the first {log.find(lines[0])}"
        for complaint, lines in complaints.items()
    ]


def _complaint(
    plans: Mapping[int, LivePlan], impression: str, time: float, query: str, user: str | None, shown: list[str],
    rankers: list[str], propensity: float | None, credit: Any,
) -> str:  # fmt: skip
    if not IMPRESSION.fullmatch(impression):
        return "rows with an impression that belongs to no plan"
    version = impression.partition("-")[0]
    plan = plans.get(int(version))
    if plan is None:
        return f"rows shown by plan {version}, whose file is missing"
    equal = False
    with suppress(InputError):  # the plan refuses such a search
        equal = bool(user) and plan.rankers(str(user), query) == tuple(rankers)
        equal = equal and plan.impression(str(user), query, shown, credit) == impression
    if not equal:
        return f"rows that differ from the page of plan {version} for their user and query"
    if propensity is None or abs(propensity - plan.propensity(rankers)) > 1e-12:
        return f"rows with propensities that differ from plan {version}"
    if time < plan.at - _SLACK:
        return f"rows shown before the start of plan {version}"
    return ""


def _shares(plan: LivePlan, counts: Counter[tuple[str, ...]], plans: int) -> str:
    """Return a sentence if sets of rankers occur less or more often than planned (chi-squared test)."""
    draws = {rankers: count for rankers, count in plan.sets if len(rankers) > 1}
    expected = np.array(list(draws.values())) * (counts.total() / sum(draws.values()))
    observed = np.array([counts[rankers] for rankers in draws], np.float64)
    few = expected < 5  # sets with too few expected pages for the test, which are pooled
    groups = [np.append(pages[~few], pages[few].sum()) if few.any() else pages for pages in (expected, observed)]
    if len(groups[0]) < 2 or groups[0][-1] == 0:
        return ""
    p = float(special.chdtrc(len(groups[0]) - 1, ((groups[1] - groups[0]) ** 2 / groups[0]).sum()))
    if p >= _ERROR / plans:
        return ""
    return f"the frequencies of sets of rankers in the log differ from plan {plan.version} (p = {p:.2g})"
