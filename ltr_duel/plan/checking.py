"""Plans are kept, so that each decision can be looked up again, and a log be compared with them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ltr_duel.core import InputError, files, several
from ltr_duel.live import Keys, Settings
from ltr_duel.logs import ClickLog, Finding, check_log, finding_lines
from ltr_duel.plan.plan import LivePlan

_SOUND = "gaps and clock steps", "repeated impressions"
_COLUMNS = ("impression", "time", "query", "user", "rankers", "propensity")


def _kept(out: Path, version: int | str) -> Path:
    return out.with_name(f"{out.stem}.{version}{out.suffix}")


def keep_plan(plan: LivePlan, out: Path, keys: Keys) -> Path:
    """Write a plan to a file, and beside it to one that is named by its version; return that.

    Raises `InputError` if another plan of that version is there, or the folder cannot be written to.
    """
    kept, text = _kept(out, plan.version), plan.to_json(keys)
    if kept.exists() and kept.read_text("utf-8") != text:
        raise InputError(f"{kept}: there is another plan {plan.version}, which may be in use; give --version")
    files.write_text(kept, text)
    files.write_text(out, text)
    return kept


def kept_plans(out: Path, keys: Keys) -> dict[int, LivePlan]:
    """Return the plans that were kept beside a file, by their versions. Raises `InputError` for one that is none."""
    found = [LivePlan.read(path, keys) for path in sorted(out.parent.glob(_kept(out, "*").name))]
    return {plan.version: plan for plan in found}


def check_plans(log: ClickLog, plans: Mapping[int, LivePlan], settings: Settings) -> list[str]:
    """Say what is wrong with a log: it was not made by these plans, or the experiment is not sound.

    Parameters
    ----------
    log : ClickLog
        Made with ``skip_bad=None``, so that bad lines are counted.
    plans : mapping of int to Plan
        By their versions.
    settings : Settings

    Returns
    -------
    list of str
        Sentences; none where all is well.
    """
    said = [line for line in finding_lines(_failed(log, settings)) if line]
    wrong: dict[str, list[str]] = {}
    for batch in log.batches(_COLUMNS):
        table = batch.table.to_pydict()
        if missing := [name for name in _COLUMNS if name not in table]:
            raise InputError(f"{log.path}: rows of a plan have the column '{missing[0]}'")
        for line, *row in zip(batch.lines.tolist(), *(table[name] for name in _COLUMNS), strict=True):
            if complaint := _complaint(plans, *row):
                wrong.setdefault(complaint, []).append(str(log.find(line)))
    return [*said, *(f"{complaint}: {several(len(at), 'row')}, the first {at[0]}" for complaint, at in wrong.items())]


def _failed(log: ClickLog, settings: Settings) -> list[Finding]:
    """Return the checks that fail, but for what is sound in such a log.

    While one ranker has all pages to itself there is no row; and a page that is shown again is the same impression.
    """
    found = check_log(log, settings.rankers)
    return [one for one in found if one.verdict == "fails" and one.name not in _SOUND]


def _complaint(
    plans: Mapping[int, LivePlan], impression: str, time: float, query: str, user: str | None,
    rankers: list[str] | None, propensity: float | None,
) -> str:  # fmt: skip
    version = impression.partition("-")[0]
    plan = plans.get(int(version)) if version.isdecimal() else None
    if plan is None:
        return f"shown by plan {version[:20]}, which was not kept"
    if plan.rankers(user or "", query) != tuple(rankers or ()) or plan.impression(user or "", query) != impression:
        return f"not what plan {version} shows this user for this query"
    if propensity is None or abs(propensity - plan.propensity(rankers or ())) > 1e-12:
        return f"propensities that are not those of plan {version}"
    if time < plan.at or (plan.until and time >= plan.until):
        return f"shown outside the time of plan {version}"
    return ""
