"""What readers find is what they would find elsewhere, and intervals of areas are those of resampled rows."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from evenspan import FairPCA, StandardPCA, metrics
from evenspan.auditing.readers import LEAST, Readers
from evenspan.metrics.linear_map import encoder, linear_map

from .tables import rows, sample

K = 2


def readers(found, n_boot=200, part="held out"):
    scoring = found.held_out_points if part == "held out" else found.fitting_points
    return Readers(found.fitting_points, scoring, "team", part, n_boot, 0)


def answer(found, estimator):
    return linear_map(estimator.fit_moments(found.moments("team")))


def by_name(found, group=""):
    return {row.metric: row for row in found if row.group == group}


@pytest.mark.parametrize("sizes", [(900, 500), (900, 500, 300)], ids=["two groups", "three groups"])
def test_areas_are_those_of_the_judge(sizes):
    found = sample(*rows(sizes))
    seen, on = answer(found, StandardPCA(K)), found.held_out_points
    here = by_name(readers(found).rows(seen))
    fitting = found.fitting_points.X @ encoder(seen), found.fitting_points.groups["team"].to_numpy()
    scoring = on.X @ encoder(seen), on.groups["team"].to_numpy()
    area = metrics.group_auc("linear", fitting, scoring)
    assert np.isclose(here["linear AUC"].value, area, atol=2e-3)  # the same rows in another order
    assert here["linear AUC"].low < area < here["linear AUC"].high
    assert area > here["linear AUC"].chance + 0.02


def test_equal_means_leave_nothing_for_a_linear_reader_and_something_for_a_kernel():
    found = sample(*rows((900, 500)))
    before, after = (by_name(readers(found).rows(answer(found, e))) for e in (StandardPCA(K), FairPCA(K)))
    assert before["linear AUC"].value > before["linear AUC"].chance
    assert abs(after["linear AUC"].value - 0.5) < 0.05
    assert after["kernel AUC"].value > after["kernel AUC"].chance + 0.05


def test_areas_to_first_order_are_those_of_resampled_rows():
    rng = np.random.default_rng(0)
    member = rng.random(600) < 0.3
    scores = np.round(rng.normal(size=600) + 0.8 * member, 1)  # with ties
    found = sample(*rows((600, 400)))
    here = readers(found, n_boot=1500)
    value, drawn = here._area(member, scores)
    assert np.isclose(value, metrics.auc(member, scores), rtol=1e-12)
    weights = here._weights(600)[:400].astype(int)
    again = [metrics.auc(np.repeat(member, w), np.repeat(scores, w)) for w in weights]
    np.testing.assert_allclose(drawn[:400], again, atol=1e-2)
    assert np.isclose(np.std(drawn), np.std(again), rtol=0.15)


def test_scores_that_tell_nothing_are_one_half():
    found = sample(*rows((600, 400)))
    value, drawn = readers(found)._area(np.arange(50) < 20, np.zeros(50))
    assert value == 0.5
    assert (drawn == 0.5).all()


def test_every_group_against_the_rest_and_the_largest_of_them():
    found = list(readers(sample(*rows())).rows(answer(sample(*rows()), StandardPCA(K))))
    linear = [row for row in found if row.metric == "linear AUC"]
    assert [row.group for row in linear] == ["g0", "g1", "g2", ""]
    assert linear[-1].value == max(row.value for row in linear[:-1])
    assert linear[0].chance > 0.5


def test_a_group_of_a_few_rows_is_not_read_and_that_is_said():
    X, labels = rows((900, 500, LEAST))
    found = sample(X, labels)
    linear = [row for row in readers(found).rows(answer(found, StandardPCA(K))) if row.metric == "linear AUC"]
    assert [row.group for row in linear] == ["g0", "g1", ""]
    assert "g2" in linear[-1].note


def test_the_target_as_a_class_as_a_number_and_as_nothing():
    X, labels = rows((900, 500))
    noise = np.random.default_rng(0).normal(size=len(X))
    named, number = np.where(X[:, 0] + noise > 0, "yes", "no"), X[:, 0] + noise
    for y, metric in ((named, "target AUC"), (named, "target accuracy"), (number, "target R2")):
        found = sample(X, labels, y=y)
        row = by_name(readers(found).rows(answer(found, StandardPCA(4))))[metric]
        assert row.low < row.value < row.high
        assert row.value > 0.55
        other = sample(X, labels, y=np.random.default_rng(1).permutation(y))
        assert by_name(readers(other).rows(answer(other, StandardPCA(4))))[metric].value < row.value - 0.2
    seen = answer(found, StandardPCA(4))
    E, F = found.fitting_points.X @ encoder(seen), found.held_out_points.X @ encoder(seen)
    share = LinearRegression().fit(E, found.fitting_points.y).score(F, found.held_out_points.y)
    assert np.isclose(by_name(readers(found).rows(seen))["target R2"].value, share, rtol=1e-9)
    assert not {"target AUC", "target R2"} & set(by_name(readers(sample(X, labels)).rows(seen)))
