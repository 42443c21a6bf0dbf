"""Lee et al. (2023): null-it-out fair PCA, and the fair noisy power method for streams.

===============================  ==============================  ====================================================
in the paper                     notebook (``lee2023/``)         units
===============================  ==============================  ====================================================
the theorem on learnability      ``learnability.ipynb``          one for each population and experiment, for each
                                                                 factor of the bound, for each special effect
the demonstration on a stream    ``comparison.ipynb``            one for each population
tables, with the program only    ``table.ipynb``                 one for each data set, k and method, on the published
                                                                 splits and on the paper's own tables
eyeglasses removed from CelebA   ``images.ipynb``                one for each fit to made portraits, one for memory
(cost, and what travels)         ``scale.ipynb``                 one for each size, one for two workers, for messages
claims that a theorem makes      ``theorems.ipynb``              one for each claim
===============================  ==============================  ====================================================
"""
