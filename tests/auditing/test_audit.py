"""The whole audit: the theorems in its tables, the pipeline that its numbers are of, and what it refuses."""

import warnings

import numpy as np
import pandas as pd
import pytest

import evenspan
from evenspan.auditing.evaluation import COLUMNS
from evenspan.auditing.fitting import BINARY, QUICK, chosen_methods
from evenspan.auditing.groups import PARTS
from evenspan.auditing.writing import file_names, plain_text
from evenspan.core.errors import ComponentsError, ConfigurationError, FairError, GroupError
from evenspan.methods import METHODS

from .tables import frame, rows


def value(table, **where):
    for column, wanted in where.items():
        table = table[table[column] == wanted]
    assert len(table) == 1, where
    return table.iloc[0]


@pytest.fixture(scope="module")
def table():
    return frame(*rows((1100, 700), d=5)).sample(frac=1.0, random_state=0, ignore_index=True)


@pytest.fixture(scope="module")
def found(table):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return evenspan.audit(table, sensitive="team", target="hired", k=[1, 2, 3, 4], n_boot=200)


def test_equal_means_and_equal_losses_on_the_fitting_part_and_nobody_below_the_frontier(found):
    seen, line = found.tables["methods"], found.tables["frontier"]
    for k in (1, 2, 3, 4):
        mine = seen[(seen["k"] == k) & (seen["part"] == "training") & (seen["group"] == "")].dropna(subset="value")
        scale = value(mine, method="PCA", metric="average error")["value"]
        assert value(mine, method="Fair PCA", metric="mean distance")["value"] < 1e-10 * np.sqrt(scale)
        assert value(mine, method="PCA", metric="mean distance")["value"] > 0.01 * np.sqrt(scale)
        assert value(mine, method="Min-max loss", metric="loss gap")["value"] < 1e-7 * scale
        assert value(mine, method="PCA", metric="loss gap")["value"] > 1e-4 * scale
        assert mine[mine["metric"] == "average error"].sort_values("value")["method"].iloc[0] == "PCA"
        if k == found.recommendation["team"]["errors"].k:
            smallest = line[line["curve"] == "worst loss"].iloc[-1]
            worst = mine[(mine["metric"] == "worst loss") & (mine["method"] != "LEACE")]
            assert (worst["value"] >= smallest["bound"] - 1e-8).all()
            assert np.isclose(value(worst, method="Min-max loss")["value"], smallest["y"], rtol=1e-5)


def test_the_pipeline_gives_the_representation_that_the_numbers_are_of(found, table):
    raw = table.drop(columns=["team", "hired"])
    seen = found.tables["methods"]
    for method in ("PCA", "Min-max loss", "LEACE"):
        pipeline = found.pipeline(method, k=2)
        T, X, estimator = pipeline.transform(raw), pipeline[0].transform(raw), pipeline[-1]
        squares = ((np.asarray(X) - T @ estimator.subspace_.V.T - estimator.mean_) ** 2).sum(axis=1)
        # Nobody kept which rows were held out; all parts together are all rows.
        mine = seen[(seen["method"] == method) & (seen["k"] == 2) & (seen["metric"] == "error")]
        for group in ("g0", "g1"):
            counts = found.sample.groups.set_index("group").loc[group]
            total = sum(value(mine, part=part, group=group)["value"] * counts[part] for part in PARTS)
            assert np.isclose(squares[table["team"] == group].sum(), total, rtol=1e-8)
    for concern, answer in found.recommendation["team"].items():
        if answer.method:
            assert found.pipeline(concern=concern)[-1] is found.estimators["team", answer.method, answer.k]
    for asked, said in (
        ({}, "means: consider"), ({"method": "Kernel"}, "no Kernel"), ({"method": "PCA", "k": 9}, "k=9"),
        ({"attribute": "age"}, "attribute='age'"), ({"concern": "losses"}, "concern='losses'"),
        ({"method": "Null-it-out PCA", "k": 4}, "with k=4 for team"),
    ):  # fmt: skip
        with pytest.raises(ConfigurationError, match=said):
            found.pipeline(**asked)


