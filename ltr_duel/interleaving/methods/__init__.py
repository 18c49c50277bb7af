"""The comparison methods, one module each; each module registers its method."""
