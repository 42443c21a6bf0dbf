"""Readers of the group: areas by counting pairs, and chance where there is nothing to see."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from evenspan import metrics
from evenspan.core.errors import ConfigurationError, GroupError


@pytest.fixture(scope="module")
def parts():
    """Groups of unequal size, mean and scale, and a second sample in which they are mixed otherwise."""
    rng = np.random.default_rng(5)

    def draw(counts):
        z = rng.permutation(np.repeat(["crimson", "azure", "beige"], counts))
        centre = {"crimson": [1.0, 0.0], "azure": [0.0, -0.6], "beige": [-0.5, 0.4]}
        spread = {"crimson": 1.0, "azure": 0.4, "beige": 2.0}
        return np.array([np.array(centre[g]) + spread[g] * rng.normal(size=2) for g in z]), z

    return draw([100, 60, 40]), draw([30, 70, 50])


def two(part):
    keep = part[1] != "beige"
    return part[0][keep], part[1][keep]


@pytest.mark.parametrize("reader", metrics.PROBES)
def test_the_area_counts_pairs_in_order_wherever_the_points_lie(parts, reader):
    (E, z), (F, new) = map(two, parts)
    model = {"linear": LogisticRegression(C=10.0, tol=1e-8, max_iter=10_000), "kernel": SVC(gamma="scale")}[reader]
    centre, offset = E.mean(axis=0), np.array([30.0, -7.0])  # the width of the kernel follows the spread about the mean
    size = np.sqrt(E.var(axis=0).mean())
    scores = model.fit((E - centre) / size, z == "crimson").decision_function((F - centre) / size)
    for moved in (0.0, offset):
        found = metrics.probe_scores(reader, E + moved, z == "crimson", F + moved)
        np.testing.assert_allclose(found, scores, atol=1e-6)
    difference = scores[new == "crimson"][:, None] - scores[new != "crimson"][None]
    expected = ((difference > 0) + 0.5 * (difference == 0)).mean(axis=None)
    assert metrics.group_auc(reader, (E, z), (F, new)) == pytest.approx(expected)
    assert 0.55 < expected < 1
    renamed = [np.array([{"crimson": 0, "azure": 1}[g] for g in labels]) for labels in (z, new)]  # sort the other way
    assert metrics.group_auc(reader, (E, renamed[0]), (F, renamed[1])) == pytest.approx(expected, abs=1e-3)


def test_the_standard_error_of_an_area_is_its_deviation_over_samples():
    """Rounded scores of unequal spread: there are ties, and the rank-sum formula of no difference is wrong."""
    rng, member = np.random.default_rng(6), np.repeat([True, False], [60, 25])
    drawn = [np.round(np.where(member, rng.normal(1.0, 2.0, 85), rng.normal(0.0, 0.5, 85)), 1) for _ in range(600)]
    found = np.array([metrics.auc(member, scores) for scores in drawn])
    errors = np.array([metrics.auc_standard_error(member, scores) for scores in drawn])
    assert errors.mean() == pytest.approx(found.std(), rel=0.06)
    assert np.sqrt(86 / (12 * 60 * 25)) > 1.15 * found.std()  # the control
    assert 0.92 < (np.abs(found - found.mean()) < 1.96 * errors).mean() < 0.98
    right = metrics.placements(member, drawn[0])
    assert (right[member].mean(), right[~member].mean()) == pytest.approx((found[0], found[0]))
    assert metrics.auc(member, 1e-9 * drawn[0]) == metrics.auc(member, drawn[0])  # scores have no unit
    assert metrics.auc(member, metrics.settled(1e-9 * drawn[0])) == 0.5  # but log-odds do: these are rounding
    with pytest.raises(GroupError, match="1 members and 84 others"):
        metrics.auc_standard_error(np.arange(85) == 3, drawn[0])


@pytest.mark.parametrize("unit", [1e-9, 1e-6, 1e6, 1e9])
def test_a_change_of_unit_hides_nobody(parts, unit):
    """Attackers and probes find what they find in any unit."""
    (E, z), (F, new) = parts
    assert metrics.attack((unit * E, z), (unit * F, new)) == pytest.approx(metrics.attack((E, z), (F, new)), abs=0.02)
    for reader in metrics.PROBES:
        areas = [metrics.group_auc(reader, (one * E, z), (one * F, new)) for one in (unit, 1.0)]
        assert areas[0] == pytest.approx(areas[1], abs=1e-6)
        assert min(areas) > 0.6


def test_an_attacker_finds_a_group_that_rounding_left_in_a_column():
    """A column of zeros that rounding made: trees read it. The control: the same column rounded away."""
    rng, z = np.random.default_rng(0), np.repeat(["a", "b"], 400)
    E = rng.normal(size=(800, 2))
    E[:, 1] = 1e-16 * (z == "a") + 1e-17 * rng.normal(size=800)
    for left, least, most in ((E, 0.95, 1.0), (E.round(12), 0.0, 0.62)):
        found = max(metrics.attack((left[::2], z[::2]), (left[1::2], z[1::2])).values())
        assert least <= found <= most


def test_weights_of_an_area_are_rows_given_again_and_its_error_is_that_of_the_effective_size():
    rng = np.random.default_rng(4)
    member = rng.random(80) < 0.4
    scores = np.round(rng.normal(size=80) + member, 1)  # with ties
    w = rng.integers(1, 4, 80) + 3 * ((scores > 0.5) & member)
    again = [np.repeat(one, w) for one in (member, scores)]
    assert metrics.auc(member, scores, w) == pytest.approx(metrics.auc(*again), rel=1e-12)
    np.testing.assert_allclose(np.repeat(metrics.placements(member, scores, w), w), metrics.placements(*again))
    assert abs(metrics.auc(member, scores) - metrics.auc(*again)) > 0.01  # the control
    for unit in (1.0, 1e-6):  # equal weights are none, and weights have no unit
        equal = metrics.auc_standard_error(member, scores, np.full(80, unit))
        assert equal == pytest.approx(metrics.auc_standard_error(member, scores), rel=1e-12)
        mine = metrics.auc_standard_error(member, scores, unit * w)
        assert mine == pytest.approx(metrics.auc_standard_error(member, scores, w), rel=1e-12)
    drawn = []
    for _ in range(600):
        of, w = np.repeat([True, False], [80, 120]), rng.lognormal(0.0, 1.0, 200)
        scores = rng.normal(size=200) + 0.5 * of
        drawn.append([metrics.auc(of, scores, w), metrics.auc_standard_error(of, scores, w),
                      metrics.auc_standard_error(of, scores)])  # fmt: skip
    areas, errors, ignoring = np.array(drawn).T
    assert errors.mean() == pytest.approx(areas.std(), rel=0.07)
    assert 0.92 < (np.abs(areas - areas.mean()) < 1.96 * errors).mean() < 0.98
    assert ignoring.mean() < 0.7 * areas.std()  # the control
    with pytest.raises(GroupError, match="at least two of each"):
        metrics.auc_standard_error(np.arange(4) < 2, np.arange(4.0), np.array([1.0, 1e-20, 1.0, 1.0]))


def test_attackers_are_fitted_with_weights():
    """A sample in which half of one group is drawn a tenth as often: with weights it says what the whole does."""
    rng = np.random.default_rng(8)
    z, part = rng.integers(0, 2, 12_000), rng.integers(0, 2, 12_000)
    E = rng.normal(size=(12_000, 2)) * [1.0, 0.3]
    E[:, 0] += 2.0 * (z == 1) * np.where(part == 1, 1.0, -1.0)
    kept = (rng.random(12_000) < np.where(part == 1, 0.1, 1.0)) & (np.arange(12_000) < 10_000)
    w = np.where(part == 1, 10.0, 1.0)[kept]
    whole = metrics.Panel(E[:10_000], z[:10_000]).scores(E[10_000:])
    weighted = metrics.Panel(E[kept], z[kept], weight=w).scores(E[10_000:])
    unit = metrics.Panel(E[kept], z[kept], weight=1e6 * w).scores(E[10_000:])
    ignoring = metrics.Panel(E[kept], z[kept]).scores(E[10_000:])
    for name in metrics.ATTACKERS:
        far = [np.abs(np.tanh(one[name]) - np.tanh(whole[name])).mean() for one in (weighted, ignoring)]
        assert far[0] < 0.6 * far[1], name
        np.testing.assert_allclose(unit[name], weighted[name], rtol=1e-6, atol=1e-6)
    equal = metrics.Panel(E[:500], z[:500], weight=np.full(500, 3.0)).scores(E[10_000:])
    for name, scores in metrics.Panel(E[:500], z[:500]).scores(E[10_000:]).items():
        np.testing.assert_array_equal(equal[name], scores)


def test_what_rounding_leaves_of_an_attacker_ranks_nobody():
    rng = np.random.default_rng(5)
    rows, order = rng.normal(size=(300, 4)), rng.permutation(900)
    E, z = np.vstack([rows, rows, rows])[order], np.repeat([0, 1, 1], 300)[order]  # both groups have the same rows
    scores = metrics.Panel(E, z).scores(rng.normal(size=(400, 4)))
    assert np.ptp(scores["kernel"][:, 1]) == 0  # differs in the last digits before they are settled
    assert np.ptp(scores["neighbours"][:, 1]) > 0


def test_what_cannot_be_predicted_or_compared_is_refused(parts):
    part, later = parts
    alone = later[0][later[1] == "azure"], later[1][later[1] == "azure"]
    for error, match, call in [
        (ConfigurationError, "'tree'.*linear, kernel", lambda: metrics.group_auc("tree", part, part)),
        (GroupError, "azure, beige, crimson.*azure, crimson", lambda: metrics.group_auc("linear", two(part), later)),
        (GroupError, "at least two of the fitted", lambda: metrics.group_auc("linear", part, alone)),
        (GroupError, "scored sample has 1 groups, the fitted one 3", lambda: metrics.attack(part, alone)),
    ]:
        with pytest.raises(error, match=match):
            call()
