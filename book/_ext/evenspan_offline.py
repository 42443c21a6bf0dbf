"""Make the built book self-contained: MathJax comes from the installed package, not from a content network.

Of the 24 MB in ``sphinx-mathjax-offline`` a page with TeX input and HTML output needs about 3 MB; packages of TeX are
loaded one by one.
"""

import shutil
from importlib.metadata import distribution
from pathlib import Path

_WANTED = (
    "tex-chtml.js",
    "input/tex/extensions/*.js",
    "output/chtml/fonts/woff-v2/*.woff",
    "a11y/*.js",
    "sre/mathmaps/base.json",
    "sre/mathmaps/en.json",
    "ui/*.js",
)


def _copy_mathjax(app, error):
    if error is not None or app.builder.format != "html":
        return
    source = Path(distribution("sphinx-mathjax-offline").locate_file("sphinx-mathjax-offline/static/mathjax"))
    target = Path(app.outdir, "_static", "mathjax")
    for pattern in _WANTED:
        files = [file for file in sorted(source.glob(pattern)) if file.name != "all-packages.js"]
        if not files:
            raise FileNotFoundError(f"{source} holds no {pattern}: the layout of sphinx-mathjax-offline has changed.")
        for file in files:
            copy = target / file.relative_to(source)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, copy)


def setup(app):
    app.connect("build-finished", _copy_mathjax)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
