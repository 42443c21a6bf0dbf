"""Rathore and Manwani (2025): fair PCA by joint eigenvalue decomposition.

================================  ===========================  ================================================
in the paper                      notebook (``rathore2025/``)  units
================================  ===========================  ================================================
Tables 2 to 5, Figure 1           ``tables.ipynb``             one for each data set: all methods, all r
Table 1                           ``times.ipynb``              one for each data set, and one for random pairs
(where printed columns are from)  ``origin.ipynb``             one for each data set
(what was tried for the others)   ``candidates.ipynb``         one for each list of candidates
(what makes MMD^2 small)          ``factorial.ipynb``          one for each data set
Theorems 3.1 and 4.1, Lemma 1,    ``theorems.ipynb``           one for each claim, and one for each data set
Algorithm 1
================================  ===========================  ================================================
"""
