"""A method of one's own, named by the parameter ``method``: one more line in what every notebook shows."""

import os
import re
import subprocess
import sys

import IPython.display
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.text import Text

from compendium import own, paths
from compendium.catalogue import catalogue, experiment
from compendium.protocol import cells
from evenspan.core.errors import ConfigurationError, FairError

FILE = """
import numpy as np


class Mine:
    def __init__(self, n_components):
        self.n_components = n_components

    def fit(self, X, y=None, *, sensitive_features):
        self.mean_ = X.mean(axis=0)
        self.components_ = np.linalg.svd(X - self.mean_, full_matrices=False)[2][: self.n_components]
        return self


class MineByMoments(Mine):
    def fit_moments(self, moments):
        self.components_ = np.linalg.eigh(moments.scatter)[1][:, -self.n_components :].T


class MyClusters:
    def __init__(self, n_clusters):
        self.n_clusters = n_clusters

    def fit(self, X, y=None, *, sensitive_features):
        self.labels_ = np.arange(len(X)) % self.n_clusters


class Coordinates(Mine):
    def fit(self, X, y=None, *, sensitive_features):
        self.A = np.eye(X.shape[1])[:, : self.n_components]

    def transform(self, X):
        return np.tanh(X @ self.A)


class Skewed(Mine):
    def fit(self, X, y=None, *, sensitive_features):
        self.components_ = np.ones((self.n_components, X.shape[1]))


class Broken(Mine):
    def fit(self, X, y=None, *, sensitive_features):
        raise ValueError("the groups are of no use")


class LEACE(Mine):
    pass


class NoGroups:
    def fit(self, X, y=None):
        return self


class NoFit:
    pass
"""
DIABETES = {"dataset": "sklearn_diabetes"}
#: A class and quick parameters for every notebook that takes one.
QUICK = {
    "rathore2025-tables": ("Mine", {"dataset": "biodeg", "largest": 2}),
    "kleindessner2023-illustration": ("Mine", {"draws": 2}),
    "across-bounds": ("MineByMoments", {"parts": 1, "methods": "PCA, Fair PCA"}),
    "zhou2024-kernels": ("MyClusters", {"dataset": "made"}),
    "kleindessner2023-table": ("Coordinates", DIABETES | {"k": 2, "splits": 1}),
    "kleindessner2023-runtime": ("Mine", {"sizes": "200 x 10", "repetitions": 1}),
    "kleindessner2023-faces": ("Mine", {"k": 20, "splits": 1, "images": 60}),
    "kleindessner2023-reductions": (
        "Coordinates",
        {"datasets": "sklearn_diabetes", "size": 150, "runs": 1, "bounds": "0.1"},
    ),
    "kleindessner2023-reductions-times": ("Mine", DIABETES | {"sizes": "100", "runs": 1}),
    "lee2023-comparison": ("Mine", {"directions": "2", "size": 200, "blocks": 3, "streams": 2}),
    "lee2023-table": ("Mine", {"dataset": "german", "k": 3, "directions": "0, 2", "splits": 1}),
    "vu2022-tables": ("Mine", {"dataset": "energy", "k": 2, "splits": 1, "rates": "0.1", "penalties": "0, 1"}),
    "vu2022-components": ("Mine", {"dataset": "ecoli", "splits": 1}),
    "vu2022-pareto": ("MineByMoments", {"dataset": "energy", "k": 1, "seeds": 1}),
    "zhou2024-table": ("MyClusters", {"dataset": "made", "seeds": 1}),
    "zhou2024-multiple": ("MyClusters", {"dataset": "made", "seeds": 1, "rounds": 2}),
    "across-methods": ("Mine", DIABETES | {"sizes": "2", "splits": 1}),
    "across-classifiers": ("Coordinates", DIABETES | {"methods": "PCA, Fair PCA", "k": 2, "splits": 1}),
}
#: The notebooks that take a CSV file, with further columns that they need.
OWN_FILES = {
    **{name: {} for name in ("rathore2025-tables", "vu2022-components", "vu2022-pareto", "vu2022-tables")},
    **{name: {} for name in ("lee2023-table", "across-bounds", "across-classifiers")},
    **{name: {"classes": "kind"} for name in ("zhou2024-kernels", "zhou2024-multiple", "zhou2024-table")},
    "across-methods": {"target": "kind"},
    "kleindessner2023-table": {"target": "kind"},
    "kleindessner2023-reductions": {"target": "kind"},
    "kleindessner2023-reductions-times": {"target": "kind"},
}
#: In tables and figures that are not of the methods of a run: claims of the paper, the program's own kernels.
OF_OURS = ("Claims and their computed answers", "over pairs of different points", "kernel weight; dashed")
FAST = ("rathore2025-tables", "kleindessner2023-illustration", "across-bounds", "zhou2024-kernels")


