"""Let Sphinx read pages in several processes.

Jupyter Book loads ``sphinx_multitoc_numbering``, which does not say whether that is safe. It is: all it does is number
sections in the main process, after the pages of all processes are merged.
"""

SILENT = "sphinx_multitoc_numbering"


def _declare(app, env, names):
    app.extensions[SILENT].parallel_read_safe = True


def setup(app):
    app.connect("env-before-read-docs", _declare)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
