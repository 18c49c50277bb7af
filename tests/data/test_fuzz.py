"""Damaged and strange text: never a crash, a hang, a wrong number or a missing error.

Every input goes through the reader and through `reference_reader`; both must agree on the validity, on the invalid
line, and on every value.
"""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np

from ltr_duel.core import InputError
from ltr_duel.data import ReadWarning, load_dataset
from tests.data import reference_reader

BASES = [
    b"0 qid:1 1:0.5 2:3 3:1e-3 #docid = G1-2 inc = 1\r\n1 qid:1 1:1 2:2 3:3 #docid = G1-3\r\n"
    b"2 qid:2 1:0 2:0 3:0 #docid = 4\r\n",
    b"0 qid:10 1:2 2:0 3:0.666667 4:835 5:22.240604 \n4 qid:10 1:1 2:1 3:0 4:-12.5 5:54000000 \n"
    b"0 qid:11 1:1 2:0 3:0 4:0 5:1 \n",
    b"3 qid:WT04-182 5:0.1 2:7\n\n# a comment\n0 qid:WT04-182 9:0.123456789012345678\n1 qid:x 12:3.4028235e38 1:1e-45",
    b"1 qid:1 1:1.17549435e-38 2:123456789012345678901234567890\n0 qid:1 1:1 2:2",
]
PIECES = (
    b"0|1:|:| |\n|\r|\r\n|\t|#|qid:|qid:1|NULL|nan|-|+|.|e|E5|e-400|e400|\0|\xff|9999999999999999999999999"
    b"|1:1|-1|0:0|99999:1|0.5| 3:3|12345678|0.12345678"
).split(b"|")
WHERE = re.compile(r"corpus\.txt:(\d+)(:\d+)?: ")


def mutated(rng: np.random.Generator) -> bytes:
    """Change a good file in one to four places."""
    data = bytearray(BASES[rng.integers(len(BASES))])
    for _ in range(rng.integers(1, 5)):
        at = int(rng.integers(len(data) + 1))
        end = min(len(data), at + int(rng.integers(1, 12)))
        kind = rng.integers(6)
        if kind == 0 and at < len(data):
            data[at] = rng.integers(256)
        elif kind == 1:
            data[at:at] = PIECES[rng.integers(len(PIECES))]
        elif kind == 2:
            del data[at:end]
        elif kind == 3:
            data[at:at] = data[at:end]
        elif kind == 4:
            data[at:end] = PIECES[rng.integers(len(PIECES))]
        else:
            del data[at:]
    return bytes(data)


def check(file: Path, data: bytes) -> bool:
    """Compare both readers; return whether the text was valid."""
    file.write_bytes(data)
    expected = reference_reader.read(data)
    try:
        with warnings.catch_warnings(action="ignore", category=ReadWarning):  # of clipped values
            dataset = load_dataset(file, dialect="svmlight", jobs=1)
    except InputError as error:
        assert expected.bad, (data, str(error))
        where = WHERE.search(str(error))
        assert (int(where.group(1)) if where else 0) in expected.bad or 0 in expected.bad, (data, str(error))
        assert "\n" not in str(error)
        return False
    assert not expected.bad, (data, expected.bad)
    assert dataset.relevance.tolist() == [label for label, _, _ in expected.rows], data
    width = max(max(values, default=0) for _, _, values in expected.rows)
    matrix = np.zeros((len(expected.rows), width), np.float32)
    for row, (_, _, values) in enumerate(expected.rows):
        for feature, value in values.items():
            matrix[row, feature - 1] = value
    assert dataset.features.tobytes() == np.asfortranarray(matrix).T.tobytes() or (
        np.array_equal(dataset.features, matrix) and np.array_equal(np.signbit(dataset.features), np.signbit(matrix))
    ), data
    queries = [query for _, query, _ in expected.rows]
    starts = [row for row, query in enumerate(queries) if row == 0 or query != queries[row - 1]]
    assert dataset.query_ptr.tolist() == [*starts, len(queries)], data
    return True


def test_damaged_and_strange_text_is_read_like_the_reference_or_refused(tmp_path):
    rng = np.random.default_rng(1)
    valid = sum(check(tmp_path / "corpus.txt", mutated(rng)) for _ in range(400))
    assert 0.03 * 400 < valid < 0.7 * 400  # valid and invalid texts both occur
