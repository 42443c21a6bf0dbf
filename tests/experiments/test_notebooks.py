"""Every notebook once with a setting that no page shows, and a method and a table of the reader's own if it takes one.

It gives a result of its own and no verdicts, and the method is one more line in everything that compares methods.
"""

import re
import shutil
from contextlib import ExitStack, contextmanager

import distributed
import IPython.display
import numpy as np
import pandas as pd
import pytest

from compendium import own, paths, records, store
from compendium.catalogue import catalogue, experiment
from compendium.engine import execute_cells
from compendium.papers.lee2023 import scale
from compendium.papers.rathore2025 import protocol as rathore2025
from compendium.study import COMPUTED
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
"""
KIND, KINDS = {"groups": "who", "target": "kind"}, {"groups": "who", "classes": "kind"}
WHO = {"groups": "who"}
#: By notebook a setting; with ``groups`` it is of a table of the reader's own.
SETTINGS = {
    "vu2022-tables": WHO | {"k": 2, "splits": 1, "rates": "0.1", "penalties": "0, 1"},
    "vu2022-data": {"largest_deviation": 1e9},
    "vu2022-folds": {"datasets": "energy", "k": 2, "splits": 1, "draws": 2},
    "vu2022-descent": {"datasets": "energy", "k": 2, "restarts": 5, "penalties": "0, 2"},
    "vu2022-pareto": WHO | {"k": 1, "seeds": 1},
    "vu2022-components": WHO | {"splits": 2, "penalty": 5.0},
    "vu2022-toy": {"simulations": 2, "radii": 3, "penalties": "0, 1"},
    "vu2022-theorems": {"times": 0.05},
    "rathore2025-tables": WHO | {"max_k": 2},
    "rathore2025-origin": {"random_bases": 1},
    "rathore2025-candidates": {"datasets": "npha", "lists": "one alpha", "draws": 1},
    "rathore2025-factorial": {"dataset": "biodeg", "max_k": 2},
    "rathore2025-theorems": {"datasets": "npha", "pairs": 2},
    "rathore2025-times": {"features": "6, 8, 12", "features_programme": "4, 5", "repetitions": 1},
    "zhou2024-table": KINDS | {"seeds": 2},
    "zhou2024-multiple": KINDS | {"seeds": 2, "rounds": 3},
    "zhou2024-tradeoff": {"dataset": "made", "weights": "0, 1", "sweeps": 2, "seeds": 2},
    "zhou2024-kernels": KINDS,
    "zhou2024-candidates": KINDS | {"kernels": "7", "seeds": 1},
    "zhou2024-theorems": {"claims": "Z02, Z04", "seed": 1},
    "lee2023-table": WHO | {"k": 3, "directions": "0, 2", "splits": 1},
    "lee2023-learnability": {
        **{"sizes": "32, 100", "runs": 2, "factors": "m", "factor_sizes": "32, 100", "factor_runs": 1},
        "special_runs": 1,
    },
    "lee2023-theorems": {"tables_tried": 5, "features": "4", "runs": 1},
    "lee2023-comparison": {"directions": "2", "size": 500, "blocks": 4, "streams": 2},
    "lee2023-scale": {
        **{"n": "64, 128", "d": "16, 32", "k": "2, 4", "m": "2, 4", "repetitions": 1, "rows": 400, "chunks": 4},
        **{"rounds": 1, "workers": "1"},
    },
    "lee2023-images": {
        **{"k": 3, "full_images": 40, "images": 300, "size": "20 x 16", "first_blocks": "2", "parts": "rank"},
    },
    "across-methods": KIND | {"sizes": "2", "splits": 1},
    "across-bounds": WHO | {"k": 3, "parts": 1, "methods": "PCA, LEACE"},
    "across-classifiers": WHO | {"methods": "PCA, Fair PCA", "k": 2, "splits": 1},
    "across-concealment": KIND | {"k": 2, "splits": 1, "permutations": 1},
    "across-audits": {"dataset": "npha", "draws": 1, "methods": "Fair PCA"},
    "kleindessner2023-table": KIND | {"k": 2, "splits": 1},
    "kleindessner2023-networks": {"dataset": "sklearn_diabetes", "k": 2, "splits": 1, "draws": 2},
    "kleindessner2023-runtime": {"sizes": "200 x 10, 300 x 10", "repetitions": 1},
    "kleindessner2023-rival-times": {"k": 2, "features": "4", "repetitions": 1},
    "kleindessner2023-synthetic": {"n": 100, "draws": 2, "dimensions": "10", "splits": 1},
    "kleindessner2023-illustration": {"draws": 3},
    "kleindessner2023-theorems": {"problems": 6, "points": 500},
    "kleindessner2023-faces": {"k": 20, "splits": 1, "images": 60},
    "kleindessner2023-reductions": KIND | {"size": 60, "runs": 1, "bounds": "0.1"},
    "kleindessner2023-reductions-times": KIND | {"sizes": "100", "runs": 1},
}
#: What the notebook needs of a method; of the others Mine.
CLASSES = {
    **dict.fromkeys(("across-bounds", "vu2022-pareto"), "MineByMoments"),
    **dict.fromkeys(("kleindessner2023-table", "kleindessner2023-reductions"), "Coordinates"),
    **dict.fromkeys(("across-classifiers", "across-concealment"), "Coordinates"),
    **dict.fromkeys(("zhou2024-table", "zhou2024-multiple", "zhou2024-kernels"), "MyClusters"),
}
#: In tables that name methods and are not of those of a run: the words of claims, kernels, kernel weights.
OTHER_TABLES = ("Claims and their computed answers", "over pairs of different points", "kernel weight; dashed")


@contextmanager
def _threads(workers):
    options = {"processes": False, "protocol": "tcp://", "threads_per_worker": 1, "dashboard_address": ":0"}
    with ExitStack() as stack:
        own = [stack.enter_context(distributed.LocalCluster(w, **options)) for w in workers]
        clients = [stack.enter_context(distributed.Client(one, set_as_default=False)) for one in own]
        yield dict(zip(workers, clients, strict=True))


@pytest.fixture
def small(monkeypatch, few_portraits, short_games):
    """Clusters of threads that reduce tables of two chunks, few images, short games, and two ranks."""
    made, ranks = scale.generated, rathore2025.ranks
    monkeypatch.setattr(scale, "generated", lambda d, rows, chunks: made(d, rows, min(chunks, 2)))
    monkeypatch.setattr(scale, "clusters", _threads)
    monkeypatch.setattr(rathore2025, "ranks", lambda *given: [*ranks(*given)][:2])
    with few_portraits(), short_games():
        yield


@pytest.fixture
def file(tmp_path):
    (tmp_path / "mine.py").write_text(FILE)
    return tmp_path / "mine.py"


@pytest.mark.parametrize(
    ("name", "setting", "said"),
    [
        ("rathore2025-tables", {"max_k": 99}, "max_k=99"),
        ("vu2022-components", {"dataset": "biodeg", "groups": "sex"}, "biodeg has its groups and label"),
        ("across-methods", {"dataset": "nowhere"}, "needed is a CSV file or one of default_credit"),
    ],
)
def test_an_impossible_setting_is_told(name, setting, said):
    entry = experiment(name)
    with pytest.raises(FairError, match=said):
        execute_cells(entry, entry.complete(setting))


@pytest.mark.parametrize(
    ("name", "kind", "said"),
    [
        ("rathore2025-tables", "Broken", "Broken failed in fit (ValueError: the groups are of no use)"),
        ("rathore2025-tables", "Skewed", "Skewed.components_ has rows that are not orthonormal"),
        ("rathore2025-tables", "Coordinates", "Coordinates.components_ is missing after fit; needed here are finite"),
        ("across-bounds", "Mine", "Mine has no fit_moments; there are group moments here and no rows"),
        ("zhou2024-kernels", "Mine", "Mine.labels_ is missing after fit"),
    ],
)
def test_a_method_that_fails_is_left_out_with_the_reason(name, kind, said, file):
    quick = {"rathore2025-tables": {"dataset": "biodeg"}, "zhou2024-kernels": {"dataset": "made"}, "across-bounds": {}}
    entry, setting = experiment(name), SETTINGS[name] | {"groups": "", "classes": ""} | quick[name]
    setting = {key: value for key, value in setting.items() if key in entry.parameters}
    space = execute_cells(entry, entry.complete(setting | {"method": f"{file}:{kind}"}), to_the_end=True)
    assert re.search(rf"Missing: \S*{kind.lower()} \((\w+: )?{re.escape(said)}", space["study"].note())
    assert len(space["results"]) >= 10
    assert kind not in set(space["results"]["method"])


def test_what_is_no_method_is_refused_in_one_sentence(file, monkeypatch):
    monkeypatch.chdir(file.parent)
    (file.parent / "wrong.py").write_text("1 / 0")
    for method, said in (
        ("mine.py", r"method='mine.py'; needed is FILE:CLASS"),
        ("nowhere.py:Mine", r"there is no Python file .*nowhere.py"),
        ("mine.py:Yours", r"has no class Yours"),
        ("mine.py:NoGroups", r"NoGroups needs fit\(X, y=None, \*, sensitive_features\)"),
        ("mine.py:LEACE", r"LEACE is a name of LEACE already. Give your class another name"),
        ("wrong.py:Mine", r"wrong.py cannot be run \(ZeroDivisionError: division by zero\). Correct it"),
    ):
        with pytest.raises(ConfigurationError, match=said):
            own.methods(method, own.Estimator)
    assert own.methods("", own.Estimator) == {}
    before = own.method_fingerprint(f"{file}:Mine")
    file.write_text(FILE.replace("full_matrices=False", "full_matrices=True"))
    assert own.method_fingerprint(f"{file}:Mine") != before, "an edited file is another run"


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("name", catalogue())
def test_a_setting_that_no_page_shows_gives_a_result_without_verdicts(name, file, tmp_path, monkeypatch):
    entry, setting, kind = experiment(name), SETTINGS[name], CLASSES.get(name, "Mine")
    if "groups" in setting:
        rng = np.random.default_rng(0)
        X = rng.normal(size=(200, 6)) + 2.0 * rng.integers(2, size=(200, 1))
        table = pd.DataFrame(X, columns=list("abcdef")).assign(who=["f", "m"] * 100, kind=(X[:, 0] > 1).astype(int))
        table.to_csv(tmp_path / "my.csv", index=False)
        where = "datasets" if "datasets" in entry.parameters else "dataset"
        setting = setting | {where: str(tmp_path / "my.csv")}
    takes = "method" in entry.parameters and name != "kleindessner2023-faces"  # its images may not be passed on
    setting = entry.complete(setting | ({"method": f"{file}:{kind}"} if takes else {}))
    assert entry.execution_for(setting) is None
    said, make = [], IPython.display.HTML.__init__

    def kept(self, data=None, *given, **named):
        said.append(str(data))
        make(self, data, *given, **named)

    def refused(*_):
        raise AssertionError("stored rows were read")

    monkeypatch.setattr(IPython.display.HTML, "__init__", kept)
    monkeypatch.setattr(store, "units_of", refused)
    space = execute_cells(entry, setting, to_the_end=True)
    results, study = space["results"], space["study"]
    assert results["value"].notna().any()
    assert not study.compared
    assert "the setting is another one" in study.note()
    if takes:
        mine = results["method"].str.match(rf"{kind}\b")
        assert results.loc[mine, "value"].notna().any()
        assert "Missing:" not in study.note()
        others = set(results.loc[~mine, "method"])
        few = min(3, len(others))
        compared = [text for text in said if "<table" in text and sum(one in text for one in others) >= few > 0]
        assert [
            text[:400] for text in compared if kind not in text and not any(one in text for one in OTHER_TABLES)
        ] == []


@pytest.fixture(scope="module")
def changed_store(tmp_path_factory):
    """All stored numbers and 1000 more, with the digests of what stands there."""
    folder = tmp_path_factory.mktemp("store")
    shutil.copytree(paths.results(), folder, dirs_exist_ok=True)
    for path in folder.rglob("*.json"):
        units = store.units_at(path)
        for row in (row for unit in units.values() for row in unit.rows if row["value"]):
            row["value"] = repr(float(row["value"]) + 1000.0)
        store.write(next(iter(units.values())).experiment, units, path)
    return folder


@pytest.mark.exhaustive
@pytest.mark.filterwarnings("ignore")  # of logarithms and fits of such numbers
@pytest.mark.parametrize("name", catalogue())
def test_numbers_that_were_changed_in_the_store_are_said_by_every_page_that_computes_some(
    name, changed_store, monkeypatch
):
    monkeypatch.setenv(records.BUDGET, "3")
    entry = experiment(name)
    with paths.results_in(changed_store):
        study = execute_cells(entry, entry.complete({}), to_the_end=True)["study"]
    assert not (study.results["source"] == COMPUTED).any() or "DIFFER by more than is allowed" in study.note()
