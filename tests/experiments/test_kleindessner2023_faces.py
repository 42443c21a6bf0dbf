"""A concept erased from pictures: the made pictures, people in one half only, what readers find, no picture of few."""

import numpy as np
import pandas as pd
import pytest

from compendium import records
from compendium.data import Dataset, load
from compendium.papers.kleindessner2023 import faces
from evenspan import LEACE, FairPCA, StandardPCA
from evenspan.core.errors import DataError


@pytest.fixture(scope="module")
def fixed():
    return faces.made(0, 400)


@pytest.fixture(scope="module")
def moving():
    return faces.made(2, 400)


def rows_of(name, k, parts, **options):
    return records.whole(faces.judged(methods(k), *parts, dataset=name, k=k, split=0, **options))


def methods(k):
    return {"PCA": StandardPCA(k), "Fair PCA": FairPCA(k), "LEACE": LEACE(k)}


def test_made_pictures_are_pictures_with_a_bar_for_some(fixed, moving):
    for train, test in (fixed, moving):
        assert train.X.min(axis=None) >= 0.0
        assert train.X.max(axis=None) <= 1.0
        assert 0.2 < train.groups.mean(axis=0) < 0.4
        assert not np.array_equal(train.X, test.X)
    # The bar makes its place darker, and nothing else.
    gap = np.subtract(*(fixed[0].X[fixed[0].groups == g].mean(axis=0) for g in (1, 0))).reshape(faces.SIDE, faces.SIDE)
    dark = gap < -0.2
    assert dark.any(axis=1).sum(axis=0) == 3
    assert np.abs(gap[~dark]).max(axis=None) < 0.1
    again = faces.made(0, 400)[0]
    np.testing.assert_array_equal(again.X, fixed[0].X)


def test_linear_erasure_hides_a_fixed_bar_from_all_readers_and_a_moving_one_from_linear_ones_only(fixed, moving):
    """The point of the experiment; PCA is the control that hides nothing."""
    area = {}
    for name, parts in (("planted bar", fixed), ("moving bar", moving)):
        found = rows_of(name, 60, parts, shown=False)
        records.checked(found, name)
        area[name] = found.set_index(["method", "protocol", "metric"])["value"]
        assert area[name]["PCA", "held-out", "AUC (linear)"] > 0.99
        for method in ("Fair PCA", "LEACE"):
            assert area[name][method, "held-out", "AUC (linear)"] == 0.5
            assert area[name][method, "in sample", "mean gap"] < 1e-10 < area[name]["PCA", "in sample", "mean gap"]
            assert area[name][method, "held-out", "mean gap"] > 1e-3, "the guarantee is in sample"
            error = area[name][method, "held-out", "mean squared error"]
            assert error > area[name]["PCA", "held-out", "mean squared error"]
    for method in ("Fair PCA", "LEACE"):
        assert area["planted bar"][method, "held-out", "AUC (kernel)"] < 0.65
        assert area["moving bar"][method, "held-out", "AUC (kernel)"] > 0.95


def test_pictures_are_means_and_never_of_few(fixed):
    found = rows_of("planted bar", 60, fixed, shown=True)
    records.checked(found, "pictures")
    kept = found[found["metric"].str.startswith("picture: ")]
    assert set(kept["method"]) == set(faces.PICTURED)
    test = fixed[1]
    of_group = kept[(kept["protocol"] == "original") & (kept["metric"] == "picture: group 1")].sort_values("pixel")
    np.testing.assert_allclose(of_group["value"], test.X[test.groups == 1].mean(axis=0), atol=1e-3)
    few = np.flatnonzero(test.groups == 1)[: faces.SMALLEST - 1]
    rows = np.concatenate([few, np.flatnonzero(test.groups == 0)])
    small = Dataset("few", test.X[rows], test.y[rows], test.groups[rows], test.feature_names)
    with pytest.raises(DataError, match=r"group 1 has 49 images; .* shows single people"):
        rows_of("few", 60, (fixed[0], small), shown=True)
    assert (kept.groupby(["method", "protocol", "metric"]).size() == faces.SIDE**2).all()


def test_nobody_is_in_both_halves():
    names = np.array([f"p{i % 37:02d}" for i in range(200)])
    data = Dataset("x", np.arange(400.0).reshape(200, 2), np.zeros(200), np.arange(200) % 2, ("a", "b"))
    train, test = faces.halves(data, names, 1)
    sides = [set(names[(part.X[:, 0] // 2).astype(int)]) for part in (train, test)]
    assert not sides[0] & sides[1]
    assert sides[0] | sides[1] == set(names)
    assert train.n + test.n == 200
    assert not np.array_equal(train.X, faces.halves(data, names, 2)[0].X)


@pytest.mark.raw
def test_the_names_belong_to_the_rows_of_the_loader(raw):
    raw(faces.SUBSTITUTE)
    data, names = load(faces.SUBSTITUTE), faces.people()
    assert len(names) == data.n
    # Nearly all images of one person have one label; with shuffled names they would not.
    table = pd.DataFrame({"name": names, "group": data.groups})
    several = table.groupby("name").filter(lambda rows: len(rows) > 1)
    assert several.groupby("name")["group"].nunique().eq(1).mean(axis=0) > 0.99
    assert len(set(names)) > 2000
