"""Store plans, and check that a log fits the stored plans."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from scipy import special

from ltr_duel.core import InputError, files, several
from ltr_duel.live import Keys, Settings
from ltr_duel.logs import ClickLog, Finding, check_log, finding_lines
from ltr_duel.plan.outcomes import ID
from ltr_duel.plan.plan import LivePlan

_SOUND = "gaps", "repeated impressions"
_SLACK = 300.0  # tolerated difference of clocks, in seconds
_ERROR = 0.001  # probability of a false alarm of each test; small, because tests run after every plan
_TESTS = "pairs shown", "pairs over time", "owners of position 1"
_COLUMNS = ("impression", "time", "query", "user", "rankers", "propensity")


def _kept(out: Path, version: int | str) -> Path:
    return out.with_name(f"{out.stem}.{version}{out.suffix}")


def keep_plan(plan: LivePlan, out: Path, keys: Keys) -> Path:
    """Write a plan to ``out`` and to a file named by its version; return the path of the second file.

    Raises `InputError` if the second file exists and contains a different plan.
    """
    kept, text = _kept(out, plan.version), plan.to_json(keys)
    if kept.exists() and json.loads(kept.read_text("utf-8"))["plan"] != json.loads(text)["plan"]:
        raise InputError(f"{kept}: a different plan {plan.version} exists and may be in use; set --version")
    files.write_text(kept, text)
    files.write_text(out, text)
    return kept


def kept_plans(out: Path, keys: Keys) -> dict[int, LivePlan]:
    """Return the plans that `keep_plan` stored beside the file ``out``, by version."""
    name = re.compile(rf"{re.escape(out.stem)}\.\d+{re.escape(out.suffix)}")
    found = [LivePlan.read(path, keys) for path in sorted(out.parent.glob("*")) if name.fullmatch(path.name)]
    return {plan.version: plan for plan in found}


def check_plans(log: ClickLog, plans: Mapping[int, LivePlan], settings: Settings) -> list[str]:
    """Return sentences about the faults of a log: rows that do not fit these plans, and failed checks.

    Open the log with ``skip_bad=None``, so that its bad lines are counted.
    """
    said = [line for line in finding_lines(_failed(log, settings)) if line]
    if lost := log.bad.count - log.bad.repeated:
        said.append(f"{several(lost, 'line')} cannot be used; the first: {log.bad.sentences[0]}")
    wrong: dict[str, list[int]] = {}  # complaint -> line numbers; `log.find` then finds the row of the first
    shown: dict[int, Counter[tuple[str, ...]]] = {}
    for batch in log.batches(_COLUMNS):
        table = batch.table.to_pydict()
        if missing := [name for name in _COLUMNS if name not in table]:
            raise InputError(f"{log.path}: the log of a plan must have the column '{missing[0]}'")
        for line, *row in zip(batch.lines.tolist(), *(table[name] for name in _COLUMNS), strict=True):
            if complaint := _complaint(plans, *row):
                wrong.setdefault(complaint, []).append(line)
            else:
                shown.setdefault(int(row[0].partition("-")[0]), Counter())[tuple(row[4])] += 1
    said += [line for version, counts in sorted(shown.items()) if (line := _shares(plans[version], counts, len(shown)))]
    return [
        *said,
        *(f"{complaint}: {several(len(at), 'row')}, the first {log.find(at[0])}" for complaint, at in wrong.items()),
    ]


def _failed(log: ClickLog, settings: Settings) -> list[Finding]:
    """Return the failed checks, except checks that fail even for sound logs of plans.

    Sound logs fail some checks because pages with a single ranker are not logged, and because a page that is shown
    again has the same impression id.
    """
    found = check_log(log, settings.rankers)
    failed = [one for one in found if one.verdict == "fails" and one.name not in _SOUND]
    return [one for one in failed if one.name not in _TESTS or one.number < _ERROR]  # number: the p-value of a test


def _shares(plan: LivePlan, counts: Counter[tuple[str, ...]], plans: int) -> str:
    """Return a sentence if, by a chi-squared test, the frequencies of sets of rankers differ from the plan."""
    draws = {names: count for names, count in plan.sets if len(names) > 1}
    expected = np.array(list(draws.values())) * (counts.total() / sum(draws.values()))
    seen = np.array([counts[names] for names in draws], np.float64)
    few = expected < 5  # sets that are pooled, because too few of their pages are expected
    groups = [np.append(one[~few], one[few].sum()) if few.any() else one for one in (expected, seen)]
    if len(groups[0]) < 2 or groups[0][-1] == 0:
        return ""
    p = float(special.chdtrc(len(groups[0]) - 1, ((groups[1] - groups[0]) ** 2 / groups[0]).sum()))
    if p >= _ERROR / plans:
        return ""
    return f"the frequencies of sets of rankers in the log differ from plan {plan.version} (p = {p:.2g})"


def _complaint(
    plans: Mapping[int, LivePlan], impression: str, time: float, query: str, user: str | None,
    rankers: list[str] | None, propensity: float | None,
) -> str:  # fmt: skip
    if not re.fullmatch(ID, impression):
        return "rows with an impression that belongs to no plan"
    version = impression.partition("-")[0]
    plan = plans.get(int(version))
    if plan is None:
        return f"rows shown by plan {version}, whose file is missing"
    if plan.rankers(user or "", query) != tuple(rankers or ()) or plan.impression(user or "", query) != impression:
        return f"rows that differ from the page of plan {version} for their user and query"
    if propensity is None or abs(propensity - plan.propensity(rankers or ())) > 1e-12:
        return f"rows with propensities that differ from plan {version}"
    if time < plan.at - _SLACK or (plan.until and time >= plan.until + _SLACK):
        return f"rows shown outside the period of plan {version}"
    return ""
