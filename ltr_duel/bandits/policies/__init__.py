"""One module for each algorithm (or family), which follows its paper. New modules are found automatically."""
