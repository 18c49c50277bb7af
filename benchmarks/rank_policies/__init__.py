"""Rank policies by their regret on a suite of problems, as multiples of the regret of the best policy in hindsight.

    python -m benchmarks.rank_policies [--plugin FILE --policy NAME] [--quick] [--data FOLDER] [--out FOLDER]

The suite contains preference matrices, on which policies of pairs run, and simulated users, for whom policies of pairs
and of sets compete. Matrices are split into a half for tuning policies and a half for judging them.
`docs/policies_compared.md` is made of the results.
"""
