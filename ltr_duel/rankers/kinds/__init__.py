"""Sources of rankers: one module for each kind of file. New modules are found automatically."""
