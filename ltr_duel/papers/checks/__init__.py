"""Measures by which claims are checked: a table of results in, one number with its error out. Decides nothing."""
