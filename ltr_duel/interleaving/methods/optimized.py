"""Optimized interleave: choose how often each possible list is shown, so that the comparison is fair and sensitive.

At each position, a possible list shows the best remaining document of one of the two rankers. A document has a positive
credit if the first ranker ranks it higher, and a negative credit if the second ranker does. A linear program finds a
probability for each list such that the mean credit is 0 at every position, or as close to 0 as possible. Random clicks
then favour neither ranker. Of several fair solutions, the program takes the one whose lists, on average, are divided
most evenly between the two rankers (`sensitivity`).

Radlinski, Craswell. Optimized Interleaving for Online Retrieval Evaluation. WSDM 2013.
"""

from __future__ import annotations

from math import log2
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from ltr_duel.core import FloatMatrix, InputError, IntMatrix, IntVector, MarkVector, kernel, uniform, vector
from ltr_duel.interleaving.hooks import Lists, Shown, Size
from ltr_duel.interleaving.registration import register
from ltr_duel.interleaving.simplex import Program, fairest, new_program

CREDITS = ("inverse", "linear", "binary")
_EQUAL = 1e-12  # smaller sums of credit, and smaller probabilities, are rounding errors
_LONGEST = 16  # 2^16 = 65,536 lists; larger programs take seconds
_KEPT = 4096  # number of stored solutions; many comparisons need the same program again


class Params(NamedTuple):
    credit: str = "inverse"  # for ranks r1 and r2: inverse 1/r1 - 1/r2; linear r2 - r1; binary the sign of r2 - r1


class Solutions(NamedTuple):
    key: IntMatrix  # (slots, 4 * length) the top documents of each ranker, and the ranks that the other ranker gives
    length: IntVector  # (slots,) length of the lists; 0 for an empty slot
    size: IntVector  # (slots,) number of lists
    lists: IntMatrix  # (slots, (length + 1) * length) the lists, one after the other
    cumulative: FloatMatrix  # (slots, length + 1) cumulative probabilities of the lists


class State(NamedTuple):
    top: int
    credit: int  # position in CREDITS
    used: MarkVector  # (longest,) 1 for documents in the current list; all zero between calls
    key: IntVector  # (4 * length,) key of the current program
    lists: IntMatrix  # (2^length, length) all possible lists
    path: IntMatrix  # (length + 1, 3) row k: depths reached in the two orders after k positions, document k of the list
    share: FloatMatrix  # (length + 1, 3) row k: weights of the first k positions for each ranker, credit of document k
    program: Program  # its table: credits of the lists; its worth: their sensitivities
    solutions: Solutions


def init(size: Size, params: Params, outcome: str) -> State:
    length = min(size.top, size.longest)
    if length > _LONGEST:
        raise InputError(
            f"method 'optimized': two rankings can be merged into lists of {length} positions in up to 2^{length} ways;"
            f" show at most {_LONGEST} documents"
        )
    return State(
        size.top,
        CREDITS.index(params.credit),
        np.zeros(size.longest, np.uint8),
        np.zeros(4 * length, np.int64),
        np.zeros((2**length, length), np.int64),
        np.zeros((length + 1, 3), np.int64),
        np.zeros((length + 1, 3)),
        new_program(length, 2**length),
        Solutions(
            np.zeros((_KEPT, 4 * length), np.int64),
            np.zeros(_KEPT, np.int64),
            np.zeros(_KEPT, np.int64),
            np.zeros((_KEPT, (length + 1) * length), np.int64),
            np.zeros((_KEPT, length + 1)),
        ),
    )


@kernel
def credit_of(kind: int, rank_of_first: int, rank_of_second: int) -> float:
    if kind == 0:
        return 1.0 / rank_of_first - 1.0 / rank_of_second
    difference = float(rank_of_second - rank_of_first)
    return difference if kind == 1 else vector.sign(difference, 0.0)


@kernel
def sensitivity(first: float, second: float) -> float:
    """Return how evenly the positions of a list are divided between the two rankers (Section 4.3 of the paper).

    ``first`` is the share of positions whose document the first ranker ranks higher, and ``second`` is the share for
    the second ranker. Position k has a weight proportional to 1 / k in these shares.
    """
    decided, total = first + second, 0.0
    for share in (first, second):
        if share > 0.0:
            total -= share * log2(share / decided)
    return total


