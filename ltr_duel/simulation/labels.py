"""How a run numbers its arms, as its key states it."""

AS_GIVEN = "as given"  # by the rows of the matrix, as all runs did before there was a random order
