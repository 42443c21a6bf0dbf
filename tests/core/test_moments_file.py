"""Moments on disk: what goes in comes out, equal moments are equal files, and a damaged file is never believed."""

import pickle

import numpy as np
import pandas as pd
import pytest

from evenspan import GroupMoments
from evenspan.core.errors import ResultError

from .samples import draw, two_attributes


def kinds() -> dict[str, GroupMoments]:
    s = draw(counts=(30, 20, 10), d=4)
    X, groups = two_attributes(d=3)
    frame = pd.DataFrame(s.X, columns=["age", "größe", "a,b", ""])
    half = GroupMoments.from_data(s.X[:31], s.groups[:31]) + GroupMoments.from_data(s.X[31:], s.groups[31:])
    return {
        "strings": GroupMoments.from_data(s.X, s.groups),
        "named": GroupMoments.from_data(frame, s.groups),
        "integers": GroupMoments.from_data(s.X, np.arange(60) % 2 - 1),
        "booleans": GroupMoments.from_data(s.X, np.arange(60) % 2 == 0),
        "attributes": GroupMoments.from_data(X, pd.DataFrame({"sex": groups[:, 1] == "x", "race": groups[:, 0]})),
        "merged": half,
        "weighted": GroupMoments.from_data(s.X, s.groups, np.linspace(0.1, 3, 60)),
        "projected": GroupMoments.from_data(s.X, s.groups).project(np.random.default_rng(0).normal(size=(4, 2))),
        "margin": GroupMoments.from_data(X, groups).marginal("attribute0"),
        "pooled": half.pooled(),
        "standardised": half.standardised(),
        "one feature": GroupMoments.from_data(s.X[:, :1], s.groups),
    }


@pytest.mark.parametrize("kind", kinds())
def test_what_goes_in_comes_out(kind, tmp_path):
    moments = kinds()[kind]
    moments.save(tmp_path / "m.npz")
    loaded = GroupMoments.load(str(tmp_path / "m.npz"))
    for name in ("labels", "counts", "means", "scatters"):
        kept, read = getattr(moments, name), getattr(loaded, name)
        assert np.array_equal(kept, read), name
        assert kept.dtype == read.dtype
    assert loaded.feature_names == moments.feature_names
    assert loaded.attributes == moments.attributes
    assert not loaded.means.flags.writeable
    loaded.save(tmp_path / "again.npz")
    assert (tmp_path / "again.npz").read_bytes() == (tmp_path / "m.npz").read_bytes()


def test_equal_moments_are_equal_files(tmp_path):
    s = draw(counts=(30, 20, 10), d=4)
    codes = np.searchsorted(s.labels, s.groups)
    routes = {
        "once": GroupMoments.from_data(s.X, s.groups),
        "wide labels": GroupMoments.from_data(s.X, s.groups.astype("U50")),
        "objects": GroupMoments.from_data(s.X.tolist(), pd.Series(s.groups, dtype="category")),
        "small integers": GroupMoments.from_data(s.X, codes.astype(np.int8)),
        "integers": GroupMoments.from_data(s.X, codes.astype(np.uint64)),
    }
    for name, moments in routes.items():
        moments.save(tmp_path / f"{name}.npz")
    content = {name: (tmp_path / f"{name}.npz").read_bytes() for name in routes}
    assert content["once"] == content["wide labels"] == content["objects"]
    assert content["small integers"] == content["integers"]
    GroupMoments.from_data(s.X + 1e-9, s.groups).save(tmp_path / "other.npz")
    assert (tmp_path / "other.npz").read_bytes() != content["once"]


def test_files_are_small(tmp_path):
    X = np.random.default_rng(0).normal(size=(500, 60))
    moments = GroupMoments.from_data(X, np.arange(500) % 2)
    moments.save(tmp_path / "m.npz")
    # Half of each symmetric scatter: the other half would make it 58 kB at least.
    assert (tmp_path / "m.npz").stat().st_size < 0.55 * moments.scatters.nbytes + 4000


def test_damaged_files_and_other_things_are_not_moments(tmp_path):
    path = tmp_path / "m.npz"
    with pytest.raises(ResultError, match=r"m\.npz is not a moments file .* Make it again"):
        GroupMoments.load(path)
    kinds()["named"].save(path)
    content = path.read_bytes()
    for stranger in (b"", content[: len(content) // 2], b"sex,age\n1,2\n", pickle.dumps({"version": 1})):
        path.write_bytes(stranger)
        with pytest.raises(ResultError, match=r"not a moments file .* Make it again"):
            GroupMoments.load(path)


@pytest.mark.parametrize(
    "changes",
    [{"version": 3}, {"counts": np.ones(2)}, {"means": np.zeros((3, 5))}, {"scatters": np.zeros((3, 4, 4))},
     {"attributes": np.array(["sex", "race"])}, {"labels.0": np.array(["a", "a", "b"])}],
    ids=str,
)  # fmt: skip
def test_parts_that_do_not_fit_are_reported(changes, tmp_path):
    kinds()["strings"].save(tmp_path / "m.npz")
    with np.load(tmp_path / "m.npz") as stored:
        np.savez(tmp_path / "m.npz", **(dict(stored.items()) | changes))
    with pytest.raises(ResultError, match="not a moments file"):
        GroupMoments.load(tmp_path / "m.npz")
