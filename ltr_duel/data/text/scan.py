"""The scanner: compiled functions that parse lines of feature text, byte by byte, into rows of a matrix.

    <label> [qid:<query>] <id>:<value> <id>:<value> ... [# comment]

Each part of a line is parsed by one function. The function receives the position where the part begins, and returns the
position where the next part begins. If the function finds an error, it records the position and a code of the error,
and returns STOPPED. The text always ends with a line feed, so that loops need not check for the end of the text.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core import inlined, kernel
from ltr_duel.data.text.tokens import EXACT, LARGEST_FLOAT, NOT_A_NUMBER, TOO_LARGE, UNSURE, parse_number, usual_token

# Reasons for a stop of the scanner.
DONE, BAD_LABEL, NO_QUERY, BAD_TOKEN, BAD_ID, ID_TOO_LARGE, ID_TWICE, BAD_VALUE, NULL_VALUE, NEED_ROOM, NO_COMMENT = (
    range(11)
)

STOPPED = 0  # the functions return this number after an error; no part of a line ends at position 0
LABEL = -1  # the column of a DOUBT if the number is a label
LONG_ID = 10**9  # stands for every id with more than nine digits

IN_TOKEN, IN_COMMENT, IN_SIDECAR = range(3)  # where the query of a line stands

_TAB, _LINE_FEED, _RETURN, _SPACE, _HASH, _PLUS, _MINUS, _ZERO, _NINE, _COLON = b"\t\n\r #+-09:"
_Q, _I, _D = b"qid"
_NULL, _NAN = (np.frombuffer(word, np.uint8) for word in (b"NULL", b"nan"))


def _record(fields: str, kind: type) -> np.dtype[np.void]:
    return np.dtype([(name, kind) for name in fields.split()])


# A line with a document: five positions in the text, the number of columns up to its last feature, and its number.
LINE = _record("start query query_end comment comment_end width number", np.int32)
# A number that Python must parse, because its float32 is uncertain: its row, its column (or LABEL) and its position.
DOUBT = _record("row column at", np.int32)
# The state of the scanner: why and where it stopped, and at which feature; then the numbers of doubts, of values that
# were clipped to the largest float32, of lines (0 unless all were parsed), and of features on all lines.
STATE = _record("code at feature doubts clipped lines values", np.int64)

Records = Any  # record arrays; their fields have no static types


class Grammar(NamedTuple):
    """The rules by which the scanner reads lines."""

    query: int = IN_TOKEN  # where the query of a line stands
    null_allowed: bool = False  # whether ``NULL`` and ``nan`` are allowed as values; they become NaN
    first_id: int = 1  # id of the first feature: 1 or 0
    omitted: float = 0.0  # value of a feature that is not on the line


class Block(NamedTuple):
    """The output of the scanner: one row for each line with a document."""

    features: NDArray[np.float32]  # (rows, columns)
    labels: NDArray[np.float32]  # (rows,)
    last_row: NDArray[np.int32]  # (columns,) scratch: the last row with a value in the column, plus 1; 0 without values
    lines: Records  # (rows,) of LINE
    doubts: Records  # (n,) of DOUBT
    state: Records  # (1,) of STATE


@kernel
def scan_lines(text, grammar, block):
    """Parse ``text`` into ``block``, and return the number of rows. ``block.state`` says why parsing stopped.

    text: whole lines. The last byte must be a line feed.
    block: ``last_row`` and ``state`` must be zero. If an array is too small, the scanner stops with NEED_ROOM.
    """
    at = 0
    row = 0
    number = 0
    while at < len(text):
        start = at
        number += 1
        at = skip_blanks(text, at)
        if text[at] == _LINE_FEED or (text[at] == _RETURN and text[at + 1] == _LINE_FEED):  # an empty line
            at += 1 + (text[at] == _RETURN)
            continue
        if text[at] == _HASH:  # a line with only a comment
            at = skip_comment(text, at)
            continue
        if row == len(block.labels):
            stop(block, NEED_ROOM, at, 0)
            return row
        for column in range(block.features.shape[1]):  # filled here, to bring the row into the cache
            block.features[row, column] = grammar.omitted
        line = block.lines[row]
        line.start = start
        line.number = number
        at = scan_label(text, at, row, block)
        if at != STOPPED:
            at = scan_query(text, at, grammar, line, block)
        if at != STOPPED:
            at = scan_features(text, at, row, grammar, line, block)
        if at != STOPPED:
            at = scan_comment(text, at, line, block)
        if at == STOPPED:
            return row
        row += 1
    block.state[0].lines = number
    stop(block, DONE, at, 0)
    return row


@inlined
def scan_label(text, at, row, block):
    """Parse the label."""
    value, end, code = parse_number(text, at)
    if code == NOT_A_NUMBER or not ends_token(text[end]):
        return stop(block, BAD_LABEL, at, 0)
    if code == TOO_LARGE:
        value = np.inf
    if code == UNSURE and not leave_to_python(block, row, LABEL, at):
        return stop(block, NEED_ROOM, at, 0)
    block.labels[row] = value
    return skip_blanks(text, end)


@inlined
def scan_query(text, at, grammar, line, block):
    """Find the query: ``qid:`` followed by any word."""
    line.query = 0
    line.query_end = 0
    if text[at] == _Q and text[at + 1] == _I and text[at + 2] == _D and text[at + 3] == _COLON:
        at += 4
        line.query = at
        while text[at] > _SPACE and text[at] != _HASH:
            at += 1
        line.query_end = at
        if at == line.query or not ends_token(text[at]):
            return stop(block, NO_QUERY, at, 0)
    elif grammar.query == IN_TOKEN:
        return stop(block, NO_QUERY, at, 0)
    return at


@kernel
def scan_features(text, at, row, grammar, line, block):
    """Parse all pairs ``<id>:<value>`` of a line, up to the first byte that cannot begin an id."""
    features, last_row = block.features, block.last_row
    columns = features.shape[1]
    first_id = grammar.first_id
    column = -1
    stamp = row + 1
    values = 0
    while True:
        byte = text[at]
        if byte in (_SPACE, _TAB):
            at += 1
            continue
        if not _ZERO <= byte <= _NINE:
            line.width = column + 1
            block.state[0].values += values
            return at
        feature, value, end = usual_token(text, at)
        column = feature - first_id
        values += 1
        if 0 <= column < columns and last_row[column] != stamp:
            last_row[column] = stamp
            features[row, column] = value
            at = end
            continue
        column, value, end = any_token(text, at, row, grammar, block)
        if end == STOPPED:
            return end
        features[row, column] = value
        at = end


@kernel
def any_token(text, at, row, grammar, block):
    """Parse one pair ``<id>:<value>`` of any form. Return its column, its value, and the next position or STOPPED."""
    start = at
    feature = 0
    while _ZERO <= text[at] <= _NINE:
        feature = feature * 10 + int(np.int64(text[at])) - _ZERO
        at += 1
    if text[at] != _COLON:
        return 0, 0.0, stop(block, BAD_TOKEN, start, 0)
    if at - start > 9:
        feature = LONG_ID
    column = feature - grammar.first_id
    if column >= len(block.last_row):
        return 0, 0.0, stop(block, ID_TOO_LARGE, start, feature)
    if column < 0:
        return 0, 0.0, stop(block, BAD_ID, start, 0)
    if block.last_row[column] == row + 1:
        return 0, 0.0, stop(block, ID_TWICE, start, feature)
    block.last_row[column] = row + 1
    at += 1
    value, end, code = parse_number(text, at)
    if code == UNSURE:
        if not leave_to_python(block, row, column, at):
            return 0, 0.0, stop(block, NEED_ROOM, at, 0)
    elif code == TOO_LARGE:
        value = -LARGEST_FLOAT if text[at] == _MINUS else LARGEST_FLOAT
        block.state[0].clipped += 1
    elif code != EXACT:
        end = end_of_missing(text, at)
        if end == at or not ends_token(text[end]):
            return 0, 0.0, stop(block, BAD_VALUE, at, feature)
        if not grammar.null_allowed:
            return 0, 0.0, stop(block, NULL_VALUE, at, feature)
        value = np.nan
    if not ends_token(text[end]):
        return 0, 0.0, stop(block, BAD_VALUE, at, feature)
    return column, value, end


@inlined
def scan_comment(text, at, line, block):
    """Find the end of the line, and the comment before it if there is one."""
    line.comment = 0
    line.comment_end = 0
    if text[at] == _HASH:
        line.comment = at + 1
        at = skip_comment(text, at)
        line.comment_end = at - 1 - (text[at - 2] == _RETURN)
        return at
    if text[at] == _RETURN and text[at + 1] == _LINE_FEED:
        at += 1
    if text[at] != _LINE_FEED:
        return stop(block, BAD_TOKEN, at, 0)
    return at + 1


@inlined
def skip_comment(text, at):
    """Return the position where the next line begins."""
    while text[at] != _LINE_FEED:
        at += 1
    return at + 1


@inlined
def skip_blanks(text, at):
    """Return the position of the first byte that is neither space nor tab."""
    while text[at] == _SPACE or text[at] == _TAB:
        at += 1
    return at


@inlined
def leave_to_python(block, row, column, at):
    """Note a number that Python must parse later. Return False if there is no room for the note."""
    state = block.state[0]
    if state.doubts == len(block.doubts):
        return False
    doubt = block.doubts[state.doubts]
    doubt.row = row
    doubt.column = column
    doubt.at = at
    state.doubts += 1
    return True


@kernel
def stop(block, code, at, feature):
    """Record why and where the scanner stopped, and return STOPPED."""
    state = block.state[0]
    state.code = code
    state.at = at
    state.feature = feature
    return STOPPED


@inlined
def ends_token(byte):
    """Return whether this byte ends a number."""
    return byte in (_SPACE, _LINE_FEED, _RETURN, _TAB, _HASH)


@kernel
def end_of_missing(text, at):
    """Return the position after the word ``NULL`` or ``nan``, or return ``at`` if neither word stands there.

    The word ``nan`` may be in upper or lower case, and may have a sign.
    """
    k = 0
    while k < len(_NULL) and text[at + k] == _NULL[k]:
        k += 1
    if k == len(_NULL):
        return at + k
    start = at
    if text[at] == _MINUS or text[at] == _PLUS:
        start += 1
    k = 0
    while k < len(_NAN) and (text[start + k] | 32) == _NAN[k]:  # 32: the bit that makes a letter lower-case
        k += 1
    return start + k if k == len(_NAN) else at


@kernel
def mark_new_queries(text, lines, new):
    """Set ``new[row]`` to True if a row has another query than the row before it, otherwise to False."""
    for row in range(len(lines)):
        new[row] = True
        if row > 0:
            line, before = lines[row], lines[row - 1]
            length = line.query_end - line.query
            if length == before.query_end - before.query:
                same = 0
                while same < length and text[line.query + same] == text[before.query + same]:
                    same += 1
                new[row] = same < length
