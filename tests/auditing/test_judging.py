"""What the judge says of a map is what the rows say; its intervals cover as often as they claim."""

import numpy as np
import pandas as pd
import pytest

from evenspan import LEACE, FairPCA, StandardPCA, metrics
from evenspan.auditing.judge import METRICS, Judgement, Part, largest_distance, own_directions, simultaneous, told_apart
from evenspan.core.moments import GroupMoments
from evenspan.metrics.bootstrap import assign_blocks
from evenspan.metrics.linear_map import LinearMap, linear_map

from .tables import rows, sample

K = 2


def judged(found, estimator, part="fitting", n_boot=200):
    fitting = Part("fitting", found.fitting["team"], "team", n_boot, 0)
    moments = fitting.plain
    estimator.fit_moments(moments)
    bases = own_directions(moments, K)
    on = fitting if part == "fitting" else Part("held out", found.held_out["team"], "team", n_boot, 1)
    own = [on.sums(LinearMap(V, V, moments.mean)).errors[:, g] for g, V in enumerate(bases)]
    return Judgement(on, linear_map(estimator), np.column_stack(own)), moments


@pytest.mark.parametrize("part", ["fitting", "held out"])
@pytest.mark.parametrize("estimator", [StandardPCA(K), FairPCA(K), LEACE(K)], ids=lambda e: type(e).__name__)
def test_every_linear_metric_is_that_of_the_rows(part, estimator):
    X, labels = rows()
    found = sample(X, labels)
    judgement, moments = judged(found, estimator, part)
    points = found.fitting_points if part == "fitting" else found.held_out_points
    names = points.groups["team"].to_numpy()
    T = (points.X - estimator.mean_) @ estimator.components_.T
    residuals = ((points.X - estimator.mean_ - T @ estimator.subspace_.V.T) ** 2).sum(axis=1)
    values = {(row.metric, row.group): row.value for row in judgement.rows()}
    errors, losses, means = [], [], []
    for g, label in enumerate(judgement.part.labels):
        mine = names == label
        V = own_directions(moments, K)[g]
        centred = points.X[mine] - moments.mean
        own = ((centred - centred @ V @ V.T) ** 2).sum(axis=1).mean(axis=0)
        errors.append(residuals[mine].mean(axis=0))
        losses.append(errors[-1] - own)
        means.append(T[mine].mean(axis=0))
        total = (centred**2).sum(axis=1).mean(axis=0)
        assert np.isclose(values["error", label], errors[-1], rtol=1e-10)
        assert np.isclose(values["loss", label], losses[-1], rtol=1e-9, atol=1e-10)
        assert np.isclose(values["share kept", label], 1.0 - errors[-1] / total, rtol=1e-9)
        offset = np.linalg.norm(means[-1] - T.mean(axis=0))
        assert np.isclose(values["mean offset", label], offset, rtol=1e-8, atol=1e-10)
    assert np.isclose(values["average error", ""], residuals.mean(axis=0), rtol=1e-10)
    assert np.isclose(values["error gap", ""], np.ptp(errors), rtol=1e-9)
    assert np.isclose(values["worst loss", ""], np.max(losses), rtol=1e-9)
    assert np.isclose(values["loss gap", ""], np.ptp(losses), rtol=1e-9)
    distance = max(np.linalg.norm(a - b) for a in means for b in means)
    assert np.isclose(values["mean distance", ""], distance, rtol=1e-8, atol=1e-10)
    kept = T.var(axis=0).sum(axis=0) / points.X.var(axis=0).sum(axis=0)
    assert np.isclose(values["explained variance", ""], kept, rtol=1e-9)
    assert {metric for metric, _ in values} <= set(METRICS)


def test_an_oblique_map_is_not_judged_as_the_projection_on_its_range():
    X, labels = rows()
    found = sample(X, labels)
    estimator = LEACE(K)
    judgement, moments = judged(found, estimator)
    straight = metrics.group_errors(moments, estimator.subspace_)
    assert np.abs(judgement.errors - straight).max() > 1e-3 * straight.max()