def test_tables_are_tidy_and_whole(found):
    seen = found.tables["methods"]
    assert list(seen.columns) == COLUMNS
    assert not seen.duplicated(["attribute", "k", "method", "part", "group", "metric"]).any()
    numbers = seen.dropna(subset=["value", "low", "high"])
    assert ((numbers["low"] <= numbers["value"] + 1e-9) & (numbers["value"] <= numbers["high"] + 1e-9)).mean() > 0.99
    assert {"target AUC", "linear AUC", "kernel AUC", "selection rate"} <= set(found.tables["pca"]["metric"])
    assert repr(found).startswith("Audit(table: 1,800 rows, 5 features, 11 methods)\n  team, means: scaled mean dist")


def test_unless_asked_k_retains_most_of_the_variance_and_the_target_is_asked_for(table):
    seen = evenspan.audit(table, sensitive="team", methods=["Fair PCA"], concern="means", n_boot=50)
    k = seen.recommendation["team"]["means"].k
    assert set(seen.estimators) == {("team", name, k) for name in ("PCA", "Fair PCA")}
    shares = seen.estimators["team", "PCA", k].explained_variance_ratio_.cumsum()
    assert shares[k - 1] >= 0.8 > shares[k - 2]
    assert [text[:15] for text in seen.settings["warnings"]] == ["Is 'hired' what"]
    assert not evenspan.audit(table, sensitive="team", target="hired", k=1, n_boot=50).settings["warnings"]


def test_the_same_seed_gives_the_same_tables_and_names_choose_methods(table):
    def run(seed):
        return evenspan.audit(
            table, sensitive="team", k=[2], methods=["Fair PCA", "INLP"], n_boot=50, random_state=seed
        )

    first, again, other = (run(seed).tables["methods"] for seed in (3, 3, 4))
    pd.testing.assert_frame_equal(first, again)
    assert (other["value"].to_numpy() != first["value"].to_numpy()).mean(axis=0) > 0.5
    assert chosen_methods(None, [3, 2]) == QUICK
    assert not set(chosen_methods(None, [3])) & set(BINARY)
    assert chosen_methods("all", [2]) == tuple(METHODS)


def test_a_group_of_a_few_rows_is_left_out_and_that_is_said():
    X, labels = rows((500, 400, 6), d=4)
    seen = evenspan.audit(frame(X, labels), sensitive="team", target="hired", k=2, methods=["u-FPCA"], n_boot=50)
    assert set(seen.tables["methods"]["group"]) == {"g0", "g1", ""}
    assert ("team", "u-FPCA", 2) in seen.estimators  # two groups are left
    noted = seen.tables["groups"].set_index("group")["note"]
    assert "left out of all that follows" in noted["g2"]
    assert "left out" not in noted["g1"]
    assert "Nothing is said of g2 (6 rows)" in seen.to_html()
    few = frame(*rows((500, 6), d=4))
    with pytest.raises(GroupError, match=r"g0 \(500 rows\), g1 \(6 rows\)"):
        evenspan.audit(few, sensitive="team", target="hired", k=2, n_boot=50)


def test_as_many_components_as_directions_leave_nobody_an_error():
    X, labels = rows((500, 400), d=3)
    table = frame(X, labels).assign(x3=X[:, 0] - X[:, 1], x4=X[:, 1] + X[:, 2])
    seen = evenspan.audit(table, sensitive="team", target="hired", methods=["u-FPCA"], k=[3, 4], n_boot=50)
    assert not len(seen.tables["frontier"])
    assert set(seen.estimators) == {("team", "PCA", 3), ("team", "PCA", 4)}
    assert seen.recommendation["team"]["errors"].method in ("", "PCA")


