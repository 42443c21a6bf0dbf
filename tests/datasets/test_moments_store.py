"""Shipped moments: present, recomputed from the raw data, refused when they belong to other data."""

import json
import shutil

import numpy as np
import pytest

from compendium import data as datasets
from compendium import paths
from compendium.data import moments_store
from evenspan.core.errors import RegistryError, ResultError

ALL = [(name, i, part) for name in moments_store.SHIPPED for i in range(10) for part in moments_store.PARTS]


@pytest.mark.parametrize(("name", "split", "part"), ALL)
def test_shipped_moments_have_the_groups_of_the_registry(name, split, part):
    moments = datasets.shipped_moments(name, split, part)
    other = datasets.shipped_moments(name, split, "test" if part == "train" else "train")
    entry = datasets.entry(name)
    assert {
        str(g): n for g, n in zip(moments.labels.tolist(), moments.counts + other.counts, strict=True)
    } == entry.groups
    assert moments.feature_names == entry.feature_names
    if part == "train":
        scale = np.sqrt(np.diag(moments.scatter) / moments.n)
        np.testing.assert_allclose(moments.mean, 0, atol=1e-12)
        assert set(scale.round(9)) <= {0.0, 1.0}


@pytest.mark.raw
@pytest.mark.parametrize("name", moments_store.SHIPPED)
def test_shipped_moments_are_those_of_the_raw_data(name, raw):
    raw(name)
    for i in range(datasets.splits(name)):
        for part in datasets.load_split(name, i):
            shipped = datasets.shipped_moments(name, i, part.part)
            for j, label in enumerate(shipped.labels):
                X = part.X[part.groups == label]
                centred = X - X.mean(axis=0)
                assert shipped.counts[j] == len(X)
                scatter = centred.T @ centred
                np.testing.assert_allclose(shipped.means[j], X.mean(axis=0), atol=1e-12 * abs(X).max())
                np.testing.assert_allclose(shipped.scatters[j], scatter, atol=1e-12 * np.trace(scatter))


@pytest.mark.raw
def test_the_committed_command_writes_the_same_moments(raw, tmp_path, monkeypatch):
    raw("compas")
    real = paths.data
    monkeypatch.setattr(
        paths, "data", lambda *parts: tmp_path.joinpath(*parts) if parts[0] == "moments" else real(*parts)
    )
    written = datasets.make_moments("compas")
    assert len(written) == 21
    assert written[-1].read_bytes() == real("moments", "compas", "record.json").read_bytes()
    made, shipped = (
        moments_store.GroupMoments.load(folder("moments", "compas", "test_3.npz")) for folder in (paths.data, real)
    )
    np.testing.assert_allclose(made.scatters, shipped.scatters, atol=1e-12 * np.trace(shipped.scatter))
    assert made.feature_names == shipped.feature_names


def test_all_shipped_moments_are_small():
    assert sum(path.stat().st_size for path in paths.data("moments").rglob("*.npz")) < 5e6
    for name in moments_store.SHIPPED:
        record = json.loads(paths.data("moments", name, "record.json").read_text())
        assert record == {
            "dataset": name,
            "raw_checksum": datasets.checksum(name),
            "command": f"python -m compendium data moments {name}",
            "files": 20,
        }


def test_missing_moments_name_the_command_that_makes_them():
    with pytest.raises(ResultError, match="python -m compendium data moments sklearn_diabetes"):
        datasets.shipped_moments("sklearn_diabetes", 0, "train")
    with pytest.raises(RegistryError, match="no fixed splits"):
        datasets.make_moments("bank_marketing")
    with pytest.raises(RegistryError, match="splits 0 to 9"):
        datasets.shipped_moments("adult", 10, "train")
    with pytest.raises(RegistryError, match="train and test"):
        datasets.shipped_moments("adult", 0, "all")


def test_moments_of_other_raw_data_are_refused(tmp_path, monkeypatch):
    real = paths.data
    shutil.copytree(real("moments", "compas"), tmp_path / "moments" / "compas")
    monkeypatch.setattr(
        paths, "data", lambda *parts: tmp_path.joinpath(*parts) if parts[0] == "moments" else real(*parts)
    )
    assert datasets.shipped_moments("compas", 0, "test").d == 11
    record = tmp_path / "moments" / "compas" / "record.json"
    record.write_text(record.read_text().replace(datasets.checksum("compas"), "0" * 64))
    with pytest.raises(ResultError, match=r"0000.*python -m compendium data moments compas"):
        datasets.shipped_moments("compas", 0, "test")
    record.unlink()
    with pytest.raises(ResultError, match="no record"):
        datasets.shipped_moments("compas", 0, "test")
