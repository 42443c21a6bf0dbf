"""The book with a kernel behind it: ``make live`` serves it on this machine, and its cells can be changed and run.

:mod:`.server` is Jupyter's server with three things of its own: the pages of the book, what each of them runs
(:mod:`.pages`), and audits of a table of one's own (:mod:`.tables`). Cells run in kernels of :mod:`.kernel`, of which
one more than are needed is always ready. What a browser does with all this is in ``book/_static/live``.
"""