def test_what_is_refused(table):
    for change, error, told in (
        ({"k": 5}, ComponentsError, "at most 4"),
        ({"k": []}, ConfigurationError, "k is empty"),
        ({"k": 0}, FairError, "k=0"),
        ({"n_boot": 10**12}, FairError, "n_boot=1,000,000,000,000; needed are at most 100,000 draws"),
        ({"n_boot": 3}, FairError, "n_boot=3"),
        ({"concern": "fairness"}, ConfigurationError, "'means', 'errors'"),
        ({"methods": ["PCAs"]}, ConfigurationError, "'PCAs'"),
        ({"random_state": "x"}, ConfigurationError, "random_state"),
    ):
        with pytest.raises(error, match=told):
            evenspan.audit(**({"table": table, "sensitive": "team", "target": "hired"} | change))


@pytest.fixture
def small(found, monkeypatch):
    """The audit with a page and figures that take no time."""
    monkeypatch.setattr(type(found), "to_html", lambda self: "<html></html>")
    monkeypatch.setitem(found.__dict__, "figures", {})
    return found


def test_a_folder_is_written_whole(small, tmp_path, table):
    paths = small.write(tmp_path / "report")
    assert all(path.is_file() for path in paths)
    kept = evenspan.load(tmp_path / "report" / "transformers" / "team-leace.npz")
    raw = table.drop(columns=["team", "hired"])
    k = small.recommendation["team"]["means"].k
    np.testing.assert_array_equal(kept.transform(raw), small.pipeline("LEACE", k).transform(raw))
    again = pd.read_csv(tmp_path / "report" / "tables" / "methods.csv", keep_default_na=False, na_values=[""])
    assert len(again) == len(small.tables["methods"])
    assert str(tmp_path) not in (tmp_path / "report" / "settings.json").read_text()


def test_what_no_audit_wrote_or_somebody_changed_is_never_deleted(small, tmp_path, monkeypatch):
    folder = tmp_path / "report"
    small.write(folder)
    (folder / "tables" / "groups.csv").unlink()
    small.write(folder)  # an earlier report and nothing else
    assert (folder / "tables" / "groups.csv").is_file()
    for name in ("letter.txt", "tables/mine.csv"):
        (folder / name).write_text("mine")
    (folder / "tables" / "pca.csv").write_text("changed")
    with pytest.raises(ConfigurationError, match=r"3 file.*letter\.txt, tables/mine\.csv, tables/pca\.csv"):
        small.write(folder)
    assert (folder / "tables" / "pca.csv").read_text() == "changed"
    small.write(folder, overwrite=True)
    texts = [(folder / name).read_text()[:4] for name in ("letter.txt", "tables/mine.csv", "tables/pca.csv")]
    assert texts == ["mine", "mine", "attr"]
    with pytest.raises(ConfigurationError, match="is a file"):
        small.write(folder / "letter.txt", overwrite=True)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    def interrupted(self):
        raise KeyboardInterrupt

    monkeypatch.setattr(type(small), "to_html", interrupted)
    for place in (folder, tmp_path / "new"):
        with pytest.raises(KeyboardInterrupt):
            small.write(place, overwrite=True)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_no_cell_of_a_written_table_is_a_formula():
    cells = ["=1+1", "@x", "+cmd", "-2+3", "\t=1", "-1", "+2.5", "plain", "a=b", -3.5, True]
    expected = ["'=1+1", "'@x", "'+cmd", "'-2+3", "'\t=1", "-1", "+2.5", "plain", "a=b", -3.5, True]
    assert [plain_text(cell) for cell in cells] == expected


def test_names_of_files():
    names = file_names(["sex x race", "Fair PCA (covariance)", "../..", "a b", "a-b", "a b-2"])
    assert list(names.values()) == ["sex-x-race", "fair-pca-covariance", "file", "a-b", "a-b-2", "a-b-2-2"]
