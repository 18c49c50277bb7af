"""Records in a file that is cut off anywhere, or changed anywhere."""

from __future__ import annotations

import random

import pytest

from ltr_duel.experiment.segment import (
    HEAD,
    RUN,
    SHARED,
    Gap,
    Head,
    decode_record,
    encode_record,
    find_records,
)


def made(count=5, seed=0):
    """Return random records."""
    rng = random.Random(seed)
    return [
        encode_record(
            rng.choice((RUN, SHARED)), rng.randbytes(32).hex(), rng.randbytes(rng.randrange(20)),
            rng.randbytes(rng.randrange(60)), rng.randrange(3),
        )
        for _ in range(count)
    ]  # fmt: skip


def reader(data):
    return lambda count, start: data[start : start + count]


def found(data, start=0):
    return list(find_records(reader(data), len(data), start))


def whole(data):
    """Return the bytes of the found records that equal the written records."""
    heads = [one for one in found(data) if isinstance(one, Head)]
    parts = [data[one.offset : one.offset + one.size] for one in heads]
    return [part for part in parts if decode_record(part)]


def slowly(data, records):
    """The simple reference: records are found as long as each record follows the previous one byte by byte."""
    there, place = [], 0
    for record in records:
        if data[place : place + len(record)] != record:
            break
        there.append(record)
        place += len(record)
    return there


def test_what_is_written_is_read():
    name = "5" * 64
    content = decode_record(encode_record(RUN, name, b"about", b"data", 3))
    assert content.head == Head(0, RUN, 3, 5, 4, name) and (content.about, content.data) == (b"about", b"data")


def test_every_beginning_of_a_file_gives_exactly_the_records_that_are_complete():
    records = made(6)
    data = b"".join(records)
    for end in range(len(data) + 1):
        assert whole(data[:end]) == slowly(data[:end], records), end
        gaps = [one for one in found(data[:end]) if isinstance(one, Gap)]
        assert all(gap.torn and gap.stop == end for gap in gaps) and len(gaps) <= 1, end


@pytest.mark.parametrize("chunk", [HEAD, HEAD + 1, 100, 257])
def test_no_size_of_what_is_read_at_once_changes_what_is_found(monkeypatch, chunk):
    data = b"".join(made(8, seed=1))
    hurt = [data[:150] + b"?" * count + data[190:] for count in range(30, 100)]  # the next head lies on many places
    expected = [found(one) for one in (data, data[:-3], *hurt)]
    monkeypatch.setattr("ltr_duel.experiment.segment._CHUNK", chunk)
    assert [found(one) for one in (data, data[:-3], *hurt)] == expected


def test_a_byte_that_is_changed_costs_one_record_and_is_seen():
    records = made(4, seed=2)
    data = b"".join(records)
    for place in range(len(data)):
        hurt = bytearray(data)
        hurt[place] ^= 1 << (place % 8)
        left = whole(bytes(hurt))
        assert len(left) == 3 and set(left) < set(records), place
        broken = [one for one in found(bytes(hurt)) if isinstance(one, Gap)]
        heads = [one for one in found(bytes(hurt)) if isinstance(one, Head)]
        assert len(broken) + len(heads) == 4, place
        assert not any(gap.torn for gap in broken), place


def test_bytes_that_are_lost_from_the_middle_are_a_gap_and_the_rest_is_found():
    records = made(7, seed=3)
    data, rng = b"".join(records), random.Random(4)
    for _ in range(300):
        start = rng.randrange(len(data) - 1)
        stop = rng.randrange(start + 1, len(data))
        left = whole(data[:start] + data[stop:])
        places = [sum(map(len, records[:k])) for k in range(len(records) + 1)]
        expected = [record for k, record in enumerate(records) if places[k + 1] <= start or places[k] >= stop]
        assert set(left) <= set(expected) and len(left) >= len(expected) - 1  # the one behind may be swallowed


def test_an_end_of_zeros_that_a_machine_leaves_that_lost_power_is_torn():
    data = b"".join(made(2))
    for zeros in (1, 3, HEAD, 1000):
        (gap,) = (one for one in found(data + bytes(zeros)) if isinstance(one, Gap))
        assert gap == Gap(len(data), len(data) + zeros, True)


def test_the_middle_of_a_record_is_no_record_though_it_looks_like_one():
    inner = encode_record(RUN, "1" * 64, b"", b"inner")
    data = encode_record(RUN, "2" * 64, b"", inner)
    assert [one.name for one in found(data)] == ["2" * 64]
    assert [type(one) for one in found(data[:-1])] == [Gap, Head, Gap]  # real data are compressed: no such head
