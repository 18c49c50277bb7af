"""Click models fitted to sessions of real users: maximum likelihood, held-out likelihood, tables for simulation.

In all models users read a list from the top: they click on each position that they reach with some probability, and
then go on to the next position with another probability. The models differ in the parameters of these probabilities.
"""
