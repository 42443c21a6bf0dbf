"""Readers of the group: areas by counting pairs, chance where there is nothing to see, refusals."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from evenspan import metrics
from evenspan.core.errors import ConfigurationError, GroupError


def pairs_in_order(scores, inside) -> float:
    """Share of pairs of one member and one other that the scores put in order; ties count one half."""
    difference = scores[inside][:, None] - scores[~inside][None]
    return float(((difference > 0) + 0.5 * (difference == 0)).mean(axis=None))


@pytest.fixture(scope="module")
def sample():
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


@pytest.mark.parametrize("reader", metrics.READERS)
def test_the_area_counts_pairs_in_order(sample, reader):
    (E, z), (F, new) = map(two, sample)
    model = {"linear": LogisticRegression(tol=1e-8, max_iter=10_000), "kernel": SVC(gamma="scale")}[reader]
    E, F = E - E.mean(axis=0), F - E.mean(axis=0)  # the width of the kernel follows the spread about the mean
    scores = model.fit(E, z == "crimson").decision_function(F)
    expected = pairs_in_order(scores, new == "crimson")
    assert metrics.group_auc(reader, (E, z), (F, new)) == pytest.approx(expected)
    assert 0.55 < expected < 1


@pytest.mark.parametrize("reader", metrics.READERS)
def test_of_several_groups_the_most_visible_counts(sample, reader):
    (E, z), (F, new) = sample
    areas = {g: metrics.group_auc(reader, (E, z == g), (F, new == g)) for g in np.unique(z)}
    assert metrics.group_auc(reader, (E, z), (F, new)) == pytest.approx(max(areas.values()))
    assert max(areas.values()) - min(areas.values()) > 0.03


def test_names_of_groups_do_not_matter(sample):
    (E, z), (F, new) = map(two, sample)
    names = {"crimson": 0, "azure": 1}  # sorts the other way round
    renamed = [np.array([names[g] for g in labels]) for labels in (z, new)]
    for reader in metrics.READERS:
        expected = metrics.group_auc(reader, (E, z), (F, new))
        assert metrics.group_auc(reader, (E, renamed[0]), (F, renamed[1])) == pytest.approx(expected, abs=1e-3)


def test_only_the_kernel_reader_sees_unequal_spreads():
    rng = np.random.default_rng(2)
    z = np.arange(600) % 3 == 0
    E = rng.normal(size=(600, 2)) * np.where(z, 3.0, 0.5)[:, None]
    E[z] -= E[z].mean(axis=0)
    E[~z] -= E[~z].mean(axis=0)
    linear, kernel = (metrics.group_auc(reader, (E, z), (E, z)) for reader in ("linear", "kernel"))
    assert linear < 0.6 < 0.9 < kernel


@pytest.mark.parametrize("reader", metrics.READERS)
def test_what_is_the_same_for_all_tells_nothing(reader):
    z = np.repeat([0, 1], [7, 4])
    assert metrics.group_auc(reader, (np.full((11, 2), 3.0), z), (np.full((11, 2), 3.0), z)) == 0.5


def test_rounding_of_an_erased_representation_is_no_signal():
    """Remains of 1e-13 tell the groups apart perfectly, if only their order is looked at."""
    z = np.repeat([0, 1], [7, 4])
    E = np.outer(z, [1e-13, 2e-13])
    assert metrics.group_auc("linear", (E, z), (E, z)) == 0.5
    assert metrics.group_auc("linear", (E * 1e7, z), (E * 1e7, z)) == 0.5  # scores that differ, by less than a tie
    assert metrics.group_auc("linear", (E * 1e14, z), (E * 1e14, z)) == 1.0


@pytest.mark.parametrize("name", ["azure", "violet"], ids=["lacks the middle one", "lacks the first"])
def test_a_scored_sample_may_lack_one_of_several_groups(sample, name):
    (E, z), later = sample
    F, new = two(later)
    z, new = (np.where(labels == "azure", name, labels) for labels in (z, new))
    areas = [metrics.group_auc("linear", (E, z == g), (F, new == g)) for g in (name, "crimson")]
    assert metrics.group_auc("linear", (E, z), (F, new)) == pytest.approx(max(areas))


def test_what_cannot_be_predicted_is_refused(sample):
    part, later = sample
    with pytest.raises(ConfigurationError, match=r"'tree'.*linear, kernel"):
        metrics.group_auc("tree", part, part)
    with pytest.raises(GroupError, match="all 5 rows are of one group"):
        metrics.group_auc("linear", (np.eye(5), np.zeros(5)), (np.eye(5), np.zeros(5)))
    with pytest.raises(GroupError, match=r"azure, beige, crimson.*the fitting sample azure, crimson"):
        metrics.group_auc("linear", two(part), later)
    only = later[1] == "azure"
    with pytest.raises(GroupError, match="at least two of the fitted ones"):
        metrics.group_auc("linear", part, (later[0][only], later[1][only]))


@pytest.mark.parametrize("reader", metrics.READERS)
def test_an_offset_of_all_points_changes_nothing(sample, reader):
    (E, z), (F, _) = map(two, sample)
    offset = np.array([30.0, -7.0])
    scores = metrics.reader_scores(reader, E, z == "crimson", F)
    model = {"linear": LogisticRegression(tol=1e-8, max_iter=10_000), "kernel": SVC(gamma="scale")}[reader]
    centre = E.mean(axis=0)
    expected = model.fit(E - centre, z == "crimson").decision_function(F - centre)
    np.testing.assert_allclose(scores, expected, atol=1e-9)
    moved = metrics.reader_scores(reader, E + offset, z == "crimson", F + offset)
    np.testing.assert_allclose(moved, scores, atol=1e-6)
    assert np.ptp(scores) > 0.1


def test_equal_means_leave_a_linear_reader_nothing_wherever_they_lie(sample):
    (E, z), _ = map(two, sample)
    E = E - np.array([E[z == g].mean(axis=0) for g in ("azure", "crimson")])[(z == "crimson").astype(int)] + [40.0, 9.0]
    assert metrics.group_auc("linear", (E, z), (E, z)) == 0.5
    assert metrics.group_auc("kernel", (E, z), (E, z)) > 0.6
