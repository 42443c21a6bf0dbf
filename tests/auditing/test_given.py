"""Clusters and a representation that somebody has: the numbers of other hands, controls that are not told, refusals."""

import json

import numpy as np
import pandas as pd
import pytest
from bs4 import BeautifulSoup
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression
from typer.testing import CliRunner

import evenspan
from evenspan import ClusterFrame
from evenspan.auditing import command, notebook
from evenspan.auditing.clusters import DIFFERS
from evenspan.auditing.evaluation import simultaneous
from evenspan.auditing.given import GIVEN
from evenspan.core.errors import ConfigurationError, DataError, GroupError

from .tables import people

N = 600
QUICK = {"sensitive": ["sex", "race"], "methods": ["Fair PCA"], "k": 2, "n_boot": 100}


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    """Three clusters dealt at random, but that the third holds few women."""
    frame, rng = people(N), np.random.default_rng(1)
    segment = rng.integers(1, 4, N)
    segment[(frame["sex"] == "female") & (segment == 3) & (rng.random(N) < 0.8)] = 1
    return frame.assign(segment=segment)


@pytest.fixture(scope="module")
def E(table) -> np.ndarray:
    """Two numbers that tell the sex, one that does not; float32 far from zero, as networks give them."""
    noise = np.random.default_rng(2).normal(size=(N, 3))
    return (50.0 + noise + 2.0 * np.outer(table["sex"] == "male", [1, 1, 0])).astype(np.float32)


@pytest.fixture(scope="module")
def both(table, E):
    return evenspan.audit(table, target="accepted", clusters="segment", representation=E, **QUICK)


def test_the_numbers_of_clusters_are_those_of_pandas_and_of_cluster_frame(table, both):
    found = both.tables["clusters"].query("attribute == 'sex'")
    pairs = found[found["group"] != ""].set_index(["cluster", "group"])
    by_hand = table.groupby(["segment", "sex"]).size()
    assert {(str(a), b): n for (a, b), n in by_hand.items()} == pairs["rows"].to_dict()
    shares = by_hand / by_hand.groupby("segment").transform("sum")
    np.testing.assert_allclose(pairs["share"], shares)
    assert ((pairs["low"] < pairs["share"]) & (pairs["share"] < pairs["high"])).all()
    frame = ClusterFrame.from_labels(table["segment"], sensitive_features=table["sex"])
    lines = found[found["cluster"] == ""].set_index("clusters")
    assert lines.loc["given", ["balance", "MNCE"]].tolist() == frame.overall[["balance", "MNCE"]].tolist()
    each = found[(found["cluster"] != "") & (found["group"] == "")].set_index("cluster")
    distance = 0.5 * (shares.unstack() - table["sex"].value_counts(normalize=True)).abs().sum(axis=1)
    np.testing.assert_allclose(each["distance"], distance)
    assert each["note"]["3"] == DIFFERS
    assert both.tables["columns"].set_index("column")["used as"]["segment"] == "clusters"
    assert not any("segment" in name for name in both.sample.feature_names)
    assert both.pipeline("Fair PCA").transform(table.drop(columns="segment")).shape == (N, 2)


def test_fair_clusters_cost_what_is_told_on_the_encoded_features(table, both):
    lines = both.tables["clusters"].query("attribute == 'sex' and cluster == ''").set_index("clusters")
    X = both.sample.encoder.transform(table)
    within = sum(((part - part.mean()) ** 2).to_numpy().sum() for _, part in X.groupby(table["segment"].to_numpy()))
    assert lines["sum of squares"]["given, same rows"] == pytest.approx(within)
    whole = ((X - X.mean()) ** 2).to_numpy().sum()
    assert lines["share of squares"]["given, same rows"] == pytest.approx(within / whole)
    assert lines["share of squares"]["k-means"] < lines["share of squares"]["given, same rows"]
    women = (table["sex"] == "female").mean()
    assert lines["balance"]["fair"] > 0.85 * women / (1.0 - women)
    assert lines["balance"]["fair"] > lines["balance"]["k-means"]


def test_clusters_dealt_at_random_are_told_in_one_of_twenty_tables():
    told, rng = [], np.random.default_rng(3)
    for seed in range(100):
        counts = ClusterFrame.from_labels(
            rng.integers(0, 6, 300), sensitive_features=rng.choice(3, 300, p=[0.6, 0.3, 0.1])
        )
        chance = np.array([one.by_cluster["distance"] for one in counts.by_chance(100, seed)])
        told.append((counts.by_cluster["distance"] > simultaneous(chance)).any())
    assert 0.0 < np.mean(told) <= 0.1


