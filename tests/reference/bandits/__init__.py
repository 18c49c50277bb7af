"""Slow policies, written from the papers alone, for small problems. The fast ones must follow the same path.

Each keeps what the paper's box keeps and computes it anew in each step. Where the paper leaves a draw open, the draw
is made as in `walk.pick` and `walk.shuffled`.
"""
