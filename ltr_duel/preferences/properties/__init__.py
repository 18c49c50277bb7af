"""Properties of a preference matrix: its winners and their probability, transitivity, and lower bounds on regret."""
