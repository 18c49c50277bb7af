"""Make relevance judgements from clicks, for example to train rankers: attractive documents get high grades."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from ltr_duel.clicks.fit.api import FittedClicks
from ltr_duel.clicks.fit.errors import own_errors
from ltr_duel.clicks.fit.sessions import Sessions
from ltr_duel.core import FloatVector, InputError, errors, files


class Judgements(NamedTuple):
    """Grades of documents, and the attractiveness from which they were computed.

    table: columns query, document, grade (missing for few impressions), attractiveness, error, impressions.
    limits: (grades - 1,) the grade of a document is the number of limits that are below its attractiveness.
    """

    table: pd.DataFrame
    limits: FloatVector

    def save(self, path: str | Path) -> Path:
        """Write the grades to a qrels file, and the table to ``NAME.attractiveness.csv``. Return the table's path."""
        path, judged = Path(path), self.table.dropna(subset="grade")
        table_path = path.with_suffix(".attractiveness.csv")
        qrels = judged.assign(iteration=0)[["query", "iteration", "document", "grade"]]
        files.write_text(path, qrels.to_csv(sep=" ", index=False, header=False))
        files.write_text(table_path, self.table.drop(columns="grade").to_csv(index=False, float_format="%.6g"))
        return table_path


def judge_documents(
    fitted: FittedClicks, sessions: Sessions, grades: int = 5, *, min_impressions: int = 10
) -> Judgements:
    """Give each document a grade by its attractiveness in a fitted click model.

    The documents of all queries are sorted by their attractiveness, and divided into ``grades`` parts of about equal
    size. The documents of the lowest part have grade 0. Documents with the same attractiveness have the same grade.

    Parameters
    ----------
    fitted : FittedClicks
        A click model that was fitted to sessions with documents, not with grades.
    sessions : Sessions
        The sessions that the model was fitted to. Later sessions are ignored.
    grades : int
        Number of grades, from 2 to 1000.
    min_impressions : int
        A document that was shown fewer times than this gets no grade. The smoothing of the fit would move its
        attractiveness towards one half, which is usually a high grade.

    Returns
    -------
    Judgements
        The error of a document is computed as if all other parameters of the model were known.

    Raises
    ------
    InputError
        If the model was not fitted by document, a name contains white space, or no document has enough impressions.

    Examples
    --------
    >>> from ltr_duel.clicks import fit_clicks
    >>> names = np.array(["q", "q"], object), np.array(["a", "b"], object)
    >>> ptr, item, click = np.arange(0, 42, 2), np.tile([0, 1], 20), np.tile([True, False], 20)
    >>> sessions = Sessions(ptr, item, click, np.zeros(20, np.int64), 2, False, None, names)
    >>> judge_documents(fit_clicks(sessions, "pbm"), sessions, grades=2).table["grade"].tolist()
    [1, 0]
    """
    errors.require_between("grades", grades, 2, 1000)
    names = sessions.names
    if fitted.graded or names is None:
        raise InputError("judgements need a click model that was fitted by document, and the names of the documents")
    sessions = sessions.select(np.arange(sessions.number) < fitted.train.sessions)
    impressions = np.bincount(sessions.item, minlength=sessions.items)
    if impressions.max() < min_impressions:
        most = f"the most are {impressions.max():,}"
        raise InputError(f"no document has {min_impressions} impressions, the least for a grade; {most}")
    value, error = fitted.blocks["attraction"].values, own_errors(fitted.fit, sessions)[: sessions.items]
    few = impressions < min_impressions
    limits = np.quantile(value[~few], np.arange(1, grades) / grades, method="inverted_cdf")
    grade = pd.Series(np.searchsorted(limits, value), dtype="Int64").mask(few)
    query, document = names
    columns = {"query": query, "document": document, "grade": grade, "attractiveness": value}
    table = pd.DataFrame(columns | {"error": error, "impressions": impressions})[impressions > 0]
    for name in (*table["query"], *table["document"]):
        if name.split() != [name]:
            raise InputError(f"{name!r} cannot stand in a qrels file: it is empty or contains white space")
    return Judgements(table.reset_index(drop=True), limits)
