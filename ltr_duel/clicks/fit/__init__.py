"""Click models fitted to sessions of real users: maximum likelihood, held-out likelihood, tables for simulation.

In all models users read a list from the top. With some probability they click on a position that they reach, and with
another probability they then go on to the next position. The models differ in the parameters of these probabilities.
"""
