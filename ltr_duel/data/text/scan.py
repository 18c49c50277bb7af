"""The byte scanner: whole lines of feature text become rows of a matrix.

    <label> [qid:<query>] <id>:<value> <id>:<value> ... [# comment]

One pass, one position, no look-back. The text ends with a line feed, so no loop needs to ask whether it is at
the end. `quick` reads tokens of the usual form, this file all others. On bad input the scanner stops and says where
and why; `complaints` makes the sentence.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core import kernel
from ltr_duel.data.text.fast_token import quick_token
from ltr_duel.data.text.numbers import EXACT, NOT_A_NUMBER, TOO_LARGE, UNSURE, parse_number

# Why the scanner stopped.
DONE, BAD_LABEL, LARGE_LABEL, NO_QUERY, BAD_TOKEN, BAD_ID, ID_TOO_LARGE, ID_TWICE, BAD_VALUE, LARGE_VALUE = range(10)
NUL_BYTE, STRAY_RETURN, NULL_VALUE, NEED_ROOM, NO_COMMENT = range(10, 15)

LONG_ID = 10**9  # stands for every id of more than nine digits

# Columns of `Block.spans`: positions in the text.
LINE, QUERY, QUERY_END, COMMENT, COMMENT_END, LAST_ID, NUMBER = range(7)

# Where the query of a line is written.
IN_TOKEN, IN_COMMENT, IN_SIDECAR = range(3)


class Block(NamedTuple):
    """What the scanner writes: one row for each line that holds a document."""

    features: NDArray[np.float32]  # (rows, columns), made zero where the line says nothing
    labels: NDArray[np.float32]  # (rows,)
    spans: NDArray[np.int32]  # (rows, 7), see LINE ... NUMBER
    unsure: NDArray[np.int32]  # (n, 3): row, column (-1: the label), position of numbers left to Python
    last_row: NDArray[np.int32]  # (columns,) scratch: the row, plus 1, that used the column last
    state: NDArray[np.int64]  # (5,): code, position, feature id, unsure numbers, lines seen


@kernel
def scan_lines(text, place, null_allowed, block):
    """Parse ``text`` into ``block``; return the number of rows. Why it stopped is in ``block.state``.

    Parameters
    ----------
    text : ndarray of uint8
        Whole lines; the last byte is a line feed.
    place : int
        IN_TOKEN, IN_COMMENT or IN_SIDECAR: where the query is written.
    null_allowed : bool
        Whether ``NULL`` is a value (it becomes NaN).
    block : Block
        ``last_row`` is zero. Where it is too small, the scanner stops with NEED_ROOM.
    """
    features, labels, spans, unsure, last_row, state = block
    columns = features.shape[1]
    at = 0
    row = 0
    doubtful = 0
    number = 0
    size = len(text)
    while at < size:
        line = at
        number += 1
        byte = text[at]
        while byte == 32 or byte == 9:
            at += 1
            byte = text[at]
        if byte == 10 or (byte == 13 and text[at + 1] == 10):  # nothing on this line
            at += 1 + (byte == 13)
            continue
        if byte == 35:  # only a comment
            while text[at] != 10:
                if text[at] == 0:
                    return stop(state, NUL_BYTE, at, 0, row, doubtful)
                at += 1
            at += 1
            continue

        if row == len(labels):
            return stop(state, NEED_ROOM, at, 0, row, doubtful)
        for column in range(columns):  # here, and not for the whole block at once: now the row is in the cache
            features[row, column] = 0.0
        value, end, code = parse_number(text, at)
        if code == NOT_A_NUMBER or not ends_token(text[end]):
            return stop(state, BAD_LABEL, at, 0, row, doubtful)
        if code == TOO_LARGE:
            return stop(state, LARGE_LABEL, at, 0, row, doubtful)
        labels[row] = value
        if code == UNSURE:
            if doubtful == len(unsure):
                return stop(state, NEED_ROOM, at, 0, row, doubtful)
            unsure[doubtful, 0] = row
            unsure[doubtful, 1] = -1
            unsure[doubtful, 2] = at
            doubtful += 1
        at = end
        while text[at] == 32 or text[at] == 9:
            at += 1

        spans[row, LINE] = line
        spans[row, NUMBER] = number
        spans[row, QUERY] = 0
        spans[row, QUERY_END] = 0
        spans[row, COMMENT] = 0
        spans[row, COMMENT_END] = 0
        if text[at] == 113 and text[at + 1] == 105 and text[at + 2] == 100 and text[at + 3] == 58:  # qid:
            at += 4
            spans[row, QUERY] = at
            while text[at] > 35 or text[at] == 33 or text[at] == 34:
                at += 1
            spans[row, QUERY_END] = at
            if at == spans[row, QUERY] or not ends_token(text[at]):
                return stop(state, NO_QUERY, at, 0, row, doubtful)
        elif place == IN_TOKEN:
            return stop(state, NO_QUERY, at, 0, row, doubtful)

        feature = 0
        stamp = row + 1
        while True:
            byte = text[at]
            if byte == 32 or byte == 9:
                at += 1
                continue
            digit = int(np.int64(byte)) - 48
            if not 0 <= digit <= 9:
                break
            start = at
            feature, value, end = quick_token(text, start)
            if 0 < feature <= columns and last_row[feature - 1] != stamp:
                last_row[feature - 1] = stamp
                features[row, feature - 1] = value
                at = end
                continue
            feature = 0
            while 0 <= digit <= 9:
                feature = feature * 10 + digit
                at += 1
                digit = int(np.int64(text[at])) - 48
            if digit != 10:  # a colon
                return stop(state, BAD_TOKEN, start, 0, row, doubtful)
            if at - start > 9:
                feature = LONG_ID
            if feature > columns:
                return stop(state, ID_TOO_LARGE, start, feature, row, doubtful)
            column = feature - 1
            if column < 0:
                return stop(state, BAD_ID, start, 0, row, doubtful)
            if last_row[column] == stamp:
                return stop(state, ID_TWICE, start, feature, row, doubtful)
            last_row[column] = stamp
            at += 1
            value, end, code = parse_number(text, at)
            if code != EXACT:
                if code == UNSURE:
                    if doubtful == len(unsure):
                        return stop(state, NEED_ROOM, at, 0, row, doubtful)
                    unsure[doubtful, 0] = row
                    unsure[doubtful, 1] = column
                    unsure[doubtful, 2] = at
                    doubtful += 1
                elif code == TOO_LARGE:
                    return stop(state, LARGE_VALUE, at, feature, row, doubtful)
                elif not is_null(text, at):
                    return stop(state, BAD_VALUE, at, feature, row, doubtful)
                elif not null_allowed:
                    return stop(state, NULL_VALUE, at, feature, row, doubtful)
                else:
                    end = at + 4
                    value = np.nan
            if not ends_token(text[end]):
                return stop(state, BAD_VALUE, at, feature, row, doubtful)
            features[row, column] = value
            at = end
        spans[row, LAST_ID] = feature

        if byte == 35:
            at += 1
            spans[row, COMMENT] = at
            while text[at] != 10:
                if text[at] == 0:
                    return stop(state, NUL_BYTE, at, 0, row, doubtful)
                at += 1
            spans[row, COMMENT_END] = at - (text[at - 1] == 13)
        elif byte == 13:
            at += 1
            if text[at] != 10:
                return stop(state, STRAY_RETURN, at - 1, 0, row, doubtful)
        elif byte != 10:
            return stop(state, BAD_TOKEN, at, 0, row, doubtful)
        at += 1
        row += 1
    state[4] = number
    return stop(state, DONE, at, 0, row, doubtful)


@kernel
def count_documents(text):
    """Count the lines that hold more than blanks or a comment."""
    documents = 0
    fresh = True  # nothing but blanks on this line so far
    for byte in text:
        if byte == 10:
            fresh = True
        elif fresh and byte != 32 and byte != 9 and byte != 13:
            fresh = False
            documents += byte != 35
    return documents


@kernel
def stop(state, code, at, feature, row, doubtful):
    """Write down why and where the scanner stopped, and return the number of finished rows."""
    state[0] = code
    state[1] = at
    state[2] = feature
    state[3] = doubtful
    return row


@kernel
def ends_token(byte):
    """Whether this byte ends a number: space, line feed, carriage return, tab or ``#``."""
    return byte == 32 or byte == 10 or byte == 13 or byte == 9 or byte == 35


