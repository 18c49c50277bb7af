"""The click models of the literature; each module registers its models."""
