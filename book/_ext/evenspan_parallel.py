"""Let Sphinx read pages in several processes.

Two extensions that Jupyter Book loads do not say whether that is safe. It is: the first numbers sections in the main
process, after the pages of all processes are merged; the second acts where a book is printed through LaTeX, and nowhere
else. A third, for theorems, says so and merges its list, but does not say that its domain has nothing more to merge.
"""

from sphinx_proof.domain import ProofDomain

SILENT = ("sphinx_multitoc_numbering", "sphinx_jupyterbook_latex")


def _declare(app, env, names):
    for name in SILENT:
        app.extensions[name].parallel_read_safe = True


def setup(app):
    ProofDomain.merge_domaindata = lambda domain, names, other: None
    app.connect("env-before-read-docs", _declare)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
