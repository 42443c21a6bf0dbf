"""Tables as populations: gaps that are known, rules that are counted, and the controls computed by other routes."""

import numpy as np
import pandas as pd
import pytest

from compendium.papers.across import new_rows
from evenspan import LEACE, GroupMoments, StandardPCA
from evenspan.metrics import linear_map


@pytest.fixture(scope="module")
def whole():
    return new_rows.population("sklearn_diabetes")


@pytest.mark.parametrize("estimator", [StandardPCA(2), LEACE(2)], ids=lambda e: type(e).__name__)
def test_gaps_of_the_population_are_those_of_its_rows(whole, estimator):
    found = new_rows.judged(new_rows.sample(whole, 0, 20), whole, estimator)
    T = estimator.transform(whole.X)
    lost = ((whole.X - estimator.inverse_transform(T)) ** 2).sum(axis=1)
    first = whole.groups == whole.moments.labels[0]
    apart = np.linalg.norm(T[first].mean(axis=0) - T[~first].mean(axis=0))
    assert found["true means"] == pytest.approx(apart, rel=1e-9)
    assert found["true errors"] == pytest.approx(abs(lost[first].mean() - lost[~first].mean()), rel=1e-9)


def test_the_control_has_the_standard_errors_of_normal_rows_and_of_no_others():
    rng = np.random.default_rng(0)
    groups = np.repeat(["a", "b"], [300_000, 200_000])
    mix, shift = rng.normal(size=(4, 4)), 0.7 * (groups == "b")[:, None]
    for estimator in (StandardPCA(2), LEACE(2)):
        for name, Z in (("normal", rng.normal(size=(500_000, 4))), ("heavy", rng.standard_t(6, size=(500_000, 4)))):
            X = Z @ mix + shift
            moments = GroupMoments.from_data(X, groups)
            estimator.fit_moments(moments)
            lost = ((X - estimator.inverse_transform(estimator.transform(X))) ** 2).sum(axis=1)
            expected = [lost[groups == g].var() / (groups == g).sum() for g in "ab"]
            found = new_rows.normal_variances(moments, linear_map(estimator))
            if name == "normal":
                np.testing.assert_allclose(found, expected, rtol=0.03)
            else:
                assert (found < 0.8 * np.array(expected)).all()


def test_the_largest_row_is_that_of_the_rows(whole, cells_of):
    estimator = LEACE(2)
    found = cells_of("across-bounds", again=False)["largest_row"](whole, estimator)
    lost = pd.Series(((whole.X - estimator.inverse_transform(estimator.transform(whole.X))) ** 2).sum(axis=1))
    shares = lost.groupby(whole.groups).transform(lambda e: (e - e.mean()) ** 2 / ((e - e.mean()) ** 2).sum())
    assert found == pytest.approx(shares.max(), rel=1e-9)
    assert 0.01 < found < 0.5
