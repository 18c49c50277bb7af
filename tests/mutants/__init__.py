"""One-line mutants of the package, run occasionally. docs/testing.md has the last table of `make mutants`."""