@kernel
def is_null(text, at):
    """Whether ``NULL`` stands here. Four bytes further there may be no text: ask from left to right."""
    return text[at] == 78 and text[at + 1] == 85 and text[at + 2] == 76 and text[at + 3] == 76


@kernel
def mark_new_queries(text, spans, rows, new):
    """Set ``new[row]`` where the bytes of the query differ from those of the row before."""
    for row in range(rows):
        new[row] = True
        if row > 0:
            length = spans[row, QUERY_END] - spans[row, QUERY]
            if length == spans[row - 1, QUERY_END] - spans[row - 1, QUERY]:
                here = spans[row, QUERY]
                before = spans[row - 1, QUERY]
                same = 0
                while same < length and text[here + same] == text[before + same]:
                    same += 1
                new[row] = same < length


@kernel
def query_from_comment(text, spans, rows):
    """Make the first word of each comment the query; return the first row without one, or -1."""
    for row in range(rows):
        at = spans[row, COMMENT]
        end = spans[row, COMMENT_END]
        while at < end and (text[at] == 32 or text[at] == 9):
            at += 1
        start = at
        while at < end and text[at] > 32:
            at += 1
        if at == start:
            return row
        spans[row, QUERY] = start
        spans[row, QUERY_END] = at
        spans[row, COMMENT] = at
    return -1
