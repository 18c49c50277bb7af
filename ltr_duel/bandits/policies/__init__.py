"""One module for each algorithm, or for a family of algorithms. New modules are found automatically."""
