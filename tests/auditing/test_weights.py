"""Weights count wherever rows do: integer weights are rows given again; what cannot be a weight is refused."""

import functools
from unittest import mock

import numpy as np
import pandas as pd
import pytest

import evenspan
from evenspan.auditing.encode import TableEncoder
from evenspan.auditing.fitting import MOST, repeated
from evenspan.auditing.sample import read_sample
from evenspan.core.errors import ConfigurationError, DataError
from evenspan.metrics.linear_map import linear_map

from .tables import audited, people, plain, report_of

#: Methods whose answers are those for repeated rows to rounding: no sample size stands in their problems.
SAME = ["Min-max loss", "JEVD-PCA", "Min-max error", "c-FPCA", "Fair PCA", "LEACE", "INLP", "Streaming null-it-out"]
#: What classifiers with a penalty, or with limits that count rows, find of the group and the target.
PENALISED = ("AUC", "accuracy", "rate")


def table(n: int = 300) -> tuple[pd.DataFrame, np.ndarray]:
    """People with missing cells and weights from 1 to 6, larger of older men; and the part of every row."""
    frame, rng = people(n).drop(columns=["customer", "name", "country", "relation", "race"]), np.random.default_rng(3)
    frame.loc[::17, "income"], frame.loc[::23, "job"] = np.nan, None
    w = rng.integers(1, 5, n) + 2 * ((frame["sex"] == "male") & (frame["age"] > 45)).to_numpy()
    return frame.assign(wt=w), rng.permutation(np.arange(n) % 3).astype(np.int8)


@functools.cache
def pair(target: str):
    """The audit of a table with weights, of its rows given again in the same parts, and of the rows alone."""
    frame, part = table()
    again = frame.loc[frame.index.repeat(frame["wt"])].reset_index(drop=True).drop(columns="wt")
    found, options = [], {"sensitive": "sex", "target": target, "missing": "indicator", "k": 3, "n_boot": 40}
    for one, parts, weights in (
        (frame, part, "wt"), (again, np.repeat(part, frame["wt"]), None), (frame.drop(columns="wt"), part, None),
    ):  # fmt: skip
        with mock.patch("evenspan.auditing.sample.parts_of_rows", lambda *_, parts=parts: parts):
            found.append(evenspan.audit(one, weights=weights, methods=SAME, **options))
    return found


def values(audit, part: str) -> pd.Series:
    found = audit.tables["methods"].query("part == @part").set_index(["method", "group", "metric"])["value"]
    return found[~found.index.get_level_values("metric").str.contains("|".join(PENALISED))]


@pytest.mark.parametrize("target", ["accepted", "age"])
def test_integer_weights_are_rows_given_again(target):
    weighted, again, ignored = pair(target)
    for part in ("training", "held out"):
        mine, rows, control = (values(one, part) for one in (weighted, again, ignored))
        assert mine.index.equals(rows.index)
        assert len(mine) > 80
        np.testing.assert_allclose(mine, rows, rtol=1e-8, atol=1e-10)
        assert (np.abs(control - rows) > 1e-2 * np.abs(rows)).mean() > 0.7
    assert ("target R2" in mine.index.get_level_values("metric")) == (target == "age")
    for name in ("mean_", "scale_"):
        encoders = [getattr(one.sample.encoder, name) for one in (weighted, again, ignored)]
        np.testing.assert_allclose(encoders[0], encoders[1], rtol=1e-10)
        assert not np.allclose(encoders[2], encoders[1], rtol=1e-3)
    fills, same = ({c.name: c.fill for c in one.sample.encoder.codes_} for one in (weighted, again))
    assert fills.pop("income") == pytest.approx(same.pop("income"), rel=1e-12)
    assert fills.items() >= {name: fill for name, fill in same.items() if isinstance(fill, str)}.items()
    bounds = [one.tables["frontier"][["x", "y", "bound"]].to_numpy() for one in (weighted, again)]
    np.testing.assert_allclose(*bounds, rtol=1e-7, atol=1e-9)
    shares = [one.tables["groups"].set_index("group")["share"][["female", "male"]] for one in (weighted, again)]
    np.testing.assert_allclose(*shares, rtol=1e-12)
    for concern in ("means", "errors"):
        effects = [one.recommendation["sex"][concern].figures["effect"] for one in (weighted, again)]
        assert effects[0] == pytest.approx(effects[1], rel=1e-8)


def test_classifiers_are_fitted_and_scored_with_weights():
    """To the share of their penalties in the fit: weights are of mean 1, rows given again thrice as many."""
    found = [one.tables["methods"].query("part == 'held out'") for one in pair("accepted")]
    mine, rows, control = (one.set_index(["method", "group", "metric"])["value"] for one in found)
    mine, rows = mine[mine.index.isin(control.index)], rows[rows.index.isin(control.index)]
    mine, rows, control = (one.reindex(mine.index) for one in (mine, rows, control))
    for metric in ("linear AUC", "target AUC"):
        at = mine.index.get_level_values("metric") == metric
        assert np.abs(mine - rows)[at].max() < 0.01 < 0.03 < np.abs(control - rows)[at].max()
    at = mine.index.get_level_values("metric").isin(["target accuracy", "selection rate", "false positive rate"])
    assert np.abs(mine - rows)[at].median() < 0.005 < 0.01 < np.abs(control - rows)[at].median()


