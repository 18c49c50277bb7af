"""One-line mutants of the package, run occasionally."""