def row(audit, metric: str, group: str = "", part: str = "held out", attribute: str = "sex"):
    """One number about the given representation."""
    lines = audit.tables["methods"].query(
        "method == @GIVEN and metric == @metric and group == @group and part == @part"
    )
    return lines[lines["attribute"] == attribute].iloc[0]


def test_the_numbers_of_a_representation_are_those_of_its_rows(table, E, both):
    points = both.sample.given.points["held out"]
    women = (points.groups["sex"] == "female").to_numpy()
    X = both.sample.points["held out"].X
    at = [int(np.abs(both.sample.encoder.transform(table) - one).max(axis=1).argmin()) for one in X]
    F = E[at].astype(float)
    spread = np.sqrt(F.var(axis=0).mean())
    distance = np.linalg.norm(F[women].mean(axis=0) - F[~women].mean(axis=0)) / spread
    found = row(both, "scaled mean distance")
    assert found["value"] == pytest.approx(distance, rel=1e-6)
    assert found["low"] > 0
    assert found["value"] > found["noise_q95"]
    assert found["k"] == 3
    one = row(both, "variance", "female")
    assert one["value"] == pytest.approx(F[women].var(axis=0).mean() / E.astype(float).var(axis=0).mean(), rel=1e-6)
    assert one["low"] < one["value"] < one["high"]
    assert row(both, "group AUC")["low"] > row(both, "group AUC")["noise_q95"]
    assert row(both, "target AUC")["value"] < 0.65
    none = row(both, "average error")
    assert (pd.isna(none["value"]), "no linear map" in none["note"]) == (True, True)
    assert next(one for one in both.sentences if GIVEN in one).count("significant") == 2


def test_a_linear_map_of_the_features_has_errors_and_its_unit_changes_nothing(table):
    plain = table.drop(columns="segment")
    X = evenspan.audit(plain, **QUICK).sample.encoder.transform(plain).to_numpy()
    Z = PCA(4).fit_transform(X) @ np.random.default_rng(0).normal(size=(4, 4))
    ours, other = (evenspan.audit(plain, representation=one, **QUICK) for one in (Z, 1e6 * pd.DataFrame(Z) + 3e6))
    sample = ours.sample
    back = LinearRegression().fit(sample.given.points["training"].X, sample.points["training"].X)
    held, groups = sample.points["held out"], sample.points["held out"].groups["sex"].to_numpy()
    left = ((held.X - back.predict(sample.given.points["held out"].X)) ** 2).sum(axis=1)
    whole = ((held.X - sample.points["training"].X.mean(axis=0)) ** 2).sum(axis=1)
    for one in ("female", "male"):
        assert row(ours, "error", one)["value"] == pytest.approx(left[groups == one].mean())
        r2 = 1.0 - left[groups == one].sum() / whole[groups == one].sum()
        assert row(ours, "explained share", one)["value"] == pytest.approx(r2)
    named = ["k", "method", "part", "group", "metric"]
    a, b = (one.tables["methods"].set_index(named)["value"] for one in (ours, other))
    pd.testing.assert_series_equal(a, b, rtol=2e-3)  # trees see the digits that rounding leaves
    assert "It is a linear map of the features" in ours.to_html()


def test_what_is_said_of_the_features_stays_and_a_representation_without_the_group_is_not_told(table):
    plain, rng = table.drop(columns="segment"), np.random.default_rng(5)
    alone = evenspan.audit(plain, **QUICK)
    told = []
    for _ in range(4):
        noise = rng.normal(size=(N, 6))
        found = evenspan.audit(plain, representation=noise, **QUICK)
        for attribute in ("sex", "race"):
            rows = [row(found, metric, attribute=attribute) for metric in ("scaled mean distance", "group AUC")]
            told += [one["value"] > one["noise_q95"] for one in rows]
    assert sum(told) <= 2
    others = found.tables["methods"].query("method != @GIVEN").reset_index(drop=True)
    pd.testing.assert_frame_equal(others, alone.tables["methods"], rtol=2e-3)  # trees see digits of rounding
    answers = [one.tables["recommendation"][["verdict", "method"]] for one in (found, alone)]
    pd.testing.assert_frame_equal(*answers)


def test_the_report_has_both_sections_and_the_given_one_stands_among_the_methods(both):
    page = BeautifulSoup(both.to_html(), "html.parser")
    assert page.find(id="clusters").text == "The given clusters"
    assert page.find(id="given").text == "The given representation"
    assert {"#clusters", "#given"} <= {a["href"] for a in page("a")}
    tables = {one.caption.text: one for one in page("table")}
    side = next(one for name, one in tables.items() if name.startswith("All methods for sex"))
    assert GIVEN in [one.text for one in side("th", scope="row")]
    assert GIVEN in both.figures["sex-effects"].svg.decode()
    cells = [td.text for td in tables["Clusterings, groups of sex"]("td")]
    assert "600" in cells
    assert len(tables["Clusters and groups of race"]("tr")) == 1 + 3 * 3
    without = BeautifulSoup(evenspan.audit(people(200), **QUICK).to_html(), "html.parser")
    assert [without.find(id=name) for name in ("clusters", "given")] == [None, None]


