"""Readable numbers, times, and powers of ten."""

from __future__ import annotations


def number(value: float) -> str:
    """Write a rate with three figures: 1.23 M, 45.6 k, 789."""
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if value >= 0.9995 * size:
            return f"{_three(value / size)} {unit}"
    return _three(value)


def seconds(value: float) -> str:
    """Write a time: 3.2 ms, 1.5 s, 189 s."""
    for unit, size in (("ns", 1e-9), ("µs", 1e-6), ("ms", 1e-3)):
        if value < 999.5 * size:
            return f"{_three(value / size)} {unit}"
    return f"{_three(value)} s"


def steps(value: float) -> str:
    """Write a number of steps; powers of ten as 10^5."""
    digits = f"{value:.0f}"
    return f"10^{len(digits) - 1}" if digits.strip("0") == "1" else f"{value:,.0f}"


def _three(value: float) -> str:
    return f"{value:,.0f}" if value >= 99.5 else f"{value:.3g}"
