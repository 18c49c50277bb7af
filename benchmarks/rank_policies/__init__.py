"""Rank policies by their regret on a suite of problems, relative to the best policy in hindsight.

    python -m benchmarks.rank_policies [--plugin FILE --policy NAME] [--quick] [--data FOLDER] [--out FOLDER]

The suite contains preference matrices, where pairs are compared, and simulated users, where policies for pairs and for
sets compete, each with its methods. It is split into two halves by family: one to tune a policy, one to judge it.
docs/standings.md is made of the results.
"""
