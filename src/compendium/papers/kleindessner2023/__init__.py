"""Kleindessner et al. (2023): fair PCA, its kernel and its covariance-matching version.

====================================  ====================================  ==========================================
in the paper                          notebook (``kleindessner2023/``)      units
====================================  ====================================  ==========================================
Table on Adult Income                 ``table.ipynb``                       a method on all splits, or on one if slow
(networks again, and what was tried)  ``networks.ipynb``                    a method on all splits, or on one if slow
Figure 1, what -S adds                ``illustration.ipynb``                all samples at once
Synthetic data of Lee et al. (2022)   ``synthetic.ipynb``                   a method on an experiment, or a dimension
Running times, fair PCA and PCA       ``runtime.ipynb``                     one for each size
Running times, all methods            ``rival_times.ipynb``                 one for each number of features
Glasses erased from faces             ``faces.ipynb``                       one for each kind of pictures and each k
Trade-offs, fair PCA and reductions   ``reductions.ipynb``                  some runs of a classifier on a data set
Running times, beside reductions      ``reductions_times.ipynb``            one for each number of training points
Theorems                              ``theorems.ipynb``                    a theorem, searched for counter-examples
====================================  ====================================  ==========================================
"""
