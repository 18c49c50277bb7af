"""Files of runs that are cut off or changed at any position."""

from __future__ import annotations

import hashlib
import io
import random
import struct
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from ltr_duel.core import InputError
from ltr_duel.experiment import runs_file
from ltr_duel.experiment.counts import counts_of, decode_run, encode_run, same_counts
from ltr_duel.experiment.runs_file import (
    HEADER,
    SCHEMA,
    Gap,
    Message,
    Row,
    decode_batch,
    encode_batch,
    encode_rows,
    find_messages,
    write_batches,
)
from ltr_duel.preferences import synthetic_preferences
from ltr_duel.simulation import simulate


def made(count=5, seed=0):
    """Return messages with a few random runs each."""
    rng = random.Random(seed)

    def row():
        steps = [rng.randrange(9) for _ in range(2 * 9)]
        exposure = None if rng.random() < 0.5 else [rng.random() for _ in range(4)]
        return Row(rng.randbytes(32).hex(), rng.randrange(9), 0, rng.random(), 1e9, "0" * 64, 5, 2, steps, exposure)

    return [encode_rows([row() for _ in range(rng.randrange(1, 4))]) for _ in range(count)]


def found(data, start=0):
    return list(find_messages(pa.BufferReader(data), len(data), start))


def whole(data):
    """Return the found messages."""
    return [data[one.offset : one.offset + one.size] for one in found(data) if isinstance(one, Message)]


def test_what_is_written_is_read_here_and_by_arrow_and_pandas_alone():
    messages = made()
    data = HEADER + b"".join(messages)
    batches = list(pa.ipc.open_stream(io.BytesIO(data)))
    assert [decode_batch(one) for one in messages] == batches
    assert [one.runs for one in found(data)] == [batch["run"].to_pylist() for batch in batches]
    frame = pa.ipc.open_stream(data).read_pandas()
    assert isinstance(frame, pd.DataFrame) and list(frame) == SCHEMA.names and len(frame) == sum(map(len, batches))


def test_every_beginning_of_a_file_gives_exactly_the_batches_that_are_complete():
    messages = made(3)
    data, ends = HEADER + b"".join(messages), [len(HEADER) + sum(map(len, messages[:k])) for k in range(4)]
    for end in range(len(data) + 1):
        assert whole(data[:end]) == messages[: sum(one <= end for one in ends[1:])], end
        gaps = [one for one in found(data[:end]) if isinstance(one, Gap)]
        assert all(gap.torn and gap.stop == end for gap in gaps) and len(gaps) <= 1, end


def test_a_byte_that_is_changed_costs_one_batch_and_is_seen():
    messages = made(2, seed=2)
    data = HEADER + b"".join(messages)
    last = len(data) - len(messages[-1])
    for place in range(len(data)):
        hurt = bytearray(data)
        hurt[place] ^= 1 << (place % 8)
        left, gaps = whole(bytes(hurt)), [one for one in found(bytes(hurt)) if isinstance(one, Gap)]
        assert len(left) == 2 - (place >= len(HEADER)) and set(left) <= set(messages), place
        if place < len(HEADER) and not gaps:
            continue  # padding of the schema: harmless
        assert len(gaps) == 1 and gaps[0].start <= place < gaps[0].stop, place
        assert not gaps[0].torn or place >= last, "only at the end it may count as not written"


def test_bytes_that_are_lost_from_the_middle_are_a_gap_and_the_rest_is_found():
    messages = made(5, seed=3)
    data, rng = HEADER + b"".join(messages), random.Random(4)
    places = [len(HEADER) + sum(map(len, messages[:k])) for k in range(len(messages) + 1)]
    for _ in range(200):
        start = rng.randrange(len(data) - 1)
        stop = rng.randrange(start + 1, len(data))
        expected = [one for k, one in enumerate(messages) if places[k + 1] <= start or places[k] >= stop]
        assert whole(data[:start] + data[stop:]) == expected


def test_an_end_of_zeros_that_a_machine_leaves_that_lost_power_is_torn():
    data = HEADER + made(1)[0]
    for zeros in (1, 8, 1000):
        (gap,) = (one for one in found(data + bytes(zeros)) if isinstance(one, Gap))
        assert gap == Gap(len(data), len(data) + zeros, True)


def test_an_end_of_zeros_after_other_damage_is_not_torn():
    for zeros in (8, 3 * runs_file._BLOCK):
        (gap,) = found(HEADER + b"damaged!" + bytes(zeros))
        assert not gap.torn


@pytest.mark.parametrize("before", range(5))
def test_a_message_is_found_wherever_a_block_of_the_search_ends(before):
    (raw,), damaged = made(1), runs_file._BLOCK - before
    gap, message = found(HEADER + b"x" * damaged + raw)
    assert gap == Gap(len(HEADER), len(HEADER) + damaged, False) and message.size == len(raw)


