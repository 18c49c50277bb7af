"""Slow policies for small problems, written only from the papers. The fast policies must follow the same path.

Each keeps what the paper's box keeps and computes it anew in each step. Where the paper leaves a draw open, the draw
is made as in `walk.pick` and `walk.shuffled`.
"""