def some(names):
    return [pytest.param(name, marks=[] if name in FAST else pytest.mark.exhaustive) for name in names]


@pytest.fixture
def file(tmp_path):
    (tmp_path / "mine.py").write_text(FILE)
    return tmp_path / "mine.py"


@pytest.fixture
def shown(monkeypatch):
    """What a notebook shows, when it has run: tables and sentences as HTML, and the words of figures."""
    said, make = [], IPython.display.HTML.__init__

    def kept(self, data=None, *given, **named):
        said.append(str(data))
        make(self, data, *given, **named)

    monkeypatch.setattr(IPython.display.HTML, "__init__", kept)
    plt.close("all")
    yield lambda: (
        [text for text in said if "<table" in text],
        [" ".join(word.get_text() for word in plt.figure(one).findobj(Text)) for one in plt.get_fignums()],
    )
    plt.close("all")


def test_every_notebook_with_the_parameter_is_tried():
    assert set(QUICK) == {name for name, entry in catalogue().items() if "method" in entry.parameters}
    assert {name for name, entry in catalogue().items() if "groups" in entry.parameters} - set(OWN_FILES) == {
        "rathore2025-factorial",  # without a table of methods
        "zhou2024-tradeoff",
    }


@pytest.mark.parametrize("name", some(QUICK))
def test_the_method_is_one_more_line_everywhere(name, file, shown):
    kind, setting = QUICK[name]
    entry = experiment(name)
    space = cells(entry, entry.complete(setting | {"method": f"{file}:{kind}"}), all_of_it=True)
    results, note = space["results"], space["study"].note()
    mine = results["method"].str.match(rf"{kind}\b")
    assert results.loc[mine, "value"].notna().any()
    assert (~mine).any()
    assert kind not in note.partition("Missing:")[2]
    assert f"method = '{file}:{kind}, " in note
    others = set(results.loc[~mine, "method"])
    few = min(3, len(others))
    compared = [text for part in shown() for text in part if sum(other in text for other in others) >= few]
    assert compared, "nothing compares methods"
    assert [text[:400] for text in compared if kind not in text and not any(one in text for one in OF_OURS)] == []


@pytest.mark.parametrize("name", some(OWN_FILES))
def test_a_table_of_ones_own_with_a_method_of_ones_own(name, file, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 6)) + 2.0 * rng.integers(2, size=(200, 1))
    table = pd.DataFrame(X, columns=list("abcdef")).assign(who=["f", "m"] * 100, kind=(X[:, 0] > 1).astype(int))
    table.to_csv(tmp_path / "my.csv", index=False)
    kind, setting = QUICK[name]
    entry, path = experiment(name), str(tmp_path / "my.csv")
    data = {"datasets": path, "size": 90} if "datasets" in entry.parameters else {"dataset": path}
    given = data | OWN_FILES[name] | {"groups": "who", "method": f"{file}:{kind}"}
    space = cells(entry, entry.complete(setting | given), all_of_it=True)
    mine = space["results"]["method"].str.match(rf"{kind}\b")
    assert space["results"].loc[mine, "value"].notna().any()
    assert "Missing" not in space["study"].note()