def test_gaps_do_not_cost_the_rest_of_the_file_each():
    class Counting(pa.BufferReader):
        count = 0

        def read(self, count):
            Counting.count += count
            return super().read(count)

    messages = made(400)
    data = HEADER + b"".join(b"\xff\xff\xff\xff\0" + one for one in messages)
    results = list(find_messages(Counting(data), len(data)))
    assert [one.runs for one in results if isinstance(one, Message)] == [one.runs for one in found(data)[1::2]]
    assert sum(isinstance(one, Gap) for one in results) == len(messages)
    assert Counting.count < 50 * len(data), "without blocks, the rest of the file is read at each gap"


@pytest.mark.parametrize("claimed", [1 << 15, 1 << 10])
def test_bytes_that_look_like_messages_do_not_cost_the_file_each(claimed):
    class Counting(pa.BufferReader):
        count = 0

        def read(self, count):
            Counting.count += count
            return super().read(count)

    data = HEADER + struct.pack("<Ii", 0xFFFFFFFF, claimed) * 5000
    (gap,) = (one for one in find_messages(Counting(data), len(data)) if isinstance(one, Gap))
    assert gap.stop == len(data) and Counting.count < 5000 * 20_000


def test_a_message_that_claims_to_expand_to_more_than_the_memory_is_refused_before_it_is_taken():
    (raw,) = made(1)
    for size in (2**40, 2**62):
        forged = forge(raw, size)
        for read in (decode_batch, lambda raw: found(HEADER + raw)):
            with pytest.raises(MemoryError, match=r"a batch of runs needs [\d,.]+ GB of memory"):
                read(forged)


def forge(raw, size):
    """Change the stated size of the first compressed buffer, with a matching checksum."""
    start = 8 + struct.unpack_from("<i", raw, 4)[0]
    changed = bytearray(raw[:start] + struct.pack("<q", size) + raw[start + 8 :])
    at = raw.index(runs_file._MARK) + len(runs_file._MARK)
    changed[at : at + 64] = b"0" * 64
    changed[at : at + 64] = hashlib.sha256(changed).hexdigest().encode()
    return bytes(changed)


def test_metadata_of_any_bytes_are_refused_by_a_sentence():
    (raw,), rng = made(1), random.Random(5)
    for _ in range(300):
        hurt = bytearray(raw)
        for place in rng.sample(range(8, 600), 3):
            hurt[place] = rng.randrange(256)
        at = raw.index(runs_file._MARK) + len(runs_file._MARK)
        hurt[at : at + 64] = b"0" * 64
        hurt[at : at + 64] = hashlib.sha256(hurt).hexdigest().encode()
        try:
            decode_batch(bytes(hurt))
        except (InputError, MemoryError) as error:
            assert "\n" not in str(error)


def test_a_file_that_is_written_whole_joins_small_batches():
    batches = [decode_batch(one) for one in made(4)]
    file = io.BytesIO()
    write_batches(file, batches)
    (one,) = found(file.getvalue())
    assert one.runs == [run for batch in batches for run in batch["run"].to_pylist()]
    assert len(file.getvalue()) < len(HEADER) + sum(len(encode_batch(batch)) for batch in batches)


@pytest.mark.parametrize("share", [0.5, 0.25])
def test_a_run_is_read_as_it_was_written(share):
    (run,) = simulate(synthetic_preferences("arithmetic"), "rucb", horizon=300, repetitions=1).runs
    rng = np.random.default_rng(0)
    counts = {name: rng.integers(0, 10**12, run.pulls.shape).cumsum(axis=0) for name in ("pulls", "best", "worst")}
    written = replace(run, **counts, exposure=share * counts["pulls"])
    encoded = encode_run(written)
    rows = decode_batch(encode_rows([Row(run.key.digest, 0, 0, 0.1, 1e9, "0" * 64, *encoded)]))
    assert same_counts(counts_of(rows, 0), encoded) and not same_counts(counts_of(rows, 0), encode_run(run))
    read = decode_run(rows, run.key, "rucb")
    assert read.decisions == run.decisions
    for name in (*counts, "exposure", "checkpoints", "recommended", "outcomes"):
        np.testing.assert_array_equal(getattr(read, name), getattr(written, name))


def test_too_little_free_memory_is_no_damage(monkeypatch):
    monkeypatch.setattr("ltr_duel.core.host._SMALL", 0)
    monkeypatch.setattr("ltr_duel.core.host.free_memory", lambda: 10)
    with pytest.raises(MemoryError, match="GB of memory"):
        found(HEADER + made(1)[0])


def test_a_null_among_the_values_of_a_run_is_refused():
    row = Row("0" * 64, 0, 0, 0.1, 1e9, "0" * 64, 5, 1, [1, None, 1], None)
    with pytest.raises(InputError, match="missing values"):
        decode_batch(encode_rows([row]))


def test_a_file_is_sound_whatever_its_metadata_explain():
    messages = made(2)
    header = SCHEMA.with_metadata({"format": runs_file.FORMAT, "finished": "in other words"}).serialize().to_pybytes()
    assert len(found(header + b"".join(messages))) == 2


def test_a_file_of_another_format_is_reported_as_another_version():
    data = (HEADER + b"".join(made(2))).replace(b"ltr_duel.runs/1", b"ltr_duel.runs/2")
    with pytest.raises(InputError, match=r"'ltr_duel\.runs/2': another version"):
        found(data)
