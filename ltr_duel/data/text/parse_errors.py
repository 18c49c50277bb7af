"""Error messages for a line, in one sentence: file, line, column, the text there, and the valid form."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core import InputError, texts
from ltr_duel.data.text import scan

_NUMBER = "such as 3, 0.25 or 1e-6"

# More specific codes, which replace the scanner's code if they describe the text at the error.
_MISSING_QUERY, _NEGATIVE_ID, _NOT_FINITE, _STRANGE_BLANK = -1, -2, -3, -4

_SENTENCES = {
    scan.BAD_LABEL: f"the line starts with '{{token}}' instead of a grade {_NUMBER}",
    scan.NO_QUERY: (
        "'{token}' is not a query such as qid:17 (sizes of queries may be in a file .query or .group beside this file;"
        " a table needs a first line with names; give judgements without features as qrels:FILE)"
    ),
    _MISSING_QUERY: "a query such as qid:17 is missing",
    scan.BAD_TOKEN: (
        "'{token}' is not '<id>:<value>'; a line is '<grade> qid:<query> <id>:<value> <id>:<value> ... # comment'"
    ),
    _NEGATIVE_ID: "negative feature id in '{token}'; ids start at 1",
    scan.BAD_ID: "feature id 0 in '{token}'; ids start at 1; --first-id 0 reads ids that start at 0",
    scan.ID_TOO_LARGE: (
        "feature id in '{token}' is too large; valid ids are {first}..{feature}; --features N allows more"
    ),
    scan.ID_TWICE: "feature {feature} occurs twice on this line; each id may occur once",
    _STRANGE_BLANK: "{blank} in '{token}' is not a separator; use a space or a tab",
    scan.BAD_VALUE: (
        f"feature value '{{token}}' in '{{feature}}:{{token}}' is not a number {_NUMBER} (NULL is accepted with --fill)"
    ),
    _NOT_FINITE: f"feature value '{{token}}' in '{{feature}}:{{token}}' is not a finite number {_NUMBER}",
    scan.NUL_BYTE: "a NUL byte; the file is damaged or not text",
    scan.STRAY_RETURN: "a carriage return inside the line; lines end with LF or CR LF",
    scan.NULL_VALUE: "feature {feature} is {token}; choose a replacement with --fill (min, nan or a number)",
    scan.NO_COMMENT: "the line has no query in its comment, such as '# 3382' at its end",
}


def parse_error(path: Path, text: NDArray[np.uint8], lines_before: int, state: np.record, first_id: int) -> InputError:
    """Return the error for the position at which the scanner stopped, in a chunk after ``lines_before`` lines."""
    code, at = int(state.code), int(state.at)
    word = b"" if int(text[at]) in b" \t\r\n" else (text[at:].tobytes().split(None, 1) or [b""])[0]
    token, blank = readable(word), strange_blank(word)
    if 0 in text[at : at + len(word) + 1]:
        code = scan.NUL_BYTE
    elif blank and code != scan.ID_TWICE:
        code = _STRANGE_BLANK
    elif code == scan.NO_QUERY and not token:
        code = _MISSING_QUERY
    elif code == scan.BAD_TOKEN and token.startswith("-") and ":" in token:
        code = _NEGATIVE_ID
    elif code == scan.BAD_VALUE and token.lower().lstrip("+-").startswith("inf"):
        code = _NOT_FINITE
    sentence = _SENTENCES[code].format(token=token, feature=int(state.feature), first=first_id, blank=blank)
    before = text[:at].tobytes()
    line, column = lines_before + before.count(b"\n") + 1, at - before.rfind(b"\n")
    return InputError(f"{path}:{line}:{column}: {sentence}")


def readable(word: bytes) -> str:
    """Return a word of a file in a form for messages: printable and not too long."""
    shown = "".join(c if c.isprintable() else "?" for c in word[:80].decode("utf-8", "replace"))
    return shown if len(shown) <= 40 else shown[:37] + "..."


def strange_blank(word: bytes) -> str:
    """Return the name of a word's first blank that is not a separator, such as a no-break space; "" if none exists."""
    if word.isascii():
        return ""
    blank = next((c for c in texts.decoded(word) if not c.isascii() and (c.isspace() or c in "\u200b\ufeff")), "")
    if not blank:
        return ""
    name = unicodedata.name(blank, "control character").lower()
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name} (U+{ord(blank):04X})"
