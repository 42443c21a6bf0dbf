"""Iterated kernel erasure: equal means on the training sample, one round known, and rings that a kernel cannot tell."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from evenspan import LEACE, FairKernelPCA, IteratedKernelErasure, metrics
from evenspan.core.errors import ConfigurationError, SingleGroupWarning

from .samples import draw, group_gap, size

S = draw()
X, GROUPS = S.X, S.groups  # 380 rows, 6 features, 3 groups
STANDARDISED = (X - X.mean(axis=0)) / X.std(axis=0)


def rings(seed, n=600):
    rng = np.random.default_rng(seed)
    outer, turn = rng.integers(2, size=n), rng.uniform(0, 2 * np.pi, n)
    radius = 1 + outer + 0.15 * rng.normal(size=n)
    return radius[:, None] * np.column_stack([np.cos(turn), np.sin(turn)]), outer


@pytest.mark.parametrize("n_rounds", [1, 3])
@pytest.mark.parametrize("n_landmarks", [None, 80])
def test_after_every_round_the_means_are_equal_and_a_linear_classifier_finds_nothing(n_rounds, n_landmarks):
    model = IteratedKernelErasure(4, n_rounds=n_rounds, n_landmarks=n_landmarks)
    T = model.fit(X, sensitive_features=GROUPS).transform(X)
    assert group_gap(T, GROUPS) < 1e-8 * size(T)
    assert all(one.is_optimal(1e-6) for one in model.certificates_)
    with pytest.warns(SingleGroupWarning):  # as many rounds without erasure
        control = clone(model).set_params(on_single_group="warn").fit_transform(X, sensitive_features=["all"] * 380)
    assert group_gap(control, GROUPS) > 0.1 * size(control)
    most = np.mean(GROUPS == "crimson")
    assert LogisticRegression().fit(T, GROUPS).score(T, GROUPS) == most
    assert LogisticRegression().fit(control, GROUPS).score(control, GROUPS) > most + 0.1


def test_one_round_is_fair_kernel_pca_of_standardised_features_and_two_are_of_its_output():
    one, two = (IteratedKernelErasure(3, n_rounds=R).fit_transform(X, sensitive_features=GROUPS) for R in (1, 2))
    T = FairKernelPCA(3).fit_transform(STANDARDISED, sensitive_features=GROUPS)
    np.testing.assert_allclose(one, T, atol=1e-10)
    np.testing.assert_allclose(two, FairKernelPCA(3).fit_transform(T, sensitive_features=GROUPS), atol=1e-8)


def test_rings_are_told_apart_after_leace_and_not_after_three_rounds():
    (fitting, outer), (new, truth) = rings(0), rings(1)
    found = {}
    for eraser in (LEACE(), IteratedKernelErasure(2)):
        eraser.fit(fitting, sensitive_features=outer)
        found[type(eraser)] = metrics.group_auc(
            SVC(), (eraser.transform(fitting), outer), (eraser.transform(new), truth)
        )
    assert found[LEACE] > 0.75
    assert abs(found[IteratedKernelErasure] - 0.5) < 0.1


def test_a_seed_gives_the_same_map_and_new_rows_are_mapped_one_by_one():
    model = IteratedKernelErasure(3, n_landmarks=50, random_state=7).fit(X, sensitive_features=GROUPS)
    again = clone(model).fit(X, sensitive_features=GROUPS)
    T = model.transform(X)
    np.testing.assert_array_equal(T, again.transform(X))
    np.testing.assert_allclose(np.vstack([model.transform(X[[i]]) for i in (0, 5)]), T[[0, 5]], atol=1e-10)
    other = clone(model).set_params(random_state=8).fit(X, sensitive_features=GROUPS)
    assert np.abs(other.transform(X) - T).max() > 1e-3
    assert not np.array_equal(model.anchors_[0], other.anchors_[0])


def test_more_landmarks_than_rows_are_refused():
    with pytest.raises(ConfigurationError, match="n_landmarks=381; the sample has 380 fitted rows"):
        IteratedKernelErasure(n_landmarks=381).fit(X, sensitive_features=GROUPS)
