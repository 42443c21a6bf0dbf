"""Vu, Tran, Yue and Nguyen (2022): distributionally robust fair principal components.

==========================================  =========================  ================================================
in the paper                                notebook (``vu2022/``)     units
==========================================  =========================  ================================================
Tables 1, 3 and 4                           ``tables.ipynb``           one for each data set and family of methods
(folds of Table 4, and what was tried)      ``folds.ipynb``            one for each data set and family of methods
Table 2                                     ``data.ipynb``             one for each data set
Figures 2, 5 and 6                          ``pareto.ipynb``           one for each data set
Figures 3 and 7 to 16                       ``components.ipynb``       one for each data set
Figures 1 and 4                             ``toy.ipynb``              one for each figure
(where the published descent ends)          ``descent.ipynb``          one for each data set
(theorems)                                  ``theorems.ipynb``         one for each claim
==========================================  =========================  ================================================
"""
