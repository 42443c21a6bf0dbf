"""Pages executed: parameters, errors, determinism, declared inputs, and nothing left behind."""

import json
import os
import re

import nbformat
import papermill
import pytest

from compendium import paths
from compendium.book import pages
from compendium.book.pages import execute
from compendium.execution import normalise
from evenspan.core.errors import ExecutionError

HEAD = "---\nkernelspec: {name: python3, display_name: Python 3}\n---\n# Trial\n\n"
PARAMETERS = (
    '```{code-cell} python\n:tags: [parameters]\ndataset = "adult"\nk = 3\nfraction = 0.5\nflag = True\n```\n\n'
)


def cell(code):
    return f"```{{code-cell}} python\n{code}\n```\n\n"


@pytest.fixture
def chapter(tmp_path):
    def write(text):
        source = tmp_path / "trial.md"
        source.write_text(HEAD + PARAMETERS + text, encoding="utf-8")
        return source

    return write


def test_two_runs_are_byte_identical_and_nothing_is_left(chapter, tmp_path, monkeypatch):
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    source = chapter(
        cell("import os\nprint(dataset, k, object(), os.environ['OPENBLAS_NUM_THREADS'])\nobject()")
        + cell("import time\nprint('first')\ntime.sleep(0.6)\nprint('second')")  # sent to the notebook in two parts
    )
    for name in ("a.ipynb", "b.ipynb"):
        execute(source, tmp_path / name, {"k": 4})
    first, second = ((tmp_path / name).read_bytes() for name in ("a.ipynb", "b.ipynb"))
    assert first == second
    assert b"adult 4 <object object at 0x\xe2\x80\xa6> 1" in first
    cells = json.loads(first)["cells"]
    assert [output["text"] for output in cells[-1]["outputs"]] == [["first\n", "second\n"]]
    injected = [c for c in cells if "injected-parameters" in c["metadata"].get("tags", [])]
    assert len(injected) == 1
    assert "hide-input" in injected[0]["metadata"]["tags"]
    assert "papermill" not in first.decode()
    assert list(home.iterdir()) == []


EVERYTHING = (
    """import sys
import numpy as np, pandas as pd
from IPython.display import HTML, Markdown, display
from matplotlib import pyplot as plt
print("one", end=" "); print("two"); display(HTML("<b>three</b>")); print("four"); 5
""",
    """fig, axes = plt.subplots(); axes.plot([1, 2], [3, 1])
print(_, __name__, sys.modules["__main__"].np is np)
pd.DataFrame({"a": [1.5, np.nan]})
""",
    """display(Markdown("**x**"), metadata={"isolated": True})
plt.subplots(figsize=(3, 2), layout="constrained")[1].set(ylabel="y", title="a b"); None
""",
    """import os
await __import__("asyncio").sleep(0)
display({"text/plain": "plain"}, raw=True)
os.getcwd() == str(__import__("compendium.paths").paths.root())
""",
)


def test_the_output_is_that_of_a_kernel(chapter, tmp_path, monkeypatch):
    monkeypatch.delenv("MPLBACKEND")  # a kernel would show no figures
    source = chapter("".join(map(cell, EVERYTHING)))
    execute(source, tmp_path / "ours.ipynb", {"k": 4})
    for name in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    nbformat.write(pages.read(source), tmp_path / "in.ipynb")
    theirs = papermill.execute_notebook(
        tmp_path / "in.ipynb", tmp_path / "out.ipynb", {"k": 4}, kernel_name="python3", language="python",
        cwd=paths.root(), progress_bar=False, extra_arguments=["--log-level=CRITICAL"],
    )  # fmt: skip
    normalise(theirs)
    ours = nbformat.read(tmp_path / "ours.ipynb", as_version=4)
    assert len(ours.cells) == len(theirs.cells) == 7
    for mine, kernels in zip(ours.cells, theirs.cells, strict=True):
        assert mine == kernels
    assert sum("image/png" in output.get("data", {}) for c in ours.cells for output in c.get("outputs", ())) == 2


