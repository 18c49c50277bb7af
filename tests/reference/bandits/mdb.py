"""MDB, Algorithm 1 of Brost et al., CIKM 2016."""

from math import log

import numpy as np

from tests.reference.bandits.walk import Literal, upper_bounds


class Mdb(Literal):
    def select(self, t):
        everyone = list(range(self.k))
        if t == 1:
            return everyone  # line 2
        u = upper_bounds(self.w, self.alpha, log(t))  # line 4
        v = upper_bounds(self.w, self.alpha * self.beta, log(t))  # line 5
        e = [i for i in everyone if (np.delete(u[i], i) >= 0.5).all()]  # line 6
        f = [i for i in everyone if (np.delete(v[i], i) >= 0.5).all()]  # line 7
        if len(e) > 1:
            return f  # line 9
        if len(e) == 1:
            return e  # line 11
        return everyone  # line 13

    def compared(self, first, second, outcome):
        self.count(first, second, outcome)
