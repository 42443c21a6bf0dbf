"""The one kind of file: hostile ones are refused by name, and whatever ends the writing leaves the old or the new."""

import io
import os
import pickle
import tracemalloc
import zipfile

import numpy as np
import pandas as pd
import pytest

from evenspan import FairPCA, GroupMoments, load, save
from evenspan.core import files
from evenspan.core.errors import FairError, LimitError, ResultError

RNG = np.random.default_rng(0)
X, GROUPS = RNG.normal(size=(60, 3)), np.repeat(["a", "b"], [35, 25])


READERS = {"estimator": load}


def entry(array) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def head(shape, kind="<f8") -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": kind, "fortran_order": False, "shape": shape})
    return file.getvalue()


def packed(path, entries: dict[str, bytes], signed=True) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(f"{name}.npy", content)
        if signed:
            archive.comment = files.SIGNED + files.digest({f"{k}.npy": v for k, v in entries.items()}).encode()


def moments(**others) -> dict[str, bytes]:
    """The entries of a moments file, with some of other content."""
    made = GroupMoments.from_data(X, GROUPS)
    upper = made.scatters[:, *np.triu_indices(3)]
    arrays = {"version": np.array(2), "attributes": np.array([], dtype=str), "counts": made.counts, "means": made.means}
    arrays |= {"scatters": upper, "labels.0": made.labels}
    return {name: entry(array) for name, array in arrays.items()} | others


class Touch:
    def __reduce__(self):
        return os.abort, ()


def bomb(path, signed=True) -> None:
    packed(path, moments(means=head((2**22,)) + bytes(2**25)), signed)


def lying(path) -> None:
    """A bomb that declares few bytes."""
    bomb(path)
    content = path.read_bytes()
    declared = (len(head((2**22,))) + 2**25).to_bytes(4, "little")
    assert content.count(declared) == 2
    path.write_bytes(content.replace(declared, (2000).to_bytes(4, "little")))


HOSTILE = {
    "bomb": (bomb, "32 MiB of arrays in a file of"),
    "bomb without digest": (lambda path: bomb(path, signed=False), "32 MiB of arrays in a file of"),
    "lying bomb": (lying, "Bad CRC"),
    "nested": (lambda path: packed(path, moments(means=zip_of_zip())), "magic"),
    "pickle": (lambda path: packed(path, moments(means=pickled())), "allow_pickle"),
    "bare pickle": (lambda path: path.write_bytes(pickle.dumps(Touch())), "not a zip"),
    "dates": (lambda path: packed(path, moments(counts=entry(np.zeros(2, "M8[s]")))), "finite numbers"),
    "text": (lambda path: packed(path, moments(counts=entry(np.array(["1", "2"])))), "finite numbers"),
    "complex": (lambda path: packed(path, moments(counts=entry(np.ones(2, complex)))), "finite numbers"),
    "huge": (lambda path: packed(path, moments(means=head((2**20, 2**40)))), ""),
    "huge in one axis": (lambda path: packed(path, moments(means=head((0, 10**7)))), "do not fit"),
    "huge of no bytes": (lambda path: packed(path, moments(attributes=head((2**40,), "<U0"))), "shape"),
    "negative": (lambda path: packed(path, moments(means=head((-2, 3)))), ""),
    "head without end": (lambda path: packed(path, moments(means=entry(X[:2])[:20])), ""),
    "odd head": (lambda path: packed(path, moments(means=entry(X[:2]).replace(b"'descr'", b"((((((("))), ""),
    "surplus": (lambda path: packed(path, moments(means=entry(X[:2]) + b"\0")), "shape"),
    "empty": (lambda path: path.write_bytes(b""), "not a zip"),
    "folder": (lambda path: path.mkdir(), "no file of this name"),
    "pipe": (os.mkfifo, "no file of this name"),
    "link to nothing": (lambda path: path.symlink_to(path.with_name("nothing")), "no file of this name"),
    "link to itself": (lambda path: path.symlink_to(path), ""),
    "device": (lambda path: path.symlink_to("/dev/zero"), "no file of this name"),
}  # fmt: skip


def zip_of_zip() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("means.npy", entry(X[:2]))
    return file.getvalue()


def pickled() -> bytes:
    file = io.BytesIO()
    np.save(file, np.array([Touch()], dtype=object), allow_pickle=True)
    return file.getvalue()


@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_files_are_refused_by_name(hostile, tmp_path, monkeypatch):
    """Each by every reader: none hangs, runs what is in it, or takes the memory that it declares."""
    monkeypatch.setattr(files, "COMPRESSED", 2**20)  # small bombs will do
    make, _ = HOSTILE[hostile]
    path = tmp_path / "h.npz"
    make(path)
    for kind, read in READERS.items():
        tracemalloc.start()
        with pytest.raises(FairError) as caught:
            read(path)
        assert tracemalloc.get_traced_memory()[1] < 2**24, f"{kind}: as much memory was taken as a bomb unpacks to"
        tracemalloc.stop()
        assert str(path) in str(caught.value), kind


def test_attributes_are_named_in_any_script(tmp_path):
    wide, model = RNG.normal(size=(60, 6)), FairPCA(1)
    groups = pd.DataFrame({"性别": GROUPS, "φύλο": np.arange(60) % 2})
    save(model.fit(wide, sensitive_features=groups), tmp_path / "m.npz")
    assert load(tmp_path / "m.npz").group_labels_.dtype.names == ("性别", "φύλο")
    odd = groups.to_records(index=False).astype([("\udcff", "U1"), ("b", int)])  # of a file name that is no text
    save(model.fit(wide, sensitive_features=odd), tmp_path / "m.npz")
    assert load(tmp_path / "m.npz").group_labels_.dtype.names == ("\udcff", "b")


@pytest.mark.parametrize("place", ["nowhere/m.npz", "folder", "a\0b", "x" * 300])
def test_places_that_cannot_be_written_are_named(place, tmp_path):
    (tmp_path / "folder").mkdir()
    fitted = FairPCA(1).fit(X, sensitive_features=GROUPS)
    with pytest.raises(FairError, match="cannot be written"):
        save(fitted, f"{tmp_path}/{place}")
    assert os.listdir(tmp_path) == ["folder"]


def test_memory_that_is_not_there_is_asked_for_first(tmp_path, monkeypatch):
    path = tmp_path / "m.npz"
    files.write(path, {"a": np.zeros(2**23)}, compressed=False)
    monkeypatch.setattr("evenspan.core.limits.free_memory", lambda: 2**27)
    with pytest.raises(LimitError, match=r"reading .*m\.npz would need 0\.1 GiB of memory"):
        files.read(path, "a file", "Make it again.")


# -- whatever ends the writing ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", ["fsync", "replace", "write"])
def test_a_full_disk_leaves_the_old_file_and_nothing_else(step, tmp_path, monkeypatch):
    path = tmp_path / "m.npz"
    save(FairPCA(1).fit(X, sensitive_features=GROUPS), path)
    before = path.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        if step == "fsync":
            patch.setattr(os, "fsync", full)
        elif step == "replace":
            patch.setattr("pathlib.Path.replace", full)
        else:
            patch.setattr("pathlib.Path.open", full)
        with pytest.raises(ResultError, match=r"m\.npz cannot be written \(No space left on device\)"):
            save(FairPCA(2).fit(X, sensitive_features=GROUPS), path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["m.npz"]