@kernel
def merge(state: State, lists: Lists, query: int, first: int, second: int, length: int) -> int:
    start, path, share, weight = lists.query_ptr[query], state.path, state.share, 0.0
    for k in range(length):
        weight += 1.0 / (k + 1)
    count, choices, k = 0, 0, 0  # the bits of `choices` say which ranker adds each document; the highest: the top one
    while choices < 1 << length:
        while k < length:
            by_first, by_second = path[k, 0], path[k, 1]
            while state.used[lists.order[first, start + by_first]] == 1:
                by_first += 1
            document = lists.order[first, start + by_first]
            if choices >> (length - 1 - k) & 1:
                while state.used[lists.order[second, start + by_second]] == 1:
                    by_second += 1
                if document == lists.order[second, start + by_second]:
                    break  # both rankers would add the same document, so this list has been written already
                document = lists.order[second, start + by_second]
            credit = credit_of(state.credit, lists.rank[first, start + document], lists.rank[second, start + document])
            state.used[document] = 1
            path[k, 2], share[k, 2] = document, credit
            path[k + 1, 0], path[k + 1, 1] = by_first, by_second
            share[k + 1, 0], share[k + 1, 1] = share[k, 0], share[k, 1]
            if credit != 0.0:
                share[k + 1, int(credit < 0.0)] += 1.0 / (k + 1) / weight
            k += 1
        last = k - 1
        if k == length:
            for m in range(length):
                state.lists[count, m] = path[m, 2]
                state.program.table[m, count] = share[m, 2]
            state.program.worth[count] = sensitivity(share[length, 0], share[length, 1])
            count += 1
            k -= 1
        choices += 1 << (length - 1 - k)  # skip all lists with the same beginning
        while k > 0 and choices >> (length - 1 - k) & 1 == 0:
            k -= 1
        for m in range(k, last + 1):
            state.used[path[m, 2]] = 0
    return count


@kernel
def solve(state: State, lists: Lists, query: int, first: int, second: int, length: int, slot: int) -> None:
    """Find the probabilities of the possible lists of two rankers, and store the lists with a positive probability."""
    columns = merge(state, lists, query, first, second, length)
    program, solutions = state.program, state.solutions
    fairest(program, length, columns)
    size, total, last = 0, 0.0, -1
    for _ in range(length + 1):
        best = -1  # lists are stored by ascending number, so that their order does not depend on the solver's steps
        for i in range(length + 1):
            j = program.basis[i]
            if last < j < columns and (best < 0 or j < program.basis[best]):
                best = i
        if best < 0:
            break
        last = program.basis[best]
        if program.value[best] > _EQUAL:
            for k in range(length):
                solutions.lists[slot, size * length + k] = state.lists[last, k]
            total += program.value[best]
            solutions.cumulative[slot, size] = total
            size += 1
    for a in range(size):
        solutions.cumulative[slot, a] /= total
    solutions.size[slot] = size
    solutions.length[slot] = length
    for a in range(4 * length):
        solutions.key[slot, a] = state.key[a]


@kernel
def slot_of(state: State, lists: Lists, query: int, first: int, second: int, length: int) -> int:
    start, mixed = lists.query_ptr[query], length
    for r in range(length):
        upper, lower = lists.order[first, start + r], lists.order[second, start + r]
        state.key[4 * r] = upper
        state.key[4 * r + 1] = lower
        state.key[4 * r + 2] = lists.rank[second, start + upper]
        state.key[4 * r + 3] = lists.rank[first, start + lower]
    for a in range(4 * length):
        mixed = (mixed * 69069 + state.key[a]) % 2147483647
    slot = mixed % state.solutions.size.shape[0]
    is_stored = state.solutions.length[slot] == length
    for a in range(4 * length):
        is_stored = is_stored and state.solutions.key[slot, a] == state.key[a]
    if not is_stored:
        solve(state, lists, query, first, second, length, slot)
    return slot


@kernel
def draw_pair(state: State, lists: Lists, query: int, first: int, second: int, page: Shown, rng: Generator) -> int:
    length = min(state.top, lists.query_ptr[query + 1] - lists.query_ptr[query])
    slot = slot_of(state, lists, query, first, second, length)
    u, drawn = uniform(rng), 0
    while drawn < state.solutions.size[slot] - 1 and state.solutions.cumulative[slot, drawn] <= u:
        drawn += 1
    for k in range(length):
        page.shown[k] = state.solutions.lists[slot, drawn * length + k]
        page.owner[k] = -1
    return length


@kernel
def credit_pair(
    state: State, lists: Lists, query: int, first: int, second: int, page: Shown, length: int, n_clicks: int
) -> float:
    start, total = lists.query_ptr[query], 0.0
    for k in range(n_clicks):
        row = start + page.shown[page.clicks[k]]
        total += credit_of(state.credit, lists.rank[first, row], lists.rank[second, row])
    return vector.sign(total, _EQUAL)


register(
    __name__,
    choices={"credit": CREDITS},
    shows="lists with probabilities from a linear program: fair under random clicks, and maximally sensitive",
    wins="the sum of credits",
    needs="a linear program for each query and pair of rankers",
    cost="2^top lists and one program, once; then O(top)",
    cite="radlinski2013optimized",
)
