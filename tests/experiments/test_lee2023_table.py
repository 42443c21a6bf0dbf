"""Tables and images of fair streaming PCA: the released selection, what FNPM is compared with, readings, memory."""

import numpy as np
import pandas as pd
import pytest
from scipy.linalg import subspace_angles
from tests.core.samples import draw

from compendium.errors import FetchError
from compendium.papers.lee2023 import images, own_tables, table
from compendium.papers.lee2023 import table_readings as summary
from compendium.records import whole
from evenspan import GroupMoments, NullItOutPCA, StreamingFairPCA, metrics
from evenspan.core.streams import ArrayStream


@pytest.fixture(scope="module")
def two_groups():
    sample = draw((200, 120), ("a", "b"), seed=5)
    return GroupMoments.from_data(sample.X - sample.X.mean(axis=0), sample.groups)


def test_own_splits_are_z_scored_with_the_training_part(monkeypatch):
    X = np.column_stack([np.random.default_rng(0).normal(3.0, 2.0, (50, 2)), np.ones(50)])
    monkeypatch.setattr(own_tables, "_german", lambda: (X, np.arange(50), np.arange(50) % 2, ("a", "b", "constant")))
    own_tables.own_table.cache_clear()
    train, test = own_tables.load_own_split("german", 3)
    assert (train.n, test.n, train.name, train.split) == (35, 15, "german-lee2023", 3)
    assert sorted([*train.y, *test.y]) == list(range(50))
    assert train.y.tolist() != own_tables.load_own_split("german", 4)[0].y.tolist()
    own_tables.own_table.cache_clear()
    mean, scale = X[train.y, :2].mean(axis=0), X[train.y, :2].std(axis=0)
    for part in (train, test):
        np.testing.assert_allclose(part.X[:, :2], (X[part.y, :2] - mean) / scale)
        assert not part.X[:, 2].any()


def test_compas_is_filtered_and_encoded_without_leaving_out_a_level(tmp_path, monkeypatch):
    """Of five people two stay: whose screening was within 30 days, and who has a case, a charge and a score."""
    first = ("Male", 30, "25 - 45", "Caucasian", 0, 0, 0, 2, "F", "Battery", 1, 0, 1, "Low")
    other = ("Female", 50, "Greater than 45", "Other", 0, 1, 0, 0, "M", "Theft", 0)
    people = [first, (*other, -30, 0, "High"), (*other, 31, 1, "Low"), (*other, 0, -1, "Low"), (*other, 0, 1, "N/A")]
    columns = [*own_tables.COMPAS_FEATURES, "two_year_recid", "days_b_screening_arrest", "is_recid", "score_text"]
    path = tmp_path / "compas_two_years" / own_tables.COMPAS_FILE
    path.parent.mkdir()
    pd.DataFrame(people, columns=columns).to_csv(path, index=False)
    monkeypatch.setenv("EVENSPAN_DATA", str(tmp_path))
    with pytest.raises(FetchError, match=own_tables.COMPAS_SHA256):
        own_tables.own_table.__wrapped__("compas")
    monkeypatch.setattr(own_tables, "sha256", lambda path: own_tables.COMPAS_SHA256)
    X, y, groups, names = own_tables.own_table.__wrapped__("compas")
    assert y.tolist() == groups.tolist() == X[:, names.index("race")].tolist() == [1, 0]
    for level in ("sex_Male", "age_cat_25 - 45", "c_charge_degree_F", "c_charge_desc_Battery"):
        assert X[:, names.index(level)].tolist() == [1.0, 0.0]
    assert X.shape == (2, 6 + 4 * 2)  # six numbers, of four words both levels


def fnpm(k, m):
    return StreamingFairPCA(k, m, constraint="all" if m else "mean", center="none", n_blocks=(100, 100), random_state=0)


def second_moment(k, m):
    return NullItOutPCA(k, m, gap="second_moment", center="none")


