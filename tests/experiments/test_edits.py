"""A reader changes a cell of a notebook and runs it in Jupyter's kernel: what it shows is the consequence of that."""

import json
import re

import nbformat
import numpy as np
import pandas as pd
import papermill
import pytest

from compendium import paths, provenance
from compendium.protocol import COMPUTED
from compendium.store import read_results

#: By notebook and edit what is replaced by what, and whose rows it changes (all methods if none is named).
NOTEBOOKS = {
    "rathore2025/tables": {
        "method": ('    "StandardPCA": (', '    "mine": (StandardPCA(), women),\n{}', "mine"),
        "setting": (
            '"JevdPCA (orthogonal)": (JEVDPCA(mode="orthogonal", init="pooled"',
            '"JevdPCA (orthogonal)": (JEVDPCA(mode="orthogonal", init="identity"',
            "JevdPCA (orthogonal)",
        ),
        "data": ("ranks = rathore2025.ranks", "moments = moments.standardised()\n{}", ""),
        "list of k": ("ranks = rathore2025.ranks(dataset, moments, largest)", "ranks = range(1, 4)", ""),
        "evaluation": ("values = rathore2025.judged(moments, W)", "values = rathore2025.judged(women, W)", ""),
    },
    "kleindessner2023/illustration": {
        "method": ('    "PCA": StandardPCA(k, center="none"),', '{}\n    "mine": StandardPCA(k),', "mine"),
        "setting": ('"Fair PCA": FairPCA(k, center="none")', '"Fair PCA": FairPCA(k)', "Fair PCA"),
        "data": ("    return data.stretched_group((2023, draw))", "    return data.stretched_group((7, draw))", ""),
        "seeds": ("range(draws)", "range(3, draws)", ""),
        "evaluation": ("np.linalg.norm(points.X - points.X @ V @ V.T)", "2 * {}", ""),
    },
}
CASES = [(name, edit) for name, edits in NOTEBOOKS.items() for edit in edits]
#: Of each kind of edit one notebook, another one with every commit, and all of them with --exhaustive.
TURN = int.from_bytes(provenance.commit()[0].encode(), "big")
KINDS = {edit: [case for case in CASES if case[1] == edit] for _, edit in CASES}
CHOSEN = [cases[TURN % len(cases)] for cases in KINDS.values()]


def run(name: str, folder, old: str = "", new: str = "", *, twice: str = ""):
    """Rows, note and outputs of a notebook with ``old`` in a cell replaced, or a cell with ``twice`` run twice."""
    notebook = nbformat.read(paths.root() / f"notebooks/{name}.ipynb", as_version=4)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code" and old in cell.source]
    if old:
        (cell,) = cells
        cell.source = cell.source.replace(old, new.replace("{}", old))
    if twice:
        (place,) = (place for place, cell in enumerate(notebook.cells) if twice in cell.source)
        notebook.cells.insert(place, nbformat.v4.new_code_cell(notebook.cells[place].source))
    said = f"results.to_pickle({str(folder / 'rows.pkl')!r})\nprint(study.note())"
    notebook.cells.append(nbformat.v4.new_code_cell(said))
    nbformat.write(notebook, folder / "edited.ipynb")
    quiet = {"progress_bar": False, "log_output": False, "cwd": str(paths.root()), "kernel_name": "python3"}
    done = papermill.execute_notebook(str(folder / "edited.ipynb"), str(folder / "out.ipynb"), **quiet)
    shown = [json.dumps(output) for cell in done.cells[:-1] for output in cell.get("outputs", ())]
    return pd.read_pickle(folder / "rows.pkl"), done.cells[-1].outputs[0]["text"], " ".join(shown)


@pytest.fixture
def offline(monkeypatch, tmp_path):
    """No raw data, and results that nobody may write."""
    monkeypatch.delenv("EVENSPAN_DATA", raising=False)
    monkeypatch.delenv("MPLBACKEND", raising=False)  # a kernel shows its figures
    monkeypatch.setenv("EVENSPAN_CACHE", str(tmp_path / "none"))
    before = {path: path.stat().st_mtime_ns for path in paths.data().rglob("*") if path.is_file()}
    yield
    assert {path: path.stat().st_mtime_ns for path in paths.data().rglob("*") if path.is_file()} == before


@pytest.fixture(scope="module")
def unedited(tmp_path_factory):
    """The rows of a notebook without an edit."""
    known = {}

    def rows(name):
        if name not in known:
            known[name] = run(name, tmp_path_factory.mktemp("unedited"))[0]
        return known[name]

    return rows


@pytest.mark.parametrize(
    ("name", "edit"),
    [pytest.param(*case, marks=[] if case in CHOSEN else pytest.mark.exhaustive) for case in CASES],
)
def test_an_edit_counts(name, edit, offline, unedited, tmp_path):
    old, new, method = NOTEBOOKS[name][edit]
    rows, note, shown = run(name, tmp_path, old, new)
    assert "was edited (it begins with" in note
    assert set(rows["source"]) == {COMPUTED}
    if edit == "method":
        assert "mine" in set(rows["method"])
        assert len(re.findall(r">\s*mine\b", shown)) >= 1, "in no table and no figure"
        return
    before = unedited(name)
    if edit in ("list of k", "seeds"):
        assert len(rows) < len(before)
        return
    key = [column for column in before if column not in ("value", "reason", "source", "task")]
    both = rows.merge(before, on=key, suffixes=("", "_before")).dropna(subset=["value", "value_before"])
    moved = both[(both["value"] - both["value_before"]).abs() > 1e-9 * (1 + both["value"].abs())]
    assert len(moved)
    if method:  # and not that of all others, which is the control
        assert method in set(moved["method"]) < set(both["method"])
    elif edit == "data":
        assert set(moved["method"]) == set(both["method"])


def test_layout_and_a_cell_that_runs_twice_are_no_edits(offline, tmp_path):
    """And as published nothing is lost of what is stored, and what was computed is that to a millionth."""
    name, line = "kleindessner2023/illustration", "from evenspan import FairPCA, StandardPCA"
    rows, note, _ = run(name, tmp_path, line, f"# estimators\n\n{line}  # of the library")
    assert "This run is your own" not in note
    stored = read_results(name.replace("/", "-"))
    assert len(stored) == len(rows)
    key = [column for column in stored if column not in ("value", "reason")]
    both = rows[rows["source"] == COMPUTED].astype({"split": str}).merge(stored.astype({"split": str}), on=key)
    assert len(both) > 50
    np.testing.assert_allclose(both["value_x"], both["value_y"], rtol=1e-6, atol=1e-9)
    assert "This run is your own" not in run(name, tmp_path, twice=line)[1]
