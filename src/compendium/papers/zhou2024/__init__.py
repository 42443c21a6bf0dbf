"""Zhou, Li and Du (2024): fair kernel k-means, with one kernel and with several (slides).

==============================  ===========================  =======================================================
in the slides                   notebook (``zhou2024/``)     units
==============================  ===========================  =======================================================
Table 1                         ``table.ipynb``              one for each data set and method, and for its other
                                                             readings
(what it leaves open)           ``candidates.ipynb``         one for each data set and part: features, graph, kernel
(several kernels)               ``multiple.ipynb``           one for each data set and method
(the weight of fairness)        ``tradeoff.ipynb``           one for each data set and part: weights, others, starts
Figures 2 and 3                 ``kernels.ipynb``            one for each data set
Theorems 1 and 2, Algorithm 1   ``theorems.ipynb``           one for each claim
==============================  ===========================  =======================================================
"""
