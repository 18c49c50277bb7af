"""Slow policies for small problems, written only from the papers. The fast policies must follow the same path.

Each policy stores the variables of the paper's box, and recomputes them in each step. A draw that the paper does not
specify is made by `walk.pick` or `walk.shuffled`.
"""
