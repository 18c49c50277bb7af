"""Messages for errors in feature text. A message names the file, the line, the column, the text and the broken rule."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core import InputError
from ltr_duel.data.text import scan

_NUMBER = "such as 3, 0.25 or 1e-6"
_SENTENCES = {
    scan.BAD_LABEL: f"the line starts with '{{token}}' instead of a grade {_NUMBER}",
    scan.NO_QUERY: (
        "'{token}' is not a query such as qid:17 (sizes of queries may be in a file .query or .group beside this file;"
        " --dialect imat2009 reads queries from comments; a table needs a first line with names; give judgements"
        " without features as qrels:FILE)"
    ),
    scan.BAD_TOKEN: (
        "'{token}' is not '<id>:<value>'; a line is '<grade> qid:<query> <id>:<value> <id>:<value> ... # comment'"
    ),
    scan.BAD_ID: "feature id 0 in '{token}'; ids start at 1; --first-id 0 reads ids that start at 0",
    scan.ID_TOO_LARGE: (
        "feature id in '{token}' is too large; valid ids are {first}..{feature}; --features N allows more"
    ),
    scan.ID_TWICE: "feature {feature} occurs twice on this line; each id may occur once",
    scan.BAD_VALUE: (
        f"feature value '{{token}}' in '{{feature}}:{{token}}' is not a finite number {_NUMBER}"
        " (NULL is accepted with --fill)"
    ),
    scan.NULL_VALUE: "feature {feature} is {token}; choose a replacement with --fill (min, nan or a number)",
    scan.NO_COMMENT: "the line has no query in its comment, such as '# 3382' at its end",
}


def parse_error(path: Path, text: NDArray[np.uint8], lines_before: int, state: np.record, first_id: int) -> InputError:
    """Return the error at which the scanner stopped. The chunk ``text`` begins after ``lines_before`` lines."""
    at = int(state.at)
    before, rest = text[:at].tobytes(), text[at:].tobytes()
    line, column = lines_before + before.count(b"\n") + 1, at - before.rfind(b"\n")
    token = printable(re.match(rb"[^ \t\n]*", rest)[0].rstrip(b"\r"))  # type: ignore[index]
    sentence = _SENTENCES[int(state.code)].format(token=token, feature=int(state.feature), first=first_id)
    return InputError(f"{path}:{line}:{column}: {sentence}")


def printable(word: bytes) -> str:
    """Return a word of a file for a message, shortened, and with escapes for invisible characters."""
    text = repr(word[:80].decode("utf-8", "replace"))[1:-1]
    return text if len(text) <= 40 else text[:37] + "..."
