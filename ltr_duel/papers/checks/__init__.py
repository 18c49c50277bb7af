"""Measures by which claims are checked: a table of results in, one number with its error out. Decides nothing."""

from ltr_duel.papers.checks import runs, tables
from ltr_duel.papers.checks.measure import MEASURES, Group, Missing, Reading, Sample, format_value, in_words
from ltr_duel.papers.checks.rows import select

__all__ = ["MEASURES", "Group", "Missing", "Reading", "Sample", "format_value", "in_words", "runs", "select", "tables"]
