"""The script of a figure: it has what the figure needs and no more, and run alone it draws what the page shows."""

import os
import re
import subprocess
import sys

import pytest
from nbformat import v4

from compendium import paths
from compendium.book import figure_scripts
from compendium.book.stage import lighter
from evenspan.auditing.execution import numeric_environment

HEAD = "import numpy as np\nfrom matplotlib import pyplot as plt\nfrom evenspan.displays import style\n"
DRAW = "style.use()\nfig, ax = plt.subplots()\nax.plot(x)\nfig"


def kept(*cells, draw=DRAW):
    """The statements of a script, without its head, its imports and what saves the figure.

    A cell of the page whose last line is marked with ``#!`` shows its value.
    """
    made = [v4.new_code_cell(cell, outputs=[v4.new_output("stream")] * cell.endswith("#!")) for cell in (HEAD, *cells)]
    figure = {"caption": "A line. And more.", "name": "fig-line"}
    made.append(v4.new_code_cell(draw, metadata={"mystnb": {"figure": figure}}, outputs=[v4.new_output("stream")]))
    text = figure_scripts.scripts(v4.new_notebook(cells=made), "a/page")["fig-line"]
    compile(text, "fig-line.py", "exec")
    lines = [line for line in text.splitlines() if line and not line.startswith(("#", "import ", "from "))]
    return lines[: lines.index('file = sys.argv[1] if sys.argv[1:] else "fig-line.svg"')]


OWN = ["style.use()", "fig, ax = plt.subplots()", "ax.plot(x)"]


@pytest.mark.parametrize(
    ("page", "wanted"),
    [
        ("y = 1\nx = [1, 2]\nz = x", "x = [1, 2]"),
        ("x = 5\nx = [1, 2]", "x = [1, 2]"),
        ("a, x = 1, [1, 2]", "a, x = 1, [1, 2]"),
        ("x = 1\nx += 1", "x = 1\nx += 1"),
        ("x = [1, 2]\nx[0] = 3\ny = [1]\ny[0] = 2", "x = [1, 2]\nx[0] = 3"),
        ("x = np.ones(3)\nx.flags.writeable = False", "x = np.ones(3)\nx.flags.writeable = False"),
        ("x = [1]\nassert x\nprint(x)\nnp.testing.assert_equal(x, x)", "x = [1]"),
        ("x = []\nx.append(1)\ny = []\ny.append(1)", "x = []\nx.append(1)"),
        ("x = np.ones(3)\nx.round(2)  #!", "x = np.ones(3)"),
        ("x = np.eye(3)\nnp.fill_diagonal(x, 2)", "x = np.eye(3)\nnp.fill_diagonal(x, 2)"),
        ("x = [1]\nx.pop() if x else 0  #!", "x = [1]\nx.pop() if x else 0  #!"),
        ("def f(n):\n    return n\nx = [f(1)]", "def f(n):\n    return n\nx = [f(1)]"),
        ("def f():\n    return a\na = 1\nx = [f()]\na = 2", "def f():\n    return a\na = 1\nx = [f()]"),
        ("def f():\n    return 1\nparts = {'f': f}\nx = [parts['f']()]",) * 2,
        ("x = []\nfor a in (1, 2):\n    x.append(a)\nfor b in (1, 2):\n    print(b)",
         "x = []\nfor a in (1, 2):\n    x.append(a)"),
        ("a = 3\nx = []\nfor a in (1, 2):\n    x.append(a)", "x = []\nfor a in (1, 2):\n    x.append(a)"),
        ("a = 3\nfor a in ():\n    pass\nx = [a]",) * 2,
        ("a = [[0], [0]]\nfor part in a:\n    part[0] = 1\nx = a[0]",) * 2,
        ("a = [[0], [0]]\nfor n, part in enumerate(a):\n    part[0] = n\nx = a",) * 2,
        ("a = [[0], [0]]\nparts = [one for one in a]\nparts[0].append(1)\nx = a",) * 2,
        ("a, b = [1], [2]\nc = a if b else b\nc.append(1)\nx = a",) * 2,
        ("x = [1]\nif x[1:]:\n    x = [2]",) * 2,
        ("b = [2]\ntry:\n    x = [1 / 0]\nexcept ZeroDivisionError:\n    x = b",) * 2,
        ("n = 2\nx = []\nwhile n:\n    n -= 1\n    x.append(n)",) * 2,
        ("class M:\n    def fit(self):\n        self.x = [1]\n        return self\nm = M()\nn = m.fit()\nx = m.x",) * 2,
        ("turn = iter([1, 2])\nfirst = next(turn)\nx = [next(turn)]",) * 2,
        ("x = [2, 1]\nr = np.random.default_rng(0)\nr.shuffle(x)",) * 2,
        ("x = [1]; y = 2", "x = [1]"),
        ("with np.errstate(all='ignore'):\n    x = np.log([1])\nwith np.errstate(all='ignore'):\n    y = 1",
         "with np.errstate(all='ignore'):\n    x = np.log([1])"),
        ("rng = np.random.default_rng(0)\nfirst = rng.normal()\nx = rng.normal(size=3)\nlast = rng.normal()",
         "rng = np.random.default_rng(0)\nfirst = rng.normal()\nx = rng.normal(size=3)"),
        ("rng = np.random.default_rng(0)\ndef draw():\n    return rng.normal(size=3)\nfirst = draw()\nx = draw()",) * 2,
        ("fig, ax = plt.subplots()\nax.plot([3])\nx = [1]", "x = [1]"),
        ("x = [1]\nnp.random.seed(0)", "x = [1]\nnp.random.seed(0)"),
    ],
)  # fmt: skip
def test_a_statement_is_kept_if_the_figure_needs_it(page, wanted):
    assert kept(page) == [*wanted.splitlines(), *OWN]