def test_missing_clusters_follow_the_rule_for_missing_values(table):
    gaps = table.assign(segment=table["segment"].astype(float).mask(np.arange(N) < 30))
    with pytest.raises(DataError, match="missing values in 1 column: 'segment'"):
        evenspan.audit(gaps, clusters="segment", **QUICK)
    filled = evenspan.audit(gaps, clusters="segment", missing="mean", **QUICK).tables["clusters"]
    assert filled.query("cluster == '(missing)' and group == '' and attribute == 'sex'")["rows"].tolist() == [30]
    numbered = np.arange(N)[:, None]
    dropped = evenspan.audit(gaps, clusters="segment", missing="drop", representation=numbered, **QUICK).sample
    assert dropped.n_used == N - 30
    for part, points in dropped.points.items():  # the rows of both are the same
        at = np.rint(dropped.given.points[part].X[:, 0] * numbered.std() + numbered.mean()).astype(int)
        np.testing.assert_allclose(dropped.encoder.transform(gaps.iloc[at]), points.X, atol=1e-9)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"clusters": "customer"}, "column of clusters 'customer' has 600 different numbers; needed are at most 50"),
        ({"clusters": "country"}, "column of clusters 'country' has one group only, 'here'; needed are two"),
        ({"clusters": "sex"}, "named as sensitive and clusters"),
        ({"clusters": "cluster"}, "clusters: table has no column 'cluster'"),
        ({"representation": np.eye(5)}, "the representation has 5 rows; needed is one for each of the 600"),
        ({"representation": np.full((N, 2), np.nan)}, "the representation cannot be used"),
        ({"representation": np.ones(N)}, "1 dimension"),
        ({"representation": np.full((N, 2), 0.1)}, "600 rows, all the same; needed is one for each of the 600"),
        ({"representation": pd.DataFrame({"a": ["x"] * N})}, "not numeric"),
        ({"representation": "none.npy"}, r"none.npy\) cannot be used \(FileNotFoundError"),
        ({"representation": "none.csv"}, "ending '.csv'; needed is .npy or .parquet"),
    ],
)
def test_what_cannot_be_audited_is_refused_in_one_sentence(table, asked, said):
    with pytest.raises((DataError, GroupError, ConfigurationError), match=said):
        evenspan.audit(table, **QUICK, **asked)


def test_the_command_hands_both_on_and_writes_the_example(table, E, tmp_path, monkeypatch):
    table.to_csv(tmp_path / "people.csv", index=False)
    np.save(tmp_path / "E.npy", E)
    monkeypatch.chdir(tmp_path)
    heard = {}
    monkeypatch.setattr(
        notebook, "run", lambda parameters, folder, **more: heard.update(parameters, folder=folder) or 1 / 0
    )
    words = ["audit", "people.csv", "-s", "sex", "--clusters", "segment", "--representation", "E.npy"]
    CliRunner().invoke(command.app, words)
    assert (heard["clusters"], heard["representation"]) == ("segment", "../E.npy")
    assert heard["folder"] == tmp_path / "report"
    CliRunner().invoke(command.app, ["audit", "--example"])
    assert (heard["table"], heard["sensitive"], heard["folder"]) == ("people.csv", ["sex"], tmp_path / "example")
    for wrong in (["audit"], ["audit", "people.csv"], ["audit", "people.csv", "-s", "sex", "--example"]):
        assert "or --example alone" in CliRunner().invoke(command.app, wrong).stderr


@pytest.mark.slow
def test_the_example_is_whole_and_can_be_made_again(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        done = CliRunner().invoke(command.app, ["audit", "--example"])
        assert done.exit_code == 0, done.output
    folder = tmp_path / "example"
    assert {"people.csv", "report.html", "audit.ipynb", "settings.json"} <= {path.name for path in folder.iterdir()}
    assert json.loads((folder / "settings.json").read_text())["table"] == "people.csv"
    people = pd.read_csv(folder / "people.csv")
    found = evenspan.audit_example()
    assert len(people) == found.sample.n_rows == 400
    assert found.sentences == json.loads((folder / "settings.json").read_text())["answers"]
    found.write(folder, overwrite=True)  # as the notebook does: the table stays
    assert (folder / "people.csv").exists()
