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
    """A program with up to ``rows`` rows and ``columns`` columns, and scratch; m is rows + 1, n is columns + 2 rows.

    Variables 0 to columns - 1 are the columns; the next variables are the positive and the negative part of each row's
    sum.
    """

    table: FloatMatrix  # (rows, n) filled by the caller up to ``columns``
    worth: FloatVector  # (n,) filled by the caller up to ``columns``
    cost: FloatVector  # (n,) cost of each variable in the current phase
    inverse: FloatMatrix  # (m, m) inverse of the basis matrix
    value: FloatVector  # (m,) values of the variables in the basis
    basis: IntVector  # (m,) numbers of the variables in the basis
    price: FloatVector  # (m,) simplex multipliers
    entering: FloatVector  # (m,) the entering column, in terms of the basis
    reduced: FloatVector  # (n,) reduced costs
    barred: MarkVector  # (n,) 1 for variables that may not enter, because they increase the bias


def new_program(rows: int, columns: int) -> Program:
    """Allocate a program."""
    m, n = rows + 1, columns + 2 * rows
    worth, cost, reduced = np.zeros((3, n))
    value, price, entering = np.zeros((3, m))
    basis, barred = np.zeros(m, np.int64), np.zeros(n, np.uint8)
    inverse = np.zeros((m, m))
    return Program(np.zeros((rows, n)), worth, cost, inverse, value, basis, price, entering, reduced, barred)


@kernel
def fairest(program: Program, rows: int, columns: int) -> float:
    """Solve the program for the first rows and columns of the table; return the smallest possible bias.

    The solution is in ``program``: variable ``basis[i]`` has ``value[i]``, for i up to ``rows``; all other variables
    are 0.
    """
    table, variables = program.table, columns + 2 * rows
    program.inverse[: rows + 1, : rows + 1] = 0.0
    table[:rows, columns:variables] = 0.0
    for j in range(variables):
        program.cost[j] = 0.0 if j < columns else 1.0
        program.barred[j] = 0
    for k in range(rows):
        table[k, columns + 2 * k] = -1.0
        table[k, columns + 2 * k + 1] = 1.0
        sign = -1.0 if table[k, 0] < 0.0 else 1.0  # of the part in the initial basis
        program.basis[k] = columns + 2 * k + (0 if sign > 0 else 1)
        program.inverse[k, k] = -sign
        program.inverse[k, rows] = program.value[k] = sign * table[k, 0]
    program.basis[rows] = 0
    program.inverse[rows, rows] = program.value[rows] = 1.0
    improve(program, rows, columns, variables)
    bias = 0.0
    for i in range(rows + 1):
        if program.basis[i] >= columns:
            bias += program.value[i]
    fair = bias < _PIVOT
    for j in range(variables):
        program.barred[j] = j >= columns if fair else program.reduced[j] > _PIVOT
        program.cost[j] = -program.worth[j] if j < columns else 0.0
    improve(program, rows, columns, variables)
    return 0.0 if fair else bias


@kernel
def improve(program: Program, rows: int, columns: int, variables: int) -> None:
    """Change the basis until the cost cannot be reduced."""
    for _ in range(_MOST_PIVOTS):
        enters = best_entry(program, rows, columns, variables)
        if enters < 0:
            return
        for i in range(rows + 1):
            program.entering[i] = program.inverse[i, rows] if enters < columns else 0.0
            for k in range(rows):
                program.entering[i] += program.inverse[i, k] * program.table[k, enters]
        leaves = leaving(program, rows, columns)
        if leaves < 0:
            return
        pivot(program, rows, enters, leaves)


@kernel
def best_entry(program: Program, rows: int, columns: int, variables: int) -> int:
    """Return the variable that is not barred and has the most negative reduced cost; -1 if no cost is negative."""
    price, reduced = program.price, program.reduced
    price[: rows + 1] = 0.0
    for i in range(rows + 1):
        cost = program.cost[program.basis[i]]
        if cost != 0.0:
            for k in range(rows + 1):
                price[k] += cost * program.inverse[i, k]
    constant = price[rows]
    for j in range(columns):
        reduced[j] = program.cost[j] - constant
    for j in range(columns, variables):
        reduced[j] = program.cost[j]
    for k in range(rows):
        if price[k] != 0.0:
            for j in range(variables):
                reduced[j] -= price[k] * program.table[k, j]
    best, least = -1, -_EPS
    for j in range(variables):
        if reduced[j] < least and program.barred[j] == 0:
            best, least = j, reduced[j]
    return best


@kernel
def leaving(program: Program, rows: int, columns: int) -> int:
    """Return the row of the basis variable that reaches 0 first (ties: lexicographic rule); -1 if none reaches 0."""
    for i in range(rows + 1):  # barred parts of row sums are 0 and must stay 0
        j = program.basis[i]
        barred = j >= columns and program.barred[j] == 1 and program.value[i] < _PIVOT
        if barred and abs(program.entering[i]) > _PIVOT:
            return i
    best = -1
    for i in range(rows + 1):
        if program.entering[i] > _PIVOT and (best < 0 or is_sooner(program, rows, i, best)):
            best = i
    return best


@kernel
def is_sooner(program: Program, rows: int, i: int, other: int) -> bool:
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
    scale = 1.0 / program.entering[leaves]
    for k in range(rows + 1):
        program.inverse[leaves, k] *= scale
    program.value[leaves] *= scale
    for i in range(rows + 1):
        factor = program.entering[i]
        if i != leaves and factor != 0.0:
            for k in range(rows + 1):
                program.inverse[i, k] -= factor * program.inverse[leaves, k]
            program.value[i] = max(program.value[i] - factor * program.value[leaves], 0.0)
    program.basis[leaves] = enters
