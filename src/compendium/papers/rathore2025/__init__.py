"""Rathore and Manwani (2025): fair PCA by joint eigenvalue decomposition.

===============================  ==============================  ====================================================
in the paper                     notebook (``rathore2025/``)     units
===============================  ==============================  ====================================================
Tables 2 to 5, Figure 1          ``tables.ipynb``                one for each data set: all methods, all r
Table 1                          ``times.ipynb``                 one for each data set, and one for random pairs
(where printed columns are from) ``origin.ipynb``                one for each data set
(what makes MMD^2 small)         ``factorial.ipynb``             one for each data set
(which table is Table 4)         ``lsac.ipynb``                  one for each file that is searched, one for the table
===============================  ==============================  ====================================================

``protocol``: data, group matrices and the judge, which the notebooks share, and sets of eigenvectors. ``lsac_search``,
``timing``: what one notebook needs each. ``readings``: what figures, tables and claims read from the rows. ``figures``.
``claims``, ``theorems``: the paper's claims, put to the test.
"""
