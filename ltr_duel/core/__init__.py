"""What every floor stands on: randomness, compiled kernels, errors, registries, parallel tasks.

Nothing here knows of rankers, clicks or bandits.
"""
