"""Streams of any cut agree with the table in memory; damaged ones are named, or nothing of them is changed."""

import os

import numpy as np
import pandas as pd
import pyarrow as pa
from hypothesis import strategies as st
from PIL import Image
from pyarrow import parquet

from evenspan import GroupMoments
from evenspan.core.stream_files import ParquetStream
from evenspan.core.stream_images import ImageFolderStream
from evenspan.core.streams import ArrayStream, FunctionStream

NAMES = ["x", "y", "z"]
OPTIONS = {"write_page_checksum": True, "compression": "none"}


def table(seed: int, n: int, kind: str = "text") -> tuple[np.ndarray, np.ndarray]:
    """Rows on three scales, far from zero in one column; groups that are not balanced."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) * [1.0, 1e3, 1e-3] + [5.0, 0.0, 1.0]
    codes = (rng.random(n) ** 2 * 3).astype(int)
    return X, {"text": np.array(list("abc"))[codes], "numbers": codes - 1, "booleans": codes > 0}[kind]


def written(folder, X, groups, cuts, row_group_size: int) -> None:
    """A file for each part, with checksums; what an earlier draw left is removed."""
    for old in folder.glob("*.parquet"):
        old.unlink()
    for number, (a, b) in enumerate(zip([0, *cuts], [*cuts, len(X)], strict=True)):
        columns = {name: X[a:b, j] for j, name in enumerate(NAMES)} | {"g": groups[a:b]}
        parquet.write_table(pa.table(columns), folder / f"{number:02d}.parquet", row_group_size, **OPTIONS)


def stream(way: str, X, groups, cuts, size: int, folder):
    if way == "array":
        return ArrayStream(X, groups, batch_size=size)
    if way == "frame":
        return ArrayStream(pd.DataFrame(X, columns=NAMES), pd.Series(groups), batch_size=size)
    if way == "function":
        return FunctionStream(
            lambda: ((X[a:b], groups[a:b]) for a, b in zip([0, *cuts], [*cuts, len(X)], strict=True) if a < b)
        )
    written(folder, X, groups, cuts, size)
    return ParquetStream(folder, "g", batch_size=size + 3)


def assert_rows(passed, X, groups) -> None:
    parts = list(passed)
    assert np.array_equal(np.vstack([rows for rows, _ in parts]), X)
    assert [label for _, labels in parts for label in np.asarray(labels).tolist()] == groups.tolist()


def test_random_cuts(attack, tmp_path):
    cases = st.tuples(
        st.integers(0, 2**32 - 1),
        st.integers(1, 60),
        st.sampled_from(["text", "numbers", "booleans"]),
        st.sampled_from(["array", "frame", "function", "parquet"]),
        st.integers(1, 70),
    )

    def body(case) -> None:
        seed, n, kind, way, size = case
        X, groups = table(seed, n, kind)
        rng = np.random.default_rng(seed + 1)
        cuts = sorted(rng.integers(0, n + 1, size=rng.integers(0, 5)).tolist())
        batches, whole = stream(way, X, groups, cuts, size, tmp_path), GroupMoments.from_data(X, groups)
        found = GroupMoments.from_batches(batches)
        assert found.labels.tolist() == whole.labels.tolist()
        assert np.array_equal(found.counts, whole.counts)
        spread = np.sqrt(np.diagonal(whole.scatter))
        np.testing.assert_allclose(found.means, whole.means, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(found.scatters, whole.scatters, atol=1e-11 * np.outer(spread, spread).max())
        again = GroupMoments.from_batches(batches)
        assert again.means.tobytes() == found.means.tobytes()
        assert again.scatters.tobytes() == found.scatters.tobytes()
        start = int(rng.integers(0, n))
        assert_rows(batches.from_row(start), X[start:], groups[start:])

    attack("streams in random cuts", "stream", cases, body)


def test_damaged_tables(attack, tmp_path):
    """Entries, labels, widths and types that cannot be: every one is an error, unless nothing was damaged."""

    def missing(X, groups, rng):
        X[rng.integers(len(X)), rng.integers(3)] = rng.choice([np.nan, np.inf, -np.inf])

    def unlabelled(X, groups, rng):
        groups[rng.integers(len(X))] = rng.choice([None, np.nan])

    def mixed(X, groups, rng):
        groups[rng.integers(len(X))] = [1, 2.5, True, ("a",)][rng.integers(4)]

    damages = {"nothing": lambda *_: None, "missing": missing, "unlabelled": unlabelled, "mixed": mixed}
    cases = st.tuples(
        st.integers(0, 2**32 - 1),
        st.integers(4, 40),
        st.sampled_from([*damages, "wider batch", "short labels", "text", "type", "no column", "changed"]),
        st.sampled_from(["array", "function"]),
        st.integers(1, 45),
    )

    def body(case) -> None:
        seed, n, damage, way, size = case
        X, groups = table(seed, n)
        rng, cut = np.random.default_rng(seed + 1), n // 2
        expected = GroupMoments.from_data(X, groups)
        if damage in damages:
            groups = groups.astype(object)
            damages[damage](X, groups, rng)
            found = GroupMoments.from_batches(stream(way, X, groups, [cut], size, None))
        elif damage in ("wider batch", "short labels", "text"):
            second = {
                "wider batch": (np.hstack([X, X])[cut:], groups[cut:]),
                "short labels": (X[cut:], groups[cut + 1 :]),
                "text": (X[cut:].astype(str).astype(object) + "?", groups[cut:]),
            }[damage]
            found = GroupMoments.from_batches(FunctionStream(lambda: [(X[:cut], groups[:cut]), second]))
        else:
            written(tmp_path, X, groups, [cut], size)
            batches, place = ParquetStream(tmp_path, "g", batch_size=size), tmp_path / "01.parquet"
            if damage == "changed":
                GroupMoments.from_batches(batches)
            other = parquet.read_table(place)
            if damage == "type":
                at, kind = int(rng.integers(4)), [pa.bool_(), pa.float32(), pa.int64(), pa.string()][rng.integers(4)]
                column = pa.array([True] * len(other)).cast(kind)
                damaged = kind != other.schema.field(at).type
                other = other.set_column(at, other.schema.names[at], column)
                other = other if damaged else parquet.read_table(place)
            elif damage == "no column":
                other = other.drop_columns(["y"])
            else:
                other = other.take(rng.permutation(len(other)))
            parquet.write_table(other, place, size, **OPTIONS)
            found = GroupMoments.from_batches(batches if damage == "changed" else ParquetStream(tmp_path, "g"))
        assert damage in ("nothing", "type"), "the damage was not seen"
        assert found.labels.tolist() == expected.labels.tolist()
        np.testing.assert_allclose(found.means, expected.means, rtol=1e-12, atol=1e-12)

    attack("damaged tables", "stream", cases, body)


def test_bits_of_a_parquet_file(attack, tmp_path):
    """A bit of what lies before the file's foot, which has no checksum of its own."""
    X, groups = table(0, 30)
    written(tmp_path, X, groups, [], 12)
    place = tmp_path / "00.parquet"
    whole = place.read_bytes()
    foot = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    expected = GroupMoments.from_batches(ParquetStream(place, "g"))

    def body(case) -> None:
        at, bit = case
        place.write_bytes(whole[:at] + bytes([whole[at] ^ (1 << bit)]) + whole[at + 1 :])
        found = GroupMoments.from_batches(ParquetStream(place, "g"))
        assert found.labels.tolist() == expected.labels.tolist()
        assert found.scatters.tobytes() == expected.scatters.tobytes()

    attack("bits of a parquet file", "stream", st.tuples(st.integers(0, foot - 1), st.integers(0, 7)), body)


