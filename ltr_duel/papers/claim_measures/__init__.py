"""Measures that test claims: functions from a table of results to one number with its error."""

from ltr_duel.papers.claim_measures import runs, tables
from ltr_duel.papers.claim_measures.measure import MEASURES, Group, Missing, Reading, Sample, format_value, in_words
from ltr_duel.papers.claim_measures.rows import select

__all__ = ["MEASURES", "Group", "Missing", "Reading", "Sample", "format_value", "in_words", "runs", "select", "tables"]
