"""Intervals and tests, each with its estimand, its assumptions and its source.

`intervals`
    Student's interval of a mean, Clopper and Pearson's interval of a share, the normal and the bootstrap interval.
`signs`
    Exact tests of "the mean is 0", by flipping the signs of clusters or of paired differences; Holm's correction.
"""

from ltr_duel.core.statistics.intervals import bootstrap_interval as bootstrap_interval
from ltr_duel.core.statistics.intervals import clopper_pearson as clopper_pearson
from ltr_duel.core.statistics.intervals import normal_reach as normal_reach
from ltr_duel.core.statistics.intervals import student_p as student_p
from ltr_duel.core.statistics.intervals import student_quantile as student_quantile
from ltr_duel.core.statistics.intervals import student_reach as student_reach
from ltr_duel.core.statistics.signs import holm as holm
from ltr_duel.core.statistics.signs import mean_test as mean_test
from ltr_duel.core.statistics.signs import sign_flip_p as sign_flip_p
from ltr_duel.core.statistics.signs import sign_p as sign_p
from ltr_duel.core.statistics.signs import signed_rank_p as signed_rank_p