def test_what_draws_into_the_figure_is_kept_under_any_name():
    draw = "fig, axes = plt.subplots(2)\nfor panel, y in zip(axes, x):\n    panel.plot(y)\n"
    draw += "left = axes[0]\nleft.grid()\nfig"
    assert kept("x = [[1], [2]]", draw=draw) == ["x = [[1], [2]]", *draw.splitlines()[:-1]]


def test_processes_that_a_script_starts_do_not_run_it_again():
    page = "with local_cluster() as client:\n    x = client.ask()"
    assert kept(page)[0].startswith("del __file__")
    assert kept("x = [1]")[0] == "x = [1]"


def test_a_script_says_what_it_is_imports_what_it_needs_and_saves_its_figure():
    cells = [v4.new_code_cell("import os\nimport numpy as np, json\nk = 3  # components"), v4.new_markdown_cell("Text")]
    cells.append(v4.new_code_cell("# Only a start.\nx = np.arange(k)\n\n\ndef f():\n    return x"))
    named = {"mystnb": {"figure": {"caption": "Lines: one. Two.", "name": "fig_a"}}}
    cells.append(v4.new_code_cell("from compendium import book\nbook.draw(f());", metadata=named))
    assert figure_scripts.scripts(v4.new_notebook(cells=cells), "some/page")["fig-a"] == (
        "# Figure fig-a of some/page: Lines: one.\n"
        "# Run it in the environment of evenspan, whose repository holds the stored results:\n"
        "#     python fig-a.py [FILE.svg]\n\n"
        "import sys\n\nimport numpy as np\nfrom matplotlib import pyplot\n\nfrom compendium import book\n\n"
        "k = 3  # components\n\n# Only a start.\nx = np.arange(k)\n\n\ndef f():\n    return x\n\n\nbook.draw(f())\n\n"
        'file = sys.argv[1] if sys.argv[1:] else "fig-a.svg"\n'
        'pyplot.gcf().savefig(file, bbox_inches="tight")\n'
    )


#: One of each paper: drawn by the page itself or by a function, and from the stored results of a tab.
DRAWN = (
    "fig-one-look",
    "fig-flip-flop",
    "fig-rathore2025-story",
    "fig-lee2023-story",
    "fig-zhou2024-story",
    "fig-components-wine-quality",
)
OTHERS = {path.stem for path in paths.build("html", "_static", "figures").glob("*.py")} - set(DRAWN)
_FIGURE = re.compile(
    r'<figure[^>]* id="([^"]+)"(?:(?!</figure>).)*?href="([^"]+\.py)">Script of this figure</a>'
    r'(?:(?:(?!</figure>).)*?href="([^"]+\.svg)">Figure as SVG</a>)?',  # one with a slider stands in the page
    re.DOTALL,
)


@pytest.fixture(scope="module")
def figures(html):
    """The file of the script, and that of the drawing if there is one, to which the caption of each figure leads."""
    found = {}
    for page in html.rglob("*.html"):
        for name, *links in _FIGURE.findall(page.read_text(encoding="utf-8")):
            found[name] = [link and (page.parent / link).resolve() for link in links]
    return found


def test_every_script_is_linked_below_its_figure(html, figures):
    written = {path.stem: path for path in (html / "_static" / "figures").glob("*.py")}
    assert len(written) > 200
    assert {name: script for name, (script, _) in figures.items()} == written


@pytest.mark.parametrize(
    "name", [*DRAWN, *(pytest.param(name, marks=pytest.mark.exhaustive) for name in sorted(OTHERS))]
)
def test_a_script_run_alone_draws_what_the_page_shows(name, figures, tmp_path):
    script, drawing = figures[name]
    own = {key: os.environ[key] for key in ("PATH", "HOME") if key in os.environ} | numeric_environment()
    own |= {"PYTHONPATH": str(paths.root() / "src"), "MPLCONFIGDIR": os.environ["MPLCONFIGDIR"]}
    done = subprocess.run(
        [sys.executable, str(script)], cwd=tmp_path, env=own, capture_output=True, text=True, timeout=900
    )
    assert done.returncode == 0, done.stderr
    assert [file.name for file in tmp_path.iterdir()] == [f"{name}.svg"]
    drawn = lighter((tmp_path / f"{name}.svg").read_text(encoding="utf-8"))
    assert not drawing or _numbered(drawn) == _numbered(drawing.read_text(encoding="utf-8"))


def _numbered(svg):
    """A drawing with ids in their order: those of matplotlib follow from the last bits of its numbers."""
    ids, svg = {}, svg.strip()
    return re.sub(
        r'(?<= id=")[^"]+|(?<=url\(#)[^)]+|(?<=href="#)[^"]+', lambda m: ids.setdefault(m[0], str(len(ids))), svg
    )