def test_released_selection_is_the_exact_answer_only_while_variance_is_left(two_groups):
    """With full rank the same subspace; where the removed directions exhaust the variance it comes back inside them."""
    for m in (0, 1, 2):
        exact = NullItOutPCA(2, m).fit_moments(two_groups)
        released = table.ReleasedOffline(2, m).fit_moments(two_groups)
        assert subspace_angles(released.components_.T, exact.components_.T).max() < 1e-7
        assert np.linalg.norm(released.nullified_ @ released.components_.T, ord=2) < 1e-7
    flat = np.random.default_rng(1).normal(size=(8, 3)) * [3.0, 2.0, 1.0]  # rank 3 of 8 features
    sample = draw((200, 120), ("a", "b"), d=3, seed=5)
    X = (sample.X - sample.X.mean(axis=0)) @ flat.T
    moments = GroupMoments.from_data(X, sample.groups)
    worst = table.ReleasedOffline(2, 2).fit_moments(moments)
    assert np.linalg.norm(worst.nullified_ @ worst.components_.T, ord=2) > 0.01
    exact = table.fit(NullItOutPCA(2, 2), moments)
    assert np.linalg.norm(exact.nullified_ @ exact.components_.T, ord=2) < 1e-12
    assert metrics.retained_variance(moments, exact.components_.T) < 1e-12


def test_the_control_removes_other_directions_at_the_same_number(two_groups):
    control, exact = (table.fit(one, two_groups) for one in (table.RandomRemoval(2, 2, 0), NullItOutPCA(2, 2)))
    for fitted in (control, exact):
        assert fitted.nullified_.shape == (3, 6)
        assert metrics.mean_gap(two_groups, fitted.components_.T) < 1e-10
        assert np.linalg.norm(fitted.nullified_ @ fitted.components_.T, ord=2) < 1e-12
    gaps = [metrics.covariance_gap(two_groups, fitted.components_.T) for fitted in (control, exact)]
    assert gaps[0] > 1.5 * gaps[1]


def test_fnpm_rows_hold_the_ratios_that_decide_convergence(two_groups):
    methods = fnpm(2, 2), NullItOutPCA(2, 2), second_moment(2, 2)
    fitted, offline, second = (table.fit(one, two_groups) for one in methods)
    value = {metric: value for _, metric, value, _ in table.fnpm_rows(fitted, two_groups, 2, offline, second)}
    groups = zip(two_groups.scatters, two_groups.counts, two_groups.means, strict=True)
    first, second_group = (scatter / n + np.outer(mean, mean) for scatter, n, mean in groups)
    sizes = np.sort(np.abs(np.linalg.eigvalsh(second_group - first)))[::-1]
    assert value["ratio of phase 1"] == pytest.approx(sizes[2] / sizes[1])
    assert value["sine of W to P_m"] < 10 * value["ratio of phase 1"] ** 100 + 1e-7
    assert value["sine to offline, second moment"] < 1e-6 < value["sine between offline answers"]
    assert value["sine to offline"] == pytest.approx(value["sine between offline answers"], rel=1e-6)
    mean = table.fnpm_rows(table.fit(fnpm(2, 0), two_groups), two_groups, 0, offline, second)
    assert "ratio of phase 1" not in {metric for _, metric, _, _ in mean}


def test_sines_are_left_out_where_fewer_directions_carry_variance_than_components_are_wanted():
    """Of three directions with variance two are removed: one is left."""
    flat = np.random.default_rng(1).normal(size=(8, 3)) * [3.0, 2.0, 1.0]
    sample = draw((200, 120), ("a", "b"), d=3, seed=5)
    moments = GroupMoments.from_data((sample.X - sample.X.mean(axis=0)) @ flat.T, sample.groups)
    for k, reason in ((1, ""), (2, "not determined: fewer than 2 of the directions left carry variance")):
        fitted, offline, second = (
            table.fit(one, moments) for one in (fnpm(k, 1), NullItOutPCA(k, 1), second_moment(k, 1))
        )
        rows = table.fnpm_rows(fitted, moments, 1, offline, second)
        sines = [(value, why) for _, metric, value, why in rows if "offline" in metric]
        assert [why for _, why in sines] == 3 * [reason]
        assert [bool(np.isnan(value)) for value, _ in sines] == 3 * [bool(reason)]


