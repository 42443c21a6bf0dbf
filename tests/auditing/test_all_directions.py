"""A table whose features vary in fewer directions than it has columns: as many components leave nobody an error."""

import numpy as np
import pandas as pd
import pytest

from evenspan.auditing.fitting import PCA, fit_method
from evenspan.auditing.passes import read_sample
from evenspan.methods import METHODS


@pytest.fixture(scope="module")
def sample():
    """Three numbers and a category of three towns, whose columns of zeros and ones add up to one."""
    rng, n = np.random.default_rng(5), 260
    group = np.where(rng.random(n) < 0.35, "red", "blue")
    table = pd.DataFrame(rng.normal(size=(n, 3)) * [3.0, 2.0, 1.0], columns=["a", "b", "c"])
    table["a"] += 2.0 * (group == "red")
    return read_sample(table.assign(town=rng.choice(["A", "B", "C"], n), group=group), sensitive="group", holdout=0.3)


@pytest.mark.parametrize("name", [name for name, method in METHODS.items() if method.equalises in ("errors", "losses")])
def test_methods_that_compare_errors_say_why_they_have_no_answer(sample, name):
    moments = sample.moments("group")
    assert moments.d == 6
    found = fit_method(name, (2, 4, 5), moments, sample.fitting_points, "group")
    assert list(found) == [2, 4, 5]
    assert found[2].estimator is not None
    assert found[4].estimator is not None
    assert found[5].estimator is None
    assert "vary in 5 directions only" in found[5].reason


def test_principal_components_have_an_answer(sample):
    found = fit_method(PCA, (5,), sample.moments("group"), sample.fitting_points, "group")
    assert found[5].estimator is not None
