"""One-line mutants of the package: a habit, not a test. See docs/testing.md for the last table of `make mutants`."""