@pytest.mark.parametrize(
    ("name", "kind", "said"),
    [
        ("rathore2025-tables", "Broken", "ValueError: the groups are of no use"),
        ("rathore2025-tables", "Skewed", "Skewed.components_ has rows that are not orthonormal"),
        ("rathore2025-tables", "Coordinates", "Coordinates.components_ is missing after fit; needed here are finite"),
        ("across-bounds", "Mine", "Mine has no fit_moments; there are group moments here and no rows"),
        ("zhou2024-kernels", "Mine", "Mine.labels_ is missing after fit"),
    ],
)
def test_a_method_that_fails_is_left_out_with_the_reason(name, kind, said, file):
    entry = experiment(name)
    space = cells(entry, entry.complete(QUICK[name][1] | {"method": f"{file}:{kind}"}), all_of_it=True)
    assert re.search(rf"Missing: \S*{kind.lower()} \((\w+: )?{re.escape(said)}", space["study"].note())
    assert len(space["results"]) >= 10
    assert kind not in set(space["results"]["method"])


@pytest.mark.parametrize(
    ("method", "said"),
    [
        ("mine.py", r"method='mine.py'; needed is FILE:CLASS"),
        ("nowhere.py:Mine", r"there is no Python file .*nowhere.py"),
        ("mine.py:Yours", r"has no class Yours"),
        ("mine.py:np", r"has no class np"),
        ("mine.py:NoFit", r"NoFit needs fit\(X, y=None, \*, sensitive_features\)"),
        ("mine.py:NoGroups", r"NoGroups needs fit"),
        ("mine.py:LEACE", r"LEACE is a name of LEACE already. Give your class another name"),
        ("wrong.py:Mine", r"wrong.py cannot be run \(ZeroDivisionError: division by zero\). Correct it"),
    ],
)
def test_what_is_no_method_is_refused_in_one_sentence(method, said, file, monkeypatch):
    monkeypatch.chdir(file.parent)
    (file.parent / "wrong.py").write_text("1 / 0")
    with pytest.raises(ConfigurationError, match=said):
        own.methods(method, own.Estimator)


def test_without_a_method_there_is_no_line_and_an_edited_file_is_another_run(file):
    assert own.methods("", own.Estimator) == {}
    assert own.stated("") == ""
    before = own.stated(f"{file}:Mine")
    file.write_text(FILE.replace("full_matrices=False", "full_matrices=True"))
    assert own.stated(f"{file}:Mine") != before


def test_the_path_is_one_from_where_the_command_was_typed(file, tmp_path):
    done = subprocess.run(
        f"{sys.executable} -m compendium run kleindessner2023-illustration -p draws 2 -p method mine.py:Mine".split(),
        cwd=tmp_path,
        env=os.environ | {"PWD": str(tmp_path), "EVENSPAN_BUILD": str(tmp_path / "build")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    (target,) = (tmp_path / "build/runs/kleindessner2023-illustration").glob("*.ipynb")
    assert re.search(r"<td>\s*Mine\b|>Mine<", target.read_text())


@pytest.mark.exhaustive
def test_the_method_of_the_page_is_fair_pca(tmp_path):
    page = (paths.root() / "book/yours/bring-your-method.md").read_text(encoding="utf-8")
    (tmp_path / "my_file.py").write_text(re.search(r"```python\n(.*?)```", page, re.DOTALL)[1])
    entry = experiment("across-methods")
    setting = DIABETES | {"sizes": "2", "splits": 2, "method": f"{tmp_path}/my_file.py:Quiet"}
    rows = cells(entry, entry.complete(setting))["results"].set_index(["method", "metric"])["value"]
    quiet, fair, pca = (rows[name].drop(["seconds", "certified"]) for name in ("Quiet", "Fair PCA", "PCA"))
    np.testing.assert_allclose(quiet, fair[quiet.index], rtol=1e-6, atol=1e-8)
    assert quiet["mean distance"] < 0.5 * pca["mean distance"]
    assert quiet["relative error"] > pca["relative error"]


def test_a_registered_data_set_refuses_columns_of_a_file():
    entry = experiment("vu2022-pareto")
    with pytest.raises(FairError, match="biodeg has its groups and label; leave out groups='sex'"):
        cells(entry, entry.complete({"groups": "sex"}))