def test_the_control_is_compared_where_as_much_variance_is_left():
    """Offline keeps 29 % with area 1 and 28 % with area 0.8: 0.9 where the control keeps 28.5 %."""
    offline = {table.label("offline", 2): (29.0, 1.0), table.label("offline", 5): (28.0, 0.8)}
    places, control = ("in sample", "released"), table.label("random", 5)
    for area in (0.95, 0.70):  # the control can have the smaller area, too
        lines = (offline | {control: (28.5, area)}).items()
        rows = [("german", name, 0, where, "%Var", kept) for name, (kept, _) in lines for where in places]
        rows += [("german", name, 0, "held-out", summary.KERNEL, value) for name, (_, value) in lines]
        results = pd.DataFrame(rows, columns=["dataset", "method", "split", "protocol", "metric", "value"])
        (line,) = summary.against_random(results, "german").to_numpy()
        assert line.tolist() == pytest.approx([5, 28.5, area, 0.9])
    assert summary.against_random(results[results["method"] != control], "german").empty


def test_the_evaluation_agrees_with_the_arrays():
    rng = np.random.default_rng(0)
    X, groups = rng.normal(size=(300, 12)) * np.arange(1, 13), (np.arange(300) % 3 == 0).astype(int)
    X[groups == 1] += 2.0
    model = StreamingFairPCA(3, 2, n_blocks=3).fit(X, sensitive_features=groups)
    T, truth, total = images.embedded(model, ArrayStream(X, groups, batch_size=70))
    np.testing.assert_allclose(T, model.transform(X), atol=1e-10)
    np.testing.assert_array_equal(truth, groups)
    gap = X[groups == 1].mean(axis=0) - X[groups == 0].mean(axis=0)
    spreads = {g: X[groups == g].var(axis=0).sum(axis=0) for g in (0, 1)} | {"all": X.var(axis=0).sum(axis=0)}
    assert total == pytest.approx(spreads | {"gap": np.linalg.norm(gap)})
    found = images.evaluate(model, ArrayStream(X, groups), ArrayStream(X, groups))
    assert found["explained variance ratio"] == pytest.approx(T.var(axis=0).sum(axis=0) / spreads["all"])
    assert found["mean gap"] < 1e-8 < found["mean gap of the images"]
    for direction, kept in ((model.components_[0], 1.0), (model.nullified_[0], 0.0)):
        change = images.kept_change(model, ArrayStream(X, groups), ArrayStream(X + direction, groups))
        assert change == pytest.approx(kept, abs=1e-12)


def test_memory_is_carried_on_as_it_was_made():
    """Peaks as if every method took exactly the given bytes."""
    bytes_of = {
        "Fair PCA": lambda n, d: 80 * d * d + 100 * d,
        "INLP": lambda n, d: 8 * n * d + 50 * n,
        "Fair Kernel PCA": lambda n, d: 24 * n * n + 8 * n * d,
        images.STREAMED: lambda n, d: 900 * d,
    }
    rows = [
        (name, images.K, 2, f"bytes, n = {n}, d = {d}", of(n, d), images.MEMORY, "peak allocation")
        for name, of in bytes_of.items()
        for n, d in (*images.POINTS, *images.WIDE)
    ]
    columns = ["method", "k", "blocks", "metric", "value", "dataset", "protocol"]
    found = images.carried_on(whole(pd.DataFrame(rows, columns=columns))).set_index("method")
    assert (found["error"] < 1e-6).all()
    assert found.loc["Fair PCA", "d^2"] == pytest.approx(80, rel=1e-6)
    most = found["most features"]
    assert most["Fair PCA"] == pytest.approx(np.sqrt(images.LIMIT / 80), rel=1e-3)
    assert most["INLP"] == pytest.approx(images.LIMIT / 8 / 162_770, rel=0.01)
    assert most["Fair Kernel PCA"] == 0.0, "635 GB for all pairs"
    assert most[images.STREAMED] == pytest.approx(images.LIMIT / 900, rel=1e-3)
    assert found.loc[images.STREAMED, "bytes at full size"] == pytest.approx(900 * 116_412, rel=1e-3)
