"""Decimal text to float32, exactly as ``float32(float(text))`` gives it.

Most numbers in feature files have few digits: an integer below 2**53 divided by a power of ten up to 10**22,
both exact in a double, so one division rounds correctly. The rest goes through an interval: an approximate
double whose relative error is below 2**-49. Rounding to float32 is monotone, so if both ends of the interval
round to the same float32, that is the answer; if not (about one number in 2**24), the caller asks Python.
"""

from __future__ import annotations

import numpy as np

from ltr_duel.core import kernel
from ltr_duel.data.text.digits import leading_digits

EXACT, UNSURE, NOT_A_NUMBER, TOO_LARGE = 0, 1, 2, 3

_LOWEST = -90  # smallest power of ten in the table; below it everything is zero in float32
POWERS = np.array([float(f"1e{e}") for e in range(_LOWEST, 61)])
INTEGER_POWERS = np.array([10**e for e in range(9)])
ZERO_POWER = -_LOWEST
_DIGITS = 18  # most digits whose integer fits in int64
_EXACT_INTEGER = 2**53
_MARGIN = 2.0**-49
LARGEST = 3.4028235677973366e38  # halfway between the largest float32 and the next power: rounds to infinity


@kernel
def parse_number(text, at):
    """Parse the number that starts at ``text[at]``; ``text`` must go on with a byte that ends it.

    Returns
    -------
    value : float64
        Rounding it to float32 gives the answer if ``code`` is EXACT.
    end : int
        Position after the number.
    code : int
        EXACT, UNSURE, NOT_A_NUMBER or TOO_LARGE.
    """
    start = at
    negative = text[at] == 45
    if negative or text[at] == 43:
        at += 1
    integer, digits = leading_digits(text, at)
    at += digits
    fraction = 0
    if text[at] == 46:
        part, fraction = leading_digits(text, at + 1)
        at += fraction + 1
        integer = integer * INTEGER_POWERS[fraction] + part
    if digits == 8 or fraction == 8 or digits + fraction == 0 or text[at] == 69 or text[at] == 101:
        return parse_any_number(text, start)
    value = float(integer) / POWERS[ZERO_POWER + fraction]
    if negative:
        value = -value
    return value, at, EXACT


@kernel
def parse_any_number(text, at):
    """Parse like `parse_number`: any number of digits, with or without an exponent."""
    negative = text[at] == 45
    if negative or text[at] == 43:
        at += 1
    integer = 0  # the first significant digits
    kept = 0  # how many those are
    power = 0  # value = integer * 10**power
    seen = 0
    point = False
    while True:
        byte = int(np.int64(text[at]))
        if byte == 46 and not point:
            point = True
        elif 48 <= byte <= 57:
            seen += 1
            if kept < _DIGITS:
                integer = integer * 10 + (byte - 48)
                if integer > 0:
                    kept += 1
                if point:
                    power -= 1
            elif not point:
                power += 1
        else:
            break
        at += 1
    if seen == 0:
        return 0.0, at, NOT_A_NUMBER
    if byte == 69 or byte == 101:
        at += 1
        down = text[at] == 45
        if down or text[at] == 43:
            at += 1
        exponent = 0
        first = at
        byte = int(np.int64(text[at]))
        while 48 <= byte <= 57:
            if exponent < 100_000_000:
                exponent = exponent * 10 + (byte - 48)
            at += 1
            byte = int(np.int64(text[at]))
        if at == first:
            return 0.0, at, NOT_A_NUMBER
        if down:
            power -= exponent
        else:
            power += exponent
    value, code = scaled(integer, kept, power)
    if negative:
        value = -value
    return value, at, code


@kernel
def scaled(integer, kept, power):
    """Return ``integer * 10**power`` and whether its float32 is certain. ``integer`` has ``kept`` digits."""
    if integer == 0 or power + kept < -50:
        return 0.0, EXACT
    if power + kept > 40:
        return 0.0, TOO_LARGE
    if kept < 16 and -22 <= power <= 22:
        if power < 0:
            return float(integer) / POWERS[ZERO_POWER - power], EXACT
        value = float(integer) * POWERS[ZERO_POWER + power]
        if value >= LARGEST:
            return value, TOO_LARGE
        return value, EXACT
    value = float(integer) * POWERS[ZERO_POWER + power]
    low = value * (1.0 - _MARGIN)
    high = value * (1.0 + _MARGIN)
    if low >= LARGEST:
        return value, TOO_LARGE
    if high >= LARGEST or np.float32(low) != np.float32(high):
        return 0.0, UNSURE
    return value, EXACT
