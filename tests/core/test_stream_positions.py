"""A pass that begins in the middle has the batches of a whole pass from there on."""

import numpy as np
import pandas as pd
import pytest

from evenspan import ArrayStream, FunctionStream, ParquetStream

N, BATCH = 53, 8


@pytest.fixture
def streams(tmp_path):
    X = np.arange(N * 3, dtype=np.float64).reshape(N, 3)
    groups = np.array(list("ab"))[np.arange(N) % 2]
    frame = pd.DataFrame(X, columns=["x", "y", "z"]).assign(group=groups)
    for i, rows in enumerate((slice(0, 11), slice(11, 30), slice(30, N))):
        frame[rows].to_parquet(tmp_path / f"{i}.parquet", row_group_size=7, index=False)
    parts = [(X[i : i + BATCH], groups[i : i + BATCH]) for i in range(0, N, BATCH)]
    return {
        "array": ArrayStream(X, groups, batch_size=BATCH),
        "function": FunctionStream(lambda: iter(parts)),
        "files": ParquetStream(sorted(tmp_path.glob("*.parquet")), "group", batch_size=BATCH),
    }


@pytest.mark.parametrize("kind", ["array", "function", "files"])
@pytest.mark.parametrize("start", [1, 7, 8, 9, 25, 48, 52])
def test_batches_end_where_they_do_in_a_whole_pass(streams, kind, start):
    stream = streams[kind]
    whole = [(np.asarray(X), np.asarray(groups)) for X, groups in stream]
    ends = np.cumsum([len(X) for X, _ in whole])
    rest = list(stream.from_row(start))
    assert np.array_equal(start + np.cumsum([len(X) for X, _ in rest]), ends[ends > start])
    assert np.array_equal(np.vstack([X for X, _ in rest]), np.vstack([X for X, _ in whole])[start:])
    labels = np.concatenate([np.asarray(groups) for _, groups in rest])
    assert np.array_equal(labels, np.concatenate([groups for _, groups in whole])[start:])
