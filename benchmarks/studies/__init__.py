"""No matter of speed, or beside another library: ``python -m benchmarks.studies.NAME``."""
