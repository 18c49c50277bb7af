"""Tournaments with random results: in each pair of arms, a biased coin decides which arm wins.

Double Thompson Sampling and MergeDTS play such tournaments to find the arm with the most wins. A tournament is fast,
because many coins are flipped at once, and because coins that cannot change the result are not flipped. Once an arm has
met all others, any arm that has already lost more often than this arm can no longer have the most wins. The coins that
remain for such an arm are not flipped. This saves the most coins if the arm with the most wins is the first to meet all
others.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from ltr_duel.core import (
    COINS,
    FloatMatrix,
    FloatVector,
    InputError,
    IntVector,
    compare_words,
    count_bits,
    inlined,
    kernel,
    random_below,
    tally_bits,
    trailing_zeros,
    uniform,
    write_words,
)

BitsMatrix: TypeAlias = NDArray[np.uint16]
WordVector: TypeAlias = NDArray[np.uint16]
LaneVector: TypeAlias = NDArray[np.uint64]
CountVector: TypeAlias = NDArray[np.int16]

# Each coin takes 16 random bits, a word, and compares them with the first 16 bits of its probability p. The coin wins
# if the word is smaller, and loses if it is larger. If both are equal, a further random number decides, so that the
# coin wins with the probability p exactly. The favourite is the arm that is the first to meet all others.
BLOCK = COINS  # number of coins in a block; rows of bits are padded with zeros to whole blocks
MOST = 2**15  # maximum number of arms in a tournament, so that an int16 can count losses
_WORD, _HALF = 65536.0, 4294967296.0  # 2^16, 2^32


class Coins(NamedTuple):
    # a row of coins, one for each arm in ``arms``; coin k wins with the probability ``chance[arms[k]]``
    arms: IntVector
    bits: WordVector
    chance: FloatVector  # (K,)
    lane: LaneVector  # scratch: the words of a block


def fair_bits(rows: int, coins: int) -> BitsMatrix:
    bits = np.zeros((rows, -(-coins // BLOCK) * BLOCK), np.uint16)
    bits[:, :coins] = 1 << 15
    return bits


@inlined
def bits_of(p: float) -> np.uint16:
    return np.uint16(min(max(p * _WORD, 0.0), _WORD - 1.0))


@inlined
def new_seed(rng: Generator) -> np.uint64:
    high, low = np.uint64(uniform(rng) * _HALF), np.uint64(uniform(rng) * _HALF)
    return (high << np.uint64(32)) | low


@inlined
def toss_block(coins: Coins, seed: np.uint64, drawn: int, at: int, mask: int, rng: Generator) -> int:
    # at: position of the block in the row. drawn: position of its first 64-bit number in the sequence of the seed.
    write_words(coins.lane, seed, drawn)
    below, equal = compare_words(coins.lane.view(np.uint16), coins.bits[at:])
    if equal & mask != 0:
        below |= toss_equal(coins, at, equal & mask, rng)
    return below & mask


@kernel
def toss_equal(coins: Coins, at: int, equal: int, rng: Generator) -> int:
    wins = 0
    while equal != 0:  # the words of these coins equal their bits, so a random number decides
        k = trailing_zeros(np.uint64(equal))
        if uniform(rng) < coins.chance[coins.arms[at + k]] * _WORD - coins.bits[at + k]:
            wins |= equal & -equal
        equal &= equal - 1
    return wins


@inlined
def block_mask(coins: int, at: int) -> int:
    return (1 << min(coins - at, BLOCK)) - 1


class Tournament(NamedTuple):
    # the coins of all pairs, and scratch memory; each array that is added here slows down every step
    bits: BitsMatrix  # (K, padded K) the first 16 bits of the probabilities; row i in the order of the seats
    every: IntVector  # (K,) constant: 0, 1, ...
    lane: LaneVector  # (8,) random words
    unmet: IntVector  # (padded K / 32,) masks of the arms that have not yet met all others
    lost: CountVector  # (padded K,) losses of each arm so far


def new_tournament(n_arms: int, players: int) -> Tournament:
    # of fair coins; at most ``players`` of the arms take part
    if players > MOST:
        raise InputError(f"a sampled tournament takes at most {MOST:,} arms, not {players:,}")
    bits, lane = fair_bits(n_arms, n_arms), np.zeros(BLOCK // 4, np.uint64)
    unmet, lost = np.zeros(bits.shape[1] // BLOCK, np.int64), np.zeros(bits.shape[1], np.int16)
    return Tournament(bits, np.arange(n_arms), lane, unmet, lost)


@kernel
def seat(bits: BitsMatrix, place: IntVector, prefer: FloatMatrix, arms: IntVector) -> None:
    # the seat of an arm is its position in ``arms``
    for seat_of in range(arms.shape[0]):
        place[arms[seat_of]] = seat_of
        for i in arms:
            bits[i, seat_of] = bits_of(prefer[i, arms[seat_of]])


@kernel
def set_bits(bits: BitsMatrix, prefer: FloatMatrix, i: int, j: int, seat_i: int, seat_j: int) -> None:
    bits[i, seat_j] = bits_of(prefer[i, j])
    bits[j, seat_i] = bits_of(prefer[j, i])


@kernel
def most_wins(
    tournament: Tournament,
    prefer: FloatMatrix,
    arms: IntVector,
    rank: IntVector | FloatVector,
    least: int,
    favourite: int,
    rng: Generator,
) -> int:
    """Return the seat of the arm with the most wins in a tournament of ``arms``. Ties are broken at random."""
    # Arm i beats arm j with the probability prefer[i, j]. Only arms k with rank[k] == least can have the most wins.
    n = arms.shape[0]
    open_tournament(tournament, n)
    lost, seed, fewest, ties = tournament.lost, new_seed(rng), n, 0
    for turn in range(-1, n):
        seat = turn if turn >= 0 else favourite
        i = arms[seat]
        if rank[i] == least and lost[seat] <= fewest and turn != favourite:
            toss_arm(tournament, Coins(arms, tournament.bits[i], prefer[i], tournament.lane), seat, seed, rng)
            if lost[seat] < fewest:
                fewest, ties = lost[seat], 0
            ties += lost[seat] == fewest
    left = random_below(ties, rng)
    for seat in range(n):
        left -= rank[arms[seat]] == least and lost[seat] == fewest
        if left < 0:
            return seat
    return favourite


@kernel
def open_tournament(tournament: Tournament, n_arms: int) -> None:
    for at in range(0, n_arms, BLOCK):
        tournament.unmet[at // BLOCK] = block_mask(n_arms, at)
        tournament.lost[at : at + BLOCK] = 0


@inlined
def toss_arm(tournament: Tournament, coins: Coins, i: int, seed: np.uint64, rng: Generator) -> None:
    # flips the coins of the arm in seat i against all arms that it has not met
    lost, unmet = tournament.lost, tournament.unmet
    unmet[i // BLOCK] &= ~(1 << i % BLOCK)
    losses, drawn = 0, i * (lost.shape[0] // 4)
    for at in range(0, coins.arms.shape[0], BLOCK):
        mask = unmet[at // BLOCK]
        if mask != 0:
            wins = toss_block(coins, seed, drawn + at // 4, at, mask, rng)
            tally_bits(lost, at, wins)
            losses += count_bits(mask ^ wins)
    lost[i] += losses