def weighted_plain(n: int = 600):
    w = np.random.default_rng(0).lognormal(0.0, 1.0, n).round(3) + 0.001
    return plain(n).assign(PWGTP=w)


OPTIONS = {"sensitive": "team", "k": 2, "methods": ["Fair PCA", "Min-max error"], "n_boot": 40}


def test_the_unit_of_weights_says_nothing_and_equal_weights_say_nothing():
    frame = weighted_plain()
    one, other = (evenspan.audit(frame.assign(PWGTP=c * frame["PWGTP"]), weights="PWGTP", **OPTIONS) for c in (1, 2e7))
    for key, fitted in one.estimators.items():
        np.testing.assert_allclose(other.estimators[key].components_, fitted.components_, rtol=1e-9, atol=1e-12)
    values = [audit.tables["methods"].query("not metric.str.contains('AUC')")["value"] for audit in (one, other)]
    np.testing.assert_allclose(*values, rtol=1e-9, atol=1e-12)
    plainly = evenspan.audit(frame.drop(columns="PWGTP"), **OPTIONS).tables["methods"]
    equal = evenspan.audit(frame.assign(PWGTP=0.1), weights="PWGTP", **OPTIONS)
    numbers = ["value", "low", "high", "noise_q95"]
    np.testing.assert_allclose(equal.tables["methods"][numbers], plainly[numbers], rtol=1e-9, atol=1e-12)
    assert np.allclose(equal.tables["groups"]["effective size"], equal.tables["groups"]["rows"])


def test_rows_of_weight_zero_are_left_out_and_counted():
    frame = weighted_plain()
    some = frame.iloc[40:].reset_index(drop=True)
    frame.loc[:39, ["PWGTP", "a"]] = 0.0, 1e6
    whole, rest = (read_sample(one, sensitive="team", weights="PWGTP") for one in (frame, some))
    assert (whole.n_rows, whole.n_used, rest.n_rows) == (600, 560, 560)
    np.testing.assert_array_equal(whole.moments().scatters, rest.moments().scatters)
    assert "40 rows of weight 0 were left out." in whole.notes
    assert not any("weight 0" in note for note in rest.notes)
    holes = read_sample(table()[0], sensitive="sex", weights="wt", missing="drop")
    assert holes.groups["dropped"].tolist()[-1] == holes.n_rows - holes.n_used > 25


def test_effective_sizes_and_what_the_column_is_used_as_are_told():
    frame = weighted_plain()
    audit, w = evenspan.audit(frame, weights="PWGTP", **OPTIONS), frame["PWGTP"]
    expected = {name: of.sum() ** 2 / (of**2).sum() for name, of in w.groupby(frame["team"])}
    groups = audit.tables["groups"].set_index("group")
    expected[""] = w.sum() ** 2 / (w**2).sum()
    assert expected[""] < 300  # of 600
    assert groups["effective size"].to_dict() == pytest.approx(expected)
    assert groups["share"].to_dict() == pytest.approx({**(w.groupby(frame["team"]).sum() / w.sum()).to_dict(), "": 1})
    assert groups.loc["", ["attribute", "rows"]].tolist() == ["", 600]
    page = audit.to_html()
    assert page.count(f"worth {expected['']:,.0f} of equal weight") == 2  # at the top, and in what was read
    assert all(word in page for word in ("effective size", "all rows", "strata and clusters"))
    used = audit.tables["columns"].set_index("column")["used as"]
    assert used.to_dict() == {**dict.fromkeys("abcd", "number"), "team": "sensitive", "PWGTP": "weights"}
    assert not any("PWGTP" in one for one in audit.sample.warnings)
    assert audit.pipeline("Fair PCA").transform(frame[list("abcd")]).shape == (600, 2)
    (doubt,) = read_sample(frame, sensitive="team").warnings  # not named: a feature, and that is said
    assert doubt.startswith("'PWGTP' may be weights")
    assert "--weights" in doubt
    assert "effective size" not in audited("plain").tables["groups"]
    assert "effective" not in report_of("plain")


def test_few_rows_are_few_effective_rows():
    frame = weighted_plain()
    blue = np.flatnonzero(frame["team"] == "blue")
    frame["PWGTP"] = 1.0
    frame.loc[blue[::20], "PWGTP"] = 1000.0  # 12 of 240 rows carry the group
    audit = evenspan.audit(frame, weights="PWGTP", **OPTIONS)
    assert audit.tables["groups"].set_index("group")["small"].to_dict() == {"blue": True, "red": False, "": True}
    assert "blue has 4 effective training rows" in audit.analyses["team"].losses
    area = audit.analyses["team"].row("group AUC")
    assert area is None  # fewer than ten effective rows of blue are read
    assert evenspan.audit(frame.drop(columns="PWGTP"), **OPTIONS).analyses["team"].row("group AUC") is not None


