"""Every linear method on every data set, in one benchmark: a comparison that no paper made.

==========================  ==========================  ==========================================================
in the book                 notebook (``across/``)      units
==========================  ==========================  ==========================================================
page of three data sets,    ``methods.ipynb``           for each of 21 data sets one with the methods of moments,
chapters below ``across/``                              and one for each method that needs the points
end of the chapter          ``bounds.ipynb``            for each of the data sets parts of 100 samples each
*Gaps on new rows*
end of the chapter          ``classifiers.ipynb``       for each of these data sets one for each method, control or
*What is left*                                          erasure
end of the chapter          ``concealment.ipynb``       for each of six tables with a label one for each eraser, or
*What kernel erasure hides*                             kernel PCA as its control
==========================  ==========================  ==========================================================

``protocol``: tables, split, fits, measures. ``summary``: means and ranks. ``new_rows``: how often bounds hold.
"""