def test_a_failing_cell_is_named(chapter, tmp_path):
    target = tmp_path / "failing-trial.ipynb"
    with pytest.raises(ExecutionError, match=r"begins with\n  1 / 0\nfailed: ZeroDivisionError: division by zero"):
        execute(chapter(cell("1 / 0") + cell("'never'")), target, {})
    assert not target.exists()


@pytest.fixture
def book(tmp_path, monkeypatch):
    """Pages below a folder of their own, and a function that makes them; their names are those that were made."""
    monkeypatch.setattr(paths, "build", lambda *parts: tmp_path.joinpath("built", *parts))

    def make(*wanted, jobs=2):
        pages._files.cache_clear()
        pages._digest.cache_clear()
        return pages.make(list(wanted), jobs)

    return make


def test_pages_are_made_again_when_a_declared_input_changes(chapter, book, tmp_path, capsys, monkeypatch):
    source = chapter(cell("import os, sys\nstray = 1\nprint(os.getppid(), 'pandas' in sys.modules)"))
    one, other = (pages.Page(name, source, tmp_path / f"{name}.ipynb", {"k": 4}) for name in ("one", "other"))
    assert book(one, other)
    assert sorted(line.split()[-1] for line in capsys.readouterr().out.splitlines()) == ["one", "other"]
    assert f"{os.getpid()} True" in one.target.read_text(), "forked from this process"
    assert book(one, other)
    assert capsys.readouterr().out == "", "up to date"
    source.write_text(source.read_text().replace("stray = 1", "stray = 2"))
    assert book(one)
    assert capsys.readouterr().out.endswith(" s  one\n")
    assert book(one._replace(parameters={"k": 5}))
    assert capsys.readouterr().out.endswith(" s  one\n")
    digest, shared = pages._digest, paths.root() / "src" / "compendium" / "records.py"
    monkeypatch.setattr(pages, "_digest", lambda path: "edited" if path == shared else digest(path))
    pages._files.cache_clear()
    assert pages.make([one._replace(parameters={"k": 5})], 1)
    assert capsys.readouterr().out.endswith(" s  one\n")
    pages._files.cache_clear()


def test_a_page_depends_on_its_own_room_and_results_alone():
    named = {page.name: page for page in pages.pages()}
    of_vu, of_zhou = named["experiments/vu2022-toy/k1"], named["experiments/zhou2024-kernels/jaffe"]
    before = pages.digest(of_vu), pages.digest(of_zhou)
    files = pages._files()
    for changed, which in (
        ("src/compendium/papers/zhou2024/kernels.py", (False, True)),
        ("data/results/full/vu2022-toy/k1.csv", (True, False)),
        ("src/evenspan/core/moments.py", (True, True)),
        ("data/tolerances.yml", (True, True)),
    ):
        kept, files[changed] = files[changed], "edited"
        after = pages.digest(of_vu), pages.digest(of_zhou)
        files[changed] = kept
        assert tuple(a != b for a, b in zip(before, after, strict=True)) == which, changed


def test_a_page_that_fails_or_is_killed_is_said_and_the_others_are_made(chapter, book, tmp_path, capsys):
    source = chapter(
        cell("import os, signal\nif k == 1:\n    os.kill(os.getpid(), signal.SIGKILL)\nif k == 2:\n    1 / 0")
        + cell("import sys\nif k == 4:\n    print('look out', file=sys.stderr)")
    )
    wanted = [pages.Page(f"k{k}", source, tmp_path / f"k{k}.ipynb", {"k": k}) for k in (1, 2, 3, 4)]
    assert not book(*wanted)
    said = capsys.readouterr()
    assert "k1 was not made: its process ended with code -9 and gave no answer" in said.err
    assert "k2 was not made: " in said.err
    assert "ZeroDivisionError" in said.err
    assert re.search("(?s)k4 was not made: .*standard error.*look out", said.err), "as a warning would be"
    assert said.out.endswith(" s  k3\n")
    assert [page.target.exists() for page in wanted] == [False, False, True, False]
