"""Where rankers come from: one page for each kind of file. A new page is found by itself."""
