"""The click models of the literature. Each module registers its models."""
