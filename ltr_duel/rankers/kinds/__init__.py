"""Sources of rankers: one module for each kind of file; `ltr_duel.rankers.sources` lists them."""