def test_fits_and_transformers_take_the_same_weights(tmp_path):
    frame, part = table()
    with mock.patch("evenspan.auditing.sample.parts_of_rows", return_value=part):
        audit = evenspan.audit(
            frame, sensitive="sex", weights="wt", missing="mean", k=2, methods=["Fair PCA", "LEACE"], n_boot=40
        )
    audit.write(tmp_path / "report")
    fitted = frame[part == 0]
    for weight, same in ((fitted["wt"], True), (None, False)):
        encoder = TableEncoder(missing="mean", exclude=["sex", "wt"]).fit(fitted, sample_weight=weight)
        for name, make in (("fair-pca", evenspan.FairPCA), ("leace", evenspan.LEACE)):
            model = make(2).fit(encoder.transform(fitted), sensitive_features=fitted["sex"], sample_weight=weight)
            written = evenspan.load(tmp_path / "report" / "transformers" / f"sex-{name}.npz")
            T, mine = written.transform(frame), model.transform(encoder.transform(frame))
            assert np.allclose(np.abs(T), np.abs(mine), atol=1e-8) == same
    map_of = linear_map(audit.estimators["sex", "Fair PCA", 2])
    assert np.abs(map_of.mean).max() < 1e-10  # weighted means of the training set are zero in units of the encoder


def test_points_are_repeated_as_often_as_their_weights_say():
    w = np.array([1, 3, 2, 1, 5])
    for scale in (1.0, 0.1, 1 / 3, 1e6):
        assert np.bincount(repeated(scale * w)).tolist() == w.tolist()
    assert repeated(np.ones(7)).tolist() == list(range(7))
    w = np.random.default_rng(0).lognormal(0.0, 2.0, 500)
    times = np.bincount(repeated(w), minlength=500)
    assert times.sum() == MOST
    assert np.abs(times - MOST * w / w.sum()).max() <= 1
    many = np.random.default_rng(0).lognormal(0.0, 1.0, MOST + 5)
    assert len(repeated(many)) == MOST + 5


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        ([1.0, -1.0, 2.0], r"200 of 600 rows have none that counts \(row 2 has '-1', row 5 has '-1', .*, \.\.\.\)"),
        ([1.0, np.nan, np.inf], "400 of 600 .*row 2 has nothing, row 3 has 'inf'"),
        ([1.0, 1e31, 1.0], r"row 2 has '1e\+31'"),
        (["2", "many", "1"], "row 2 has 'many'"),
        (["2020-01-01", "2020-01-02", "2020-01-03"], "600 of 600"),
        (pd.to_datetime(["2020-01-01", "2020-01-02", "2020-01-03"]), "600 of 600"),
        ([True, False, None], "600 of 600"),
        ([0, 0, 0], r"all rows have weight zero \(row 1 has '0', row 2 has '0'"),
    ],
)
def test_what_cannot_be_a_weight_is_refused_with_its_rows(weights, said):
    frame = plain(600).assign(w=pd.Series(weights)[np.arange(600) % 3].to_numpy())
    with pytest.raises(DataError, match=f"weights 'w': .*{said}"):
        evenspan.audit(frame, weights="w", **OPTIONS)


def test_a_column_has_one_role_and_numbers_in_texts_are_weights():
    frame = weighted_plain()
    texts = read_sample(frame.assign(PWGTP=frame["PWGTP"].astype(str)), sensitive="team", weights="PWGTP")
    moments = read_sample(frame, sensitive="team", weights="PWGTP").moments()
    np.testing.assert_array_equal(texts.moments().scatters, moments.scatters)
    for options in ({"target": "PWGTP"}, {"exclude": ["PWGTP"]}, {"sensitive": ["team", "PWGTP"]}):
        with pytest.raises(ConfigurationError, match=r"'PWGTP' is named as .* and|and weights. Name it once"):
            evenspan.audit(frame, weights="PWGTP", **OPTIONS | options)
    with pytest.raises(DataError, match=r"weights: table has no column 'PWGT'\. Did you mean 'PWGTP'"):
        evenspan.audit(frame, weights="PWGT", **OPTIONS)


def test_associations_of_weighted_rows_are_those_of_rows_given_again():
    """To within the correction for chance, which counts effective rows; the control: without weights."""
    frame = people(300)[["sex", "job", "married", "relation"]]
    w = np.where((frame["sex"] == "male") & (frame["job"] == frame["job"].iloc[0]), 6, 1)
    again = frame.loc[frame.index.repeat(w)].reset_index(drop=True)
    found = []
    for table, weights in ((frame.assign(wt=w), "wt"), (again, None), (frame, None)):
        columns = read_sample(table, sensitive="sex", weights=weights).columns.set_index("column")
        found.append(columns.loc[["job", "married"], "association with sex"])
    np.testing.assert_allclose(found[0], found[1], atol=0.04)
    assert abs(found[2] - found[1])["job"] > 0.1
