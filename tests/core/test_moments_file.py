"""Moments on disk: what goes in comes out, equal moments are equal files, and a damaged file is never believed."""

import io
import pickle
import zipfile

import numpy as np
import pandas as pd
import pytest

from evenspan import GroupMoments
from evenspan.core import files
from evenspan.core.errors import ResultError

from .samples import draw, two_attributes


def structured(groups: np.ndarray, *names: str) -> np.ndarray:
    return np.array([tuple(row) for row in groups.tolist()], dtype=[(name, "U1") for name in names])


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
        "odd names": GroupMoments.from_data(X, structured(groups, "a/b\0c", "\udcff性别")),
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


def test_entries_are_compressed_and_carry_no_time(tmp_path):
    kinds()["named"].save(tmp_path / "m.npz")
    with zipfile.ZipFile(tmp_path / "m.npz") as archive:
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert {entry.compress_type for entry in archive.infolist()} == {zipfile.ZIP_DEFLATED}


def rewritten(path, **changes):
    """The stored arrays with some of them replaced (or left out, with None), as format 1 had them: without digest."""
    with np.load(path) as stored:
        arrays = dict(stored.items())
    names = arrays["attributes"].tolist() or ["group"]
    arrays |= {f"labels.{name}": arrays.pop(f"labels.{i}") for i, name in enumerate(names)} | {"version": np.array(1)}
    arrays |= changes
    np.savez(path, **{name: array for name, array in arrays.items() if array is not None})


def test_truncated_files_are_reported(tmp_path):
    path = tmp_path / "m.npz"
    kinds()["named"].save(path)
    content = path.read_bytes()
    for length in (0, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:length])
        with pytest.raises(ResultError, match=r"(not a moments file|altered after it was saved).* Make it again"):
            GroupMoments.load(path)


def test_other_things_are_not_moments(tmp_path):
    path = tmp_path / "m.npz"
    with pytest.raises(ResultError, match=r"m\.npz cannot be read \(there is no file of this name\)\. Check the path"):
        GroupMoments.load(path)
    strangers = {
        "text": b"sex,age\n1,2\n",
        "pickle": pickle.dumps({"version": 1}),
        "array": (lambda file: (np.save(file, np.ones(3)), file.getvalue())[1])(io.BytesIO()),
        "another npz": (lambda file: (np.savez(file, a=np.ones(3)), file.getvalue())[1])(io.BytesIO()),
        "zip": (lambda file: (zipfile.ZipFile(file, "w").close(), file.getvalue())[1])(io.BytesIO()),
    }
    for content in strangers.values():
        path.write_bytes(content)
        with pytest.raises(ResultError, match=r"not a moments file .* Make it again"):
            GroupMoments.load(path)


def test_pickled_labels_are_not_opened(tmp_path):
    path = tmp_path / "m.npz"
    moments = kinds()["strings"]
    moments.save(path)
    rewritten(path, **{"labels.group": np.array(["azure", "beige", "crimson"], dtype=object)})
    with pytest.raises(ResultError, match="allow_pickle"):
        GroupMoments.load(path)


def test_a_file_of_the_first_format_is_read(tmp_path):
    moments = kinds()["attributes"]
    moments.save(tmp_path / "m.npz")
    rewritten(tmp_path / "m.npz")
    assert np.array_equal(GroupMoments.load(tmp_path / "m.npz").scatters, moments.scatters)
    moments.save(tmp_path / "m.npz")
    with np.load(tmp_path / "m.npz") as stored:
        np.savez(tmp_path / "m.npz", **stored)
    with pytest.raises(ResultError, match="it has no digest"):
        GroupMoments.load(tmp_path / "m.npz")


def test_another_version_is_named(tmp_path):
    path = tmp_path / "m.npz"
    kinds()["strings"].save(path)
    arrays = files.read(path, "moments", "") | {"version": np.array(3)}
    files.write(path, arrays)
    with pytest.raises(ResultError, match=r"format 3; this evenspan reads formats 1 and 2\. .*version that wrote it"):
        GroupMoments.load(path)


@pytest.mark.parametrize(
    "changes",
    [{"counts": np.ones(2)}, {"means": np.zeros((3, 5))}, {"means": np.zeros(3)}, {"scatters": np.zeros((3, 4, 4))},
     {"labels.group": np.array(["a", "b"])}, {"counts": None}, {"attributes": np.array(["sex"])},
     {"version": np.array("one")}, {"feature_names": np.array(["a"])}, {"labels.group": np.array(["a", "a", "b"])},
     {"counts": np.array([1.0, -1.0, 2.0])}, {"means": np.full((3, 4), np.nan)}, {"means": np.zeros((3, 4), "M8[s]")},
     {"means": np.zeros((0, 10**6))}, {"counts": np.array(["1", "2", "3"])}],
    ids=str,
)  # fmt: skip
def test_parts_that_do_not_fit_are_reported(changes, tmp_path):
    path = tmp_path / "m.npz"
    kinds()["strings"].save(path)
    rewritten(path, **changes)
    with pytest.raises(ResultError, match="not a moments file"):
        GroupMoments.load(path)
