"""A reader changes a cell of a notebook and runs it: what it shows is the consequence of that."""

import functools
from pathlib import Path

import nbformat
import numpy as np
import pandas as pd
import papermill
import pytest

from compendium import paths
from compendium.catalogue import experiment
from compendium.engine import execute_cells
from compendium.store import read_results
from compendium.study import COMPUTED

#: By notebook and edit what is replaced by what, and whose rows it changes (all methods if none is named).
NOTEBOOKS = {
    "rathore2025/tables": {
        "setting": (
            '"JevdPCA (orthogonal)": (JEVDPCA(init="pooled"',
            '"JevdPCA (orthogonal)": (JEVDPCA(init="identity"',
            "JevdPCA (orthogonal)",
        ),
        "data": ("ranks = rathore2025.ranks", "moments = moments.standardised()\n{}", ""),
        "list of k": ("ranks = rathore2025.ranks(dataset, moments, max_k)", "ranks = range(1, 4)", ""),
        "evaluation": ("values = rathore2025.evaluate(moments, W)", "values = rathore2025.evaluate(women, W)", ""),
    },
    "kleindessner2023/illustration": {
        "setting": ('"Fair PCA": FairPCA(k, center="none")', '"Fair PCA": FairPCA(k)', "Fair PCA"),
        "data": ("    return data.stretched_group((2023, draw))", "    return data.stretched_group((7, draw))", ""),
        "seeds": ("range(draws)", "range(3, draws)", ""),
        "evaluation": ("np.linalg.norm(points.X - points.X @ V @ V.T)", "2 * {}", ""),
        "method": ('    "PCA": StandardPCA(k, center="none"),', '{}\n    "mine": StandardPCA(k),', "mine"),
    },
}
CASES = [(name, edit) for name, edits in NOTEBOOKS.items() for edit in edits]


def edited(name: str, folder, old: str, new: str, *, twice: str = "") -> Path:
    """The notebook with ``old`` in a cell replaced, and a cell with ``twice`` there two times."""
    notebook = nbformat.read(paths.root() / f"notebooks/{name}.ipynb", as_version=4)
    (cell,) = (cell for cell in notebook.cells if cell.cell_type == "code" and old in cell.source)
    cell.source = cell.source.replace(old, new.replace("{}", old))
    if twice:
        (place,) = (place for place, cell in enumerate(notebook.cells) if twice in cell.source)
        notebook.cells.insert(place, nbformat.v4.new_code_cell(notebook.cells[place].source))
    nbformat.write(notebook, folder / "edited.ipynb")
    return folder / "edited.ipynb"


def in_kernel(path: Path, **parameters):
    """Rows and note of a notebook in Jupyter's kernel; its outputs stand beside it."""
    notebook, rows = nbformat.read(path, as_version=4), path.with_suffix(".pkl")
    notebook.cells.append(nbformat.v4.new_code_cell(f"results.to_pickle({str(rows)!r})\nprint(study.note())"))
    nbformat.write(notebook, path)
    quiet = {"progress_bar": False, "log_output": False, "cwd": str(paths.root()), "kernel_name": "python3"}
    done = papermill.execute_notebook(str(path), str(path.with_suffix(".out.ipynb")), parameters, **quiet)
    return pd.read_pickle(rows), done.cells[-1].outputs[0]["text"]


#: A parameter that a reader changes in the kernel; the column of the rows that then has so many values.
DRIFT = {
    "kleindessner2023/illustration": ("draws", 3, "split"),
    "rathore2025/tables": ("max_k", 2, "k"),
    "zhou2024/kernels": ("kernel", 3, ""),
}
AGAIN = """try:
    study.run(study.unit, study.units.values())
except Exception as error:
    print(error)"""


def here(name: str, path: Path | str):
    """Rows and note of a notebook without a kernel."""
    entry = experiment(name.replace("/", "-"))
    space = execute_cells(entry.model_copy(update={"notebook": str(path)}), entry.complete({}))
    return space["results"], space["study"].note()


