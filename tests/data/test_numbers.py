"""Every number equals Python's ``float(text)`` rounded to float32."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest

from ltr_duel.data import ReadWarning, load_dataset

LARGEST = np.finfo(np.float32).max
SPECIAL = (
    "0." + "0" * 60 + "1", "1" + "0" * 38, "340282356779733661637539395458142568447", "3.4028235677973366e38",
    "3.40282356779733e38", "7.006492321624085e-46", "7.0064923216240854e-46", "123456789012345678e-10", "-0", "+.5",
    "1e99999999999999999999", "-1e99999999999999999999", "1e-99999999999999999999", "1.000000059604644775390625",
    "1.00000005960464477539062500000000000000000000001", "1234567.1234567", "0.12345678", "12345678", "1E5", "5.",
    "00000000001",
)  # fmt: skip


def shortest_and_longest(rng):
    bits = rng.integers(0, 2**32, 1500, np.uint32).view(np.float32)
    values = [float(value) for value in bits[np.isfinite(bits)]]
    return [form for x in values for form in (repr(x), f"{x:.9g}", f"{x:.17g}", f"{x:.6f}", str(np.float32(x)))]


def halfway(rng):
    """Return numbers between two neighbouring float32, exactly in the middle, and a little above."""
    bits = rng.integers(0, 2**31 - 2**24, 1000, np.uint32)
    pairs = zip(bits.view(np.float32).tolist(), (bits + 1).view(np.float32).tolist(), strict=True)
    middles = [(Decimal(low) + Decimal(high)) / 2 for low, high in pairs]
    return [form for middle in middles for form in (f"{middle:f}"[:40], f"{middle:e}", f"{middle:.18e}")]


def of_usual_form(rng):
    """Return numbers of about the form that is read in one step: up to seven digits, a point, up to seven digits."""
    words = ["".join(rng.choice(list("0123456789"), size)) for size in rng.integers(0, 9, 6000)]
    signs, points = rng.choice(["", "-", "+"], 3000), rng.choice(["", "."], 3000)
    forms = map("".join, zip(signs, words[::2], points, words[1::2], strict=True))
    return [form for form in forms if form.strip("+-.")]


@pytest.mark.filterwarnings(f"ignore::{ReadWarning.__module__}.ReadWarning")
@pytest.mark.parametrize("make", [lambda rng: list(SPECIAL), shortest_and_longest, halfway, of_usual_form])
def test_a_number_is_read_as_python_reads_it(tmp_path, make):
    written = make(np.random.default_rng(1))
    written += ["0"] * (-len(written) % 7)
    lines = [written[start : start + 7] for start in range(0, len(written), 7)]
    text = "".join(f"1 qid:1 {' '.join(f'{k}:{x}' for k, x in enumerate(line, 1))}\n" for line in lines)
    (tmp_path / "a.txt").write_text(text)
    expected = [np.float32(min(max(float(x), -float(LARGEST)), float(LARGEST))) for x in written]
    numbers = load_dataset(tmp_path / "a.txt").features.ravel()
    wrong = [
        x for x, number, right in zip(written, numbers, expected, strict=True) if number.tobytes() != right.tobytes()
    ]
    assert not wrong


def test_a_label_is_a_number_of_any_form(tmp_path):
    (tmp_path / "a.txt").write_text(
        "".join(f"{x} qid:1 1:1\n" for x in ("2.0", "+1e0", "30e-1", "0.4999999999999999999"))
    )
    assert load_dataset(tmp_path / "a.txt", labels="round").relevance.tolist() == [2, 1, 3, 1]
