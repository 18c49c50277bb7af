"""Find out how often each list should be shown so that a comparison of two rankers is fair.

The solver `fairest` gets the credits of each list. A credit belongs to a position of the list. It is positive if the
position favours the first ranker, and negative if it favours the second ranker. `fairest` finds a probability for each
list, so that the mean credit of every position is as close to 0 as possible. The caller also gives each list a number,
its worth. If several solutions are equally fair, `fairest` takes the solution with the largest mean worth.

Dantzig, Orden, Wolfe. The generalized simplex method. Pacific Journal of Mathematics 1955.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ltr_duel.core import FloatMatrix, FloatVector, IntVector, MarkVector, kernel

_EPS = 1e-11  # reduced costs and steps closer to 0 than this are rounding errors
_PIVOT = 1e-9  # smallest coefficient that a pivot divides by
_MOST_PIVOTS = 10_000  # limit in case of rounding errors; 3,000 random programs with 10 rows took at most 71 pivots


class Program(NamedTuple):
    """A linear program, and the arrays that its solver needs."""

    # There are m = rows + 1 equations and n = columns + 2 * rows variables: the probabilities of the lists (columns)
    # and, for each position (row), the positive and the negative part of its mean credit. Their sum is the bias.
    table: FloatMatrix  # (rows, n) the caller fills the first ``columns`` columns
    worth: FloatVector  # (n,) the caller fills the first ``columns`` entries
    cost: FloatVector  # (n,) cost of each variable in the current phase
    inverse: FloatMatrix  # (m, m) inverse of the basis matrix
    value: FloatVector  # (m,) values of the variables in the basis
    basis: IntVector  # (m,) numbers of the variables in the basis
    price: FloatVector  # (m,) simplex multipliers
    entering: FloatVector  # (m,) the entering column, in terms of the basis
    reduced: FloatVector  # (n,) reduced costs
    barred: MarkVector  # (n,) 1 for variables that may not enter, because they increase the bias


def new_program(rows: int, columns: int) -> Program:
    """Return a program whose arrays are empty."""
    m, n = rows + 1, columns + 2 * rows
    worth, cost, reduced = np.zeros((3, n))
    value, price, entering = np.zeros((3, m))
    basis, barred = np.zeros(m, np.int64), np.zeros(n, np.uint8)
    inverse = np.zeros((m, m))
    return Program(np.zeros((rows, n)), worth, cost, inverse, value, basis, price, entering, reduced, barred)


@kernel
def fairest(program: Program, rows: int, columns: int) -> float:
    """Solve a program by the revised simplex method. Return the bias: the sum of the distances of mean credits from 0.

    In the solution, variable ``program.basis[i]`` has the value ``program.value[i]``. All other variables are 0.
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
        sign = -1.0 if table[k, 0] < 0.0 else 1.0  # the initial basis has column 0 and, for each row, one of the parts
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
    """Make the cost of a program as small as possible by steps of the simplex method."""
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
    """Return the variable that should enter the basis, or -1 if the cost cannot become smaller."""
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
    """Return which variable should leave the basis, as its position in the basis; -1 if there is none."""
    for i in range(rows + 1):  # a barred variable that is in the basis must stay 0, so it leaves first
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
    """Return whether variable i of the basis reaches 0 before variable ``other`` of the basis."""
    a, b = program.entering[i], program.entering[other]
    difference = program.value[i] / a - program.value[other] / b
    for k in range(rows + 1):  # ties are broken in lexicographic order, so that the steps cannot go in a circle
        if abs(difference) > _EPS:
            break
        difference = program.inverse[i, k] / a - program.inverse[other, k] / b
    return difference < 0.0


@kernel
def pivot(program: Program, rows: int, enters: int, leaves: int) -> None:
    """Put variable ``enters`` into the basis, at position ``leaves``."""
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