def test_damaged_images(attack, tmp_path):
    """One image of three is damaged: it is read or left out, and the others are what they were."""
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (3, 6, 5, 3), dtype=np.uint8)
    groups = {"a.png": "f", "b.png": "m", "c.jpg": "f"}
    for image, name in zip(images, groups, strict=True):
        Image.fromarray(image).save(tmp_path / name)
    whole = {name: (tmp_path / name).read_bytes() for name in groups}
    names, pixels = list(groups), next(iter(ImageFolderStream(tmp_path, groups)))[0]
    cases = st.tuples(
        st.integers(0, 2), st.sampled_from(["bit", "bytes", "cut", "gone", "folder"]), st.integers(0, 2**32 - 1)
    )

    def body(case) -> None:
        which, how, seed = case
        draws, place = np.random.default_rng(seed), tmp_path / names[which]
        content = bytearray(whole[names[which]])
        at = int(draws.integers(len(content)))
        if how == "bit":
            content[at] ^= 1 << int(draws.integers(8))
        elif how == "bytes":
            content[at : at + 9] = draws.bytes(9)
        elif how == "cut":
            del content[at:]
        place.write_bytes(content)
        if how in ("gone", "folder"):
            place.unlink()
        if how == "folder":
            place.mkdir()
        try:
            skipped = ImageFolderStream(tmp_path, groups, size=(6, 5), on_unreadable="skip")
            ((rows, labels),) = skipped
            kept = [number for number in range(3) if number != which]
            assert len(rows) == len(labels) == 3 - skipped.n_unreadable
            assert skipped.n_unreadable in (0, 1)
            at = kept if skipped.n_unreadable == 0 else [0, 1]
            assert np.array_equal(rows[at], pixels[kept])
            list(ImageFolderStream(tmp_path, groups, size=(6, 5)))
        finally:
            if how == "folder":
                os.rmdir(place)
            place.write_bytes(whole[names[which]])

    attack("damaged images", "stream", cases, body)
