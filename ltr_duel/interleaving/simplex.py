"""Solve a small linear program for the fairest probabilities of a table's columns, by the revised simplex method.

Among all probabilities p of the columns, the program minimises the bias, which is the sum of ``|table @ p|``. Among the
minimisers, it maximises ``worth @ p``. At most rows + 1 columns get a positive probability.

The sum of a row is its entry in ``table @ p``. Two variables represent the positive and the negative part of this sum.
The initial basis consists of column 0 and one of the two parts for each row. The first phase minimises the total of all
parts, which is the bias, and the second phase maximises the worth. The leaving variable is chosen lexicographically, so
no basis repeats (Dantzig, Orden, Wolfe. The generalized simplex method for minimizing a linear form under linear
inequality restraints. Pacific Journal of Mathematics 1955).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ltr_duel.core import FloatMatrix, FloatVector, IntVector, MarkVector, kernel

_EPS = 1e-11  # reduced costs and steps closer to 0 than this are rounding errors
_PIVOT = 1e-9  # smallest coefficient that a pivot divides by
_MOST_PIVOTS = 10_000  # limit in case of rounding errors; 3,000 random programs with 10 rows took at most 71 pivots


class Program(NamedTuple):
    """Scratch of programs with up to ``rows`` rows and ``columns`` columns; m is rows + 1.

    Variables 0 to columns - 1 are the columns; the next variables are the positive and the negative part of each row's
    sum.
    """

    inverse: FloatMatrix  # (m, m) inverse of the basis matrix
    value: FloatVector  # (m,) values of the variables in the basis
    basis: IntVector  # (m,) numbers of the variables in the basis
    price: FloatVector  # (m,) simplex multipliers
    entering: FloatVector  # (m,) the entering column, in terms of the basis
    reduced: FloatVector  # (columns,) reduced costs
    barred: MarkVector  # (columns + 2 * rows,) 1 for variables that may not enter, because they increase the bias


def new_program(rows: int, columns: int) -> Program:
    """Allocate the scratch."""
    m = rows + 1
    return Program(
        np.zeros((m, m)),
        np.zeros(m),
        np.zeros(m, np.int64),
        np.zeros(m),
        np.zeros(m),
        np.zeros(columns),
        np.zeros(columns + 2 * rows, np.uint8),
    )


@kernel
def fairest(program: Program, table: FloatMatrix, worth: FloatVector, rows: int, columns: int) -> float:
    """Solve the program for ``table[:rows, :columns]``; return the smallest possible bias.

    The solution is in ``program``: variable ``basis[i]`` has ``value[i]``, for i up to ``rows``; all other variables
    are 0.
    """
    for i in range(rows + 1):
        for k in range(rows + 1):
            program.inverse[i, k] = 0.0
    for k in range(rows):
        side = -1.0 if table[k, 0] < 0.0 else 1.0  # the sign of the part in the initial basis
        program.basis[k] = columns + 2 * k + (0 if side > 0 else 1)
        program.inverse[k, k] = -side
        program.inverse[k, rows] = side * table[k, 0]
        program.value[k] = side * table[k, 0]
    program.basis[rows] = 0
    program.inverse[rows, rows] = 1.0
    program.value[rows] = 1.0
    for j in range(columns + 2 * rows):
        program.barred[j] = 0
    walk(program, table, worth, rows, columns, 1)
    bias = 0.0
    for i in range(rows + 1):
        if program.basis[i] >= columns:
            bias += program.value[i]
    fair = bias < _PIVOT
    for j in range(columns):
        program.barred[j] = not fair and program.reduced[j] > _PIVOT
    for k in range(rows):
        for side in range(2):
            sign = 1.0 - 2.0 * side
            program.barred[columns + 2 * k + side] = fair or 1.0 + sign * program.price[k] > _PIVOT
    walk(program, table, worth, rows, columns, 2)
    return bias if not fair else 0.0


@kernel
def walk(program: Program, table: FloatMatrix, worth: FloatVector, rows: int, columns: int, phase: int) -> None:
    """Change the basis until the bias (phase 1) or the worth (phase 2) cannot be improved."""
    for _ in range(_MOST_PIVOTS):
        find_prices(program, worth, rows, columns, phase)
        enters = best_entry(program, table, worth, rows, columns, phase)
        if enters < 0:
            return
        express(program, table, rows, columns, enters)
        leaves = leaving(program, rows, columns, phase)
        if leaves < 0:
            return
        pivot(program, rows, enters, leaves)


@kernel
def find_prices(program: Program, worth: FloatVector, rows: int, columns: int, phase: int) -> None:
    """Write the simplex multipliers of the basis."""
    for k in range(rows + 1):
        program.price[k] = 0.0
    for i in range(rows + 1):
        j = program.basis[i]
        cost = 0.0
        if phase == 1:
            cost = 1.0 if j >= columns else 0.0
        elif j < columns:
            cost = -worth[j]
        if cost != 0.0:
            for k in range(rows + 1):
                program.price[k] += cost * program.inverse[i, k]


@kernel
def best_entry(program: Program, table: FloatMatrix, worth: FloatVector, rows: int, columns: int, phase: int) -> int:
    """Return the variable that is not barred and has the most negative reduced cost; -1 if no cost is negative."""
    one = program.price[rows]
    if phase == 1:
        for j in range(columns):
            program.reduced[j] = -one
    else:
        for j in range(columns):
            program.reduced[j] = -worth[j] - one
    for k in range(rows):
        price = program.price[k]
        if price != 0.0:
            for j in range(columns):
                program.reduced[j] -= price * table[k, j]
    best, least = -1, -_EPS
    for j in range(columns):
        if program.reduced[j] < least and program.barred[j] == 0:
            best, least = j, program.reduced[j]
    for k in range(rows):
        for side in range(2):
            j = columns + 2 * k + side
            reduced = (1.0 if phase == 1 else 0.0) + (1.0 - 2.0 * side) * program.price[k]
            if reduced < least and program.barred[j] == 0:
                best, least = j, reduced
    return best


@kernel
def express(program: Program, table: FloatMatrix, rows: int, columns: int, enters: int) -> None:
    """Write the column of the entering variable in terms of the basis."""
    if enters >= columns:
        k, sign = (enters - columns) // 2, 2.0 * ((enters - columns) % 2) - 1.0
        for i in range(rows + 1):
            program.entering[i] = sign * program.inverse[i, k]
        return
    for i in range(rows + 1):
        total = program.inverse[i, rows]
        for k in range(rows):
            total += program.inverse[i, k] * table[k, enters]
        program.entering[i] = total


@kernel
def leaving(program: Program, rows: int, columns: int, phase: int) -> int:
    """Return the row of the basis variable that reaches 0 first (ties: lexicographic rule); -1 if none reaches 0."""
    if phase == 2:  # barred parts of row sums are 0 and must stay 0
        for i in range(rows + 1):
            j = program.basis[i]
            barred = j >= columns and program.barred[j] == 1 and program.value[i] < _PIVOT
            if barred and abs(program.entering[i]) > _PIVOT:
                return i
    best = -1
    for i in range(rows + 1):
        if program.entering[i] > _PIVOT and (best < 0 or sooner(program, rows, i, best)):
            best = i
    return best


@kernel
def sooner(program: Program, rows: int, i: int, other: int) -> bool:
    """Return whether the variable of row i reaches 0 before the variable of row ``other``; ties: lexicographic rule."""
    a, b = program.entering[i], program.entering[other]
    difference = program.value[i] / a - program.value[other] / b
    for k in range(rows + 1):
        if abs(difference) > _EPS:
            break
        difference = program.inverse[i, k] / a - program.inverse[other, k] / b
    return difference < 0.0


@kernel
def pivot(program: Program, rows: int, enters: int, leaves: int) -> None:
    """Replace the leaving variable of the basis by the entering variable."""
    by = 1.0 / program.entering[leaves]
    for k in range(rows + 1):
        program.inverse[leaves, k] *= by
    program.value[leaves] *= by
    for i in range(rows + 1):
        factor = program.entering[i]
        if i != leaves and factor != 0.0:
            for k in range(rows + 1):
                program.inverse[i, k] -= factor * program.inverse[leaves, k]
            program.value[i] = max(program.value[i] - factor * program.value[leaves], 0.0)
    program.basis[leaves] = enters