@pytest.fixture
def offline(monkeypatch, tmp_path):
    """No raw data, and results that nobody may write."""
    monkeypatch.delenv("EVENSPAN_DATA", raising=False)
    monkeypatch.delenv("MPLBACKEND", raising=False)  # a kernel shows its figures
    monkeypatch.setenv("EVENSPAN_CACHE", str(tmp_path / "none"))
    before = {path: path.stat().st_mtime_ns for path in paths.data().rglob("*") if path.is_file()}
    yield
    assert {path: path.stat().st_mtime_ns for path in paths.data().rglob("*") if path.is_file()} == before


@functools.cache
def unedited(name: str) -> pd.DataFrame:
    """The rows of a notebook without an edit."""
    return here(name, f"notebooks/{name}.ipynb")[0]


@pytest.mark.parametrize(("name", "edit"), CASES)
def test_an_edit_counts(name, edit, offline, tmp_path):
    old, new, method = NOTEBOOKS[name][edit]
    rows, note = here(name, edited(name, tmp_path, old, new))
    assert "a cell was edited: " in note
    assert set(rows["source"]) == {COMPUTED}
    before = unedited(name)
    if edit == "method":
        assert set(rows["method"]) - set(before["method"]) == {method}
        return
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
        assert set(moved["method"]) == set(both["method"]) - {""}  # what is counted of a table has no method


def test_layout_and_a_cell_that_runs_twice_are_no_edits(offline, tmp_path):
    """And as published nothing is lost of what is stored, and what was computed is that to a millionth."""
    name, line = "kleindessner2023/illustration", "from evenspan import FairPCA, StandardPCA"
    rows, note = in_kernel(edited(name, tmp_path, line, "# estimators\n\n{}  # of the library", twice=line))
    assert "This run is your own" not in note
    stored = read_results(name.replace("/", "-"))
    assert len(stored) == len(rows)
    key = [column for column in stored if column not in ("value", "reason")]
    both = rows[rows["source"] == COMPUTED].astype({"split": str}).merge(stored.astype({"split": str}), on=key)
    assert len(both) > 50
    np.testing.assert_allclose(both["value_x"], both["value_y"], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", DRIFT)
def test_in_the_order_of_jupyter_a_changed_parameter_is_an_error_until_the_study_is_made_again(name, offline, tmp_path):
    parameter, value, column = DRIFT[name]
    notebook = nbformat.read(paths.root() / f"notebooks/{name}.ipynb", as_version=4)
    code = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    below = code[next(place for place, source in enumerate(code) if "Study(" in source) :]
    notebook.cells += map(nbformat.v4.new_code_cell, [f"{parameter} = {value}", AGAIN, *below])
    nbformat.write(notebook, tmp_path / "drift.ipynb")
    rows, note = in_kernel(tmp_path / "drift.ipynb")
    (error,) = (
        output["text"]
        for cell in nbformat.read(tmp_path / "drift.out.ipynb", as_version=4).cells
        if cell.source == AGAIN
        for output in cell.outputs
    )
    assert f"{parameter} = {value} in this kernel, but the study was made with {parameter} = " in error
    assert f"the setting is another one ({parameter} = {value})" in note
    assert "Nothing that is published was used." in note
    assert set(rows["source"]) == {COMPUTED}
    assert not column or rows[column].nunique() == value


@pytest.mark.parametrize(
    "name", [pytest.param(one, marks=[pytest.mark.exhaustive] if place else []) for place, one in enumerate(DRIFT)]
)
def test_papermill_gives_what_runs_without_a_kernel(name, offline, tmp_path):
    parameter, value, _ = DRIFT[name]
    entry = experiment(name.replace("/", "-"))
    notebook = nbformat.read(paths.root() / entry.notebook, as_version=4)
    nbformat.write(notebook, tmp_path / "plain.ipynb")
    rows, note = in_kernel(tmp_path / "plain.ipynb", **{parameter: value})
    space = execute_cells(entry, entry.complete({parameter: value}))
    pd.testing.assert_frame_equal(rows, space["results"], rtol=1e-6, atol=1e-9)
    assert "This run is your own" in note
