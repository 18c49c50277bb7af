"""Parse decimal numbers and pairs ``<id>:<value>``. A number becomes exactly ``float32(float(text))``.

Numbers with few digits, as most numbers in feature files, are computed exactly. Other numbers are computed
approximately. If the error of the approximation could change the result, the caller must parse the number with Python,
which is rare.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ltr_duel.core import compiled_as, inlined, kernel, load_word, space_mask, trailing_zeros

EXACT, UNSURE, NOT_A_NUMBER, TOO_LARGE = range(4)  # the possible outcomes of parsing a number

_PLUS, _MINUS, _POINT, _ZERO, _NINE, _COLON, _LOWER_E, _UPPER_E = b"+-.09:eE"

_LOWEST = -90  # smallest power of ten in the table of powers
POWERS = np.array([float(f"1e{e}") for e in range(_LOWEST, 61)])
INTEGER_POWERS = np.array([10**e for e in range(9)])
ZERO_POWER = -_LOWEST
# A number with few digits is a whole number below 2**53, divided by a power of ten up to 10**22. Both are exact as
# doubles, so that the result of the division is rounded correctly. Any other number is first computed as a double with
# a relative error below _MARGIN. If both ends of the interval around this double round to the same float32, this
# float32 is the result.
_DIGITS = 18  # an integer of 18 digits fits in int64
_MARGIN = 2.0**-49
LARGEST_FLOAT = 3.4028234663852886e38  # the largest float32
LARGEST = 3.4028235677973366e38  # numbers from here on round to infinity in float32

_REACH = 64  # bytes that `usual_token` may read
_BYTE = np.uint64(255)

_ZEROS = np.uint64(0x3030303030303030)  # "00000000"
_TEN_OR_MORE = np.uint64(0x7676767676767676)  # sets the highest bit of a byte that is at least 10
_HIGH_BITS = np.uint64(0x8080808080808080)
_EVERY_FOURTH = np.uint64(0x000000FF000000FF)
_FIRST_TWO = np.uint64(100 + (1_000_000 << 32))
_SECOND_TWO = np.uint64(1 + (10_000 << 32))
_TEN, _EIGHT, _SIXTEEN, _HALF = np.uint64(10), np.uint64(8), np.uint64(16), np.uint64(32)


@inlined
def usual_token(text, at):
    """Parse a pair ``<id>:<value>`` of the usual form. Return its id, its value, and the position after the space.

    In the usual form, the id, the whole part and the decimals have at most seven digits each, and a space follows the
    pair. For any other form, the returned id is -1. ``text[at]`` must be a digit.
    """
    # This function is fast because it has no branch that depends on the number of digits. One comparison of 32 bytes
    # finds the end of the pair, so that the processor can begin with the next pair at once.
    if at + _REACH > len(text):
        return -1, 0.0, at
    spaces = space_mask(text, at)
    feature, width = digits_of(load_word(text, at))
    start = at + width + 1
    colon = load_word(text, start - 1) & _BYTE == _COLON
    first = load_word(text, start) & _BYTE
    negative = first == _MINUS
    start += np.int64(negative or first == _PLUS)
    integer, digits = digits_of(load_word(text, start))
    end = start + digits
    end += np.int64(load_word(text, end) & _BYTE == _POINT)
    part, fraction = digits_of(load_word(text, end))  # no digits if there is no point
    end += fraction
    few = width < 8 and digits < 8 and fraction < 8 and digits + fraction > 0
    if not (few and colon and spaces & -spaces == 1 << (end - at)):
        return -1, 0.0, at
    value = float(integer * INTEGER_POWERS[fraction] + part) / POWERS[ZERO_POWER + fraction]
    if negative:
        value = -value
    return feature, value, at + np.int64(trailing_zeros(np.uint64(spaces))) + 1


@kernel
def parse_number(text, at):
    """Parse the number that starts at ``text[at]``. A byte that ends the number must follow.

    Return the value, the position after the number, and a code, which is EXACT, UNSURE, NOT_A_NUMBER or TOO_LARGE. If
    the code is EXACT, the value rounds to the correct float32.
    """
    negative = text[at] == _MINUS
    if negative or text[at] == _PLUS:
        at += 1
    integer = 0  # the first significant digits
    significant = 0  # number of digits in `integer`
    power = 0  # value = integer * 10**power
    digits = 0
    point = False
    while True:
        byte = int(np.int64(text[at]))
        if byte == _POINT and not point:
            point = True
        elif _ZERO <= byte <= _NINE:
            digits += 1
            if significant < _DIGITS:
                integer = integer * 10 + (byte - _ZERO)
                if integer > 0:
                    significant += 1
                if point:
                    power -= 1
            elif not point:
                power += 1
        else:
            break
        at += 1
    if digits == 0:
        return 0.0, at, NOT_A_NUMBER
    if byte in (_LOWER_E, _UPPER_E):
        at += 1
        down = text[at] == _MINUS
        if down or text[at] == _PLUS:
            at += 1
        exponent = 0
        first = at
        byte = int(np.int64(text[at]))
        while _ZERO <= byte <= _NINE:
            if exponent < 100_000_000:
                exponent = exponent * 10 + (byte - _ZERO)
            at += 1
            byte = int(np.int64(text[at]))
        if at == first:
            return 0.0, at, NOT_A_NUMBER
        power += -exponent if down else exponent
    value, code = scaled(integer, significant, power)
    if negative:
        value = -value
    return value, at, code


@kernel
def scaled(integer, significant, power):
    """Return ``integer * 10**power`` and a code (see `parse_number`). ``integer`` has ``significant`` digits."""
    if integer == 0 or power + significant < -50:
        return 0.0, EXACT
    if power + significant > 40:
        return 0.0, TOO_LARGE
    if significant < 16 and -22 <= power <= 22:
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


def digits_of(word: int) -> tuple[int, int]:
    """Return the whole number with which a text of eight bytes begins, and the number of its digits."""
    number = count = 0
    while count < 8 and _ZERO <= (word >> 8 * count) & 255 <= _NINE:
        number = 10 * number + ((word >> 8 * count) & 255) - _ZERO
        count += 1
    return number, count


@compiled_as(digits_of)
def _digits_of(word: Any) -> Any:
    # without branches: find the first byte that is no digit, and combine digits two by two
    word = word ^ _ZEROS
    others = ((word + _TEN_OR_MORE) | word) & _HIGH_BITS
    bits = trailing_zeros(others) & ~np.uint64(7)  # eight bits for each digit; 64 if all bytes are digits
    unused = (np.uint64(64) - bits) >> np.uint64(1)
    word = (word << unused) << unused  # in two steps, because a shift by 64 is undefined
    word = word * _TEN + (word >> _EIGHT)
    word = ((word & _EVERY_FOURTH) * _FIRST_TWO + ((word >> _SIXTEEN) & _EVERY_FOURTH) * _SECOND_TWO) >> _HALF
    return np.int64(word), np.int64(bits >> np.uint64(3))
