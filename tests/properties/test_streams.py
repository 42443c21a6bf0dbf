"""Drawn streams in random cuts: the moments of the table in memory; a damaged one is an error with words."""

import itertools

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from evenspan import ArrayStream, FunctionStream, GroupMoments, ParquetStream
from evenspan.core.errors import FairError

NAMES = ["x", "y", "z"]
LABELS = {"text": np.array(["a", "b", "c"]), "numbers": np.array([7, -1, 0]), "booleans": np.array([True, False, True])}


@st.composite
def tables(draw, least: int = 1) -> tuple[np.ndarray, np.ndarray, list[tuple[int, int]]]:
    """Rows on several scales, groups of unequal size, and the slices in which the rows arrive."""
    rng, n = np.random.default_rng(draw(st.integers(0, 2**32 - 1))), draw(st.integers(least, 60))
    scales = 10.0 ** np.array([draw(st.integers(-12, 12)) for _ in NAMES])
    X = rng.normal(loc=[5.0, 0.0, 1.0], size=(n, 3)) * scales
    groups = LABELS[draw(st.sampled_from(sorted(LABELS)))][(rng.random(n) ** 2 * 3).astype(int)]
    cuts = draw(st.lists(st.integers(1, n - 1), max_size=5, unique=True)) if n > 1 else []
    return X, groups, list(itertools.pairwise([0, *sorted(cuts), n]))


def stream(way: str, X, groups, slices, size: int, folder):
    if way == "array":
        return ArrayStream(X, groups, batch_size=size)
    if way == "frame":
        return ArrayStream(pd.DataFrame(X, columns=NAMES), pd.Series(groups), batch_size=size)
    if way == "function":
        return FunctionStream(lambda: ((X[a:b], groups[a:b]) for a, b in slices))
    for old in folder.glob("*.parquet"):
        old.unlink()
    for number, (a, b) in enumerate(slices):
        columns = {name: X[a:b, j] for j, name in enumerate(NAMES)} | {"g": groups[a:b]}
        parquet.write_table(pa.table(columns), folder / f"{number}.parquet", row_group_size=size)
    return ParquetStream(folder, "g", batch_size=size + 3)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("streams")


@pytest.mark.parametrize("way", ["array", "frame", "function", "parquet"])
@given(table=tables(), size=st.integers(1, 70))
def test_the_moments_are_those_of_the_rows_in_memory(way, folder, table, size):
    X, groups, slices = table
    batches, whole = stream(way, X, groups, slices, size, folder), GroupMoments.from_data(X, groups)
    found, again = GroupMoments.from_batches(batches), GroupMoments.from_batches(batches)
    assert found.labels.tolist() == whole.labels.tolist()
    assert np.array_equal(found.counts, whole.counts)
    unit = np.abs(X).max(axis=0)
    np.testing.assert_allclose(found.means / unit, whole.means / unit, atol=1e-12)
    area = np.outer(unit, unit)
    np.testing.assert_allclose(found.scatters / area, whole.scatters / area, rtol=1e-11, atol=1e-11 * len(X))
    assert again.means.tobytes() == found.means.tobytes()
    assert again.scatters.tobytes() == found.scatters.tobytes()


@pytest.mark.parametrize("damage", ["NaN", "infinity", "no label", "wider", "short labels"])
@given(table=tables(least=2), place=st.integers(0, 2**16))
def test_what_is_damaged_is_an_error_with_words(damage, table, place):
    X, groups, slices = table
    row, groups = place % len(X), groups.astype(object)
    if damage in ("NaN", "infinity"):
        X[row, place % 3] = np.nan if damage == "NaN" else -np.inf
    if damage == "no label":
        groups[row] = None
    parts = [(X[a:b], groups[a:b]) for a, b in slices]
    if damage == "wider":
        parts.append((np.hstack([X, X]), groups))
    if damage == "short labels":
        parts.append((X, groups[1:]))
    with pytest.raises(FairError) as told:
        GroupMoments.from_batches(FunctionStream(lambda: parts))
    assert len(str(told.value).split()) >= 6