def test_intervals_of_the_gap_cover_the_truth():
    # Gaussian groups and a fixed direction: the true gap is known. 300 tables of 400 rows in 40 blocks; if 95 % hold,
    # 275 to 295 of them do so with probability 0.99 (binomial: P(<= 274) = 0.004, P(>= 296) = 0.001); blocks make the
    # intervals a little too short, hence the lower end of the band.
    rng, hits, empty = np.random.default_rng(2024), 0, 0
    scales = np.array([[2.0, 1.0, 1.0], [1.0, 1.4, 1.2]])
    V = np.eye(3)[:, :1]
    truth = abs((scales[0, 1:] ** 2).sum() - (scales[1, 1:] ** 2).sum())
    assert truth > 1.0
    for _ in range(300):
        codes = (rng.random(400) < 0.35).astype(int)
        X = rng.normal(size=(400, 3)) * scales[codes]
        for fair in (False, True):  # the control: groups that do not differ
            Y = X / scales[codes] if fair else X
            blocks = pd.DataFrame({"block": assign_blocks(400, 40, rng), "team": np.array(["a", "b"])[codes]})
            part = Part("held out", GroupMoments.from_data(Y, blocks), "team", 400, rng)
            judgement = Judgement(part, LinearMap(V, V, np.zeros(3)), np.zeros((40, 2)))
            gap = next(row for row in judgement.rows() if row.metric == "error gap")
            if fair:
                empty += gap.value <= gap.chance
                assert (gap.low == 0.0) == (gap.value <= gap.chance)
            else:
                hits += gap.low <= truth <= gap.high
    assert 272 <= hits <= 295
    assert 272 <= empty <= 296


def test_percentiles_of_a_gap_would_not_cover_zero():
    # Why gaps have intervals of another kind: groups that do not differ, and percentiles that exclude that.
    rng = np.random.default_rng(0)
    X, labels = rng.normal(size=(3000, 4)), rng.choice(["a", "b", "c", "d"], 3000)
    part = Part("held out", sample(X, labels, held=0.0).fitting["team"], "team", 300, 1)
    judgement = Judgement(part, LinearMap(np.eye(4)[:, :2], np.eye(4)[:, :2], np.zeros(4)), np.zeros((part.m, 4)))
    _, drawn = judgement.statistic("mean distance")
    row = next(row for row in judgement.rows() if row.metric == "mean distance")
    assert np.quantile(drawn, 0.025) > 0.03
    assert row.low == 0.0
    assert row.value <= row.chance


def test_statistics_for_pairs_are_the_numbers_of_the_rows():
    X, labels = rows()
    judgement, _ = judged(sample(X, labels), StandardPCA(K))
    values = {row.metric: row.value for row in judgement.rows() if not row.group}
    for metric in ("average error", "error gap", "loss gap", "worst error", "worst loss", "mean distance"):
        value, drawn = judgement.statistic(metric)
        assert np.isclose(value, values[metric], rtol=1e-12)
        assert abs(drawn.mean(axis=0) - value) < 0.2 * value


def test_pairs_are_told_apart_in_the_same_samples():
    rng = np.random.default_rng(0)
    common = rng.normal(size=500)
    one, other = (5.0, 5.0 + common), (4.9, 4.9 + common + 0.01 * rng.normal(size=500))
    difference, chance = told_apart(one, other)
    assert difference > chance  # the noise is common
    alone = told_apart(one, (4.9, 4.9 + rng.normal(size=500)))
    assert alone[0] < alone[1]


def test_the_largest_distance_is_over_all_pairs():
    means = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 3.0]])
    assert np.isclose(largest_distance(means), np.sqrt(10.0))
    assert largest_distance(np.stack([means, 2.0 * means])).shape == (2,)


def test_a_group_of_a_few_rows_hides_no_gap_between_two_others():
    rng = np.random.default_rng(5)
    labels = np.array(["a"] * 1500 + ["b"] * 1200 + ["few"] * 12)
    X = rng.normal(size=(len(labels), 3)) + 0.25 * (labels == "b")[:, None]
    X[labels == "b", 2] *= 1.6
    part = Part("held out", sample(X, labels, held=0.0).fitting["team"], "team", 400, 1)
    judgement = Judgement(part, LinearMap(np.eye(3)[:, :2], np.eye(3)[:, :2], X.mean(axis=0)), np.zeros((part.m, 3)))
    found = {row.metric: row for row in judgement.rows() if not row.group}
    for metric in ("mean distance", "error gap"):
        assert found[metric].low > 0
        assert found[metric].value > found[metric].chance
    # The noise of the small group alone would have hidden the distance of the others.
    deviations = judgement.drawn_means - judgement.means
    assert np.quantile(largest_distance(deviations), 0.95) > found["mean distance"].value
    assert found["mean distance"].value - found["mean distance"].low < np.quantile(largest_distance(deviations), 0.95)


def test_margins_hold_together_and_follow_the_noise():
    deviations = np.abs(np.random.default_rng(0).normal(size=(4000, 3))) * [1.0, 1.0, 50.0]
    margins = simultaneous(deviations)
    assert np.isclose((deviations <= margins).all(axis=1).mean(axis=0), 0.95, atol=1e-3)
    assert margins[2] > 40 * margins[0]
    assert np.isclose(simultaneous(deviations[:, :1])[0], np.quantile(deviations[:, 0], 0.95))
    assert simultaneous(np.zeros((10, 2))).tolist() == [0.0, 0.0]
