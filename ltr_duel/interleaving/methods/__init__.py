"""The comparison methods, one page each; a page registers itself."""
