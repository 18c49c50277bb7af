"""One algorithm (family), one page that reads like its paper. A new page is found by itself."""
