"""Rankers: the documents of each query in the order of a feature. Rankings, tie rules, ranking metrics.

Nothing here clicks or compares.
"""
