"""Studies other than speed, and comparisons with other libraries: ``python -m benchmarks.studies.NAME``."""
