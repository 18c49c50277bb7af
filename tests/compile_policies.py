"""Compile the loops of all policies into the cache, so that the processes of a test run need not each do it."""

from ltr_duel.bandits import POLICIES
from ltr_duel.preferences import arxiv
from ltr_duel.simulation import simulate
from tests.conftest import coins

if __name__ == "__main__":
    simulate(coins(arxiv()), POLICIES.names(), preferences=arxiv(), horizon=1, repetitions=1)
