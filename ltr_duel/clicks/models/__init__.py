"""The click models of the literature; a page registers its own."""
