"""Every byte of a small file of each kind, altered or cut off: an error with its path, or the identical object."""

from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from hypothesis import strategies as st

from evenspan import FairPCA, GroupMoments, StreamingFairPCA, load, save
from evenspan.core.errors import FairError
from evenspan.core.streams import ArrayStream
from evenspan.representation import streaming_fair_pca

#: What is done to one byte; and cutting the file off before it.
HOW = {"one bit": lambda byte: bytes([byte ^ 1]), "all bits": lambda byte: bytes([byte ^ 255])}


def sample() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(40, 3)) * [3.0, 2.0, 1.0], np.repeat(["a", "b"], [25, 15])


def moments(path: Path):
    """The file, and what is read of it as a tuple that is compared by its bytes."""
    GroupMoments.from_data(*sample()).save(path)

    def read() -> tuple:
        found = GroupMoments.load(path)
        return found.labels, found.counts, found.means, found.scatters, np.array(found.feature_names, dtype=str)

    return read


def transformer(path: Path):
    X, groups = sample()
    save(FairPCA(2).fit(X, sensitive_features=groups), path)

    def read() -> tuple:
        found = load(path)
        return found.transform(X), found.components_, np.array(repr(found.get_params()))

    return read


def checkpoint(path: Path):
    X, groups = sample()
    model = StreamingFairPCA(1, 1, n_blocks=2, block_size=20)
    model.fit(X, sensitive_features=groups, checkpoint=path)
    reader = streaming_fair_pca.BlockReader(ArrayStream(X, groups))

    def read() -> tuple:
        fresh = model._begin(reader)
        found = streaming_fair_pca.load_state(path, fresh, (20, 20), reader.first_rows)
        state = {name: value for name, value in vars(found).items() if name not in ("options", "contrasts")}
        arrays = [np.asarray(state.pop(name)) for name in sorted(state) if isinstance(state[name], np.ndarray)]
        return (*arrays, np.array(repr(sorted(state.items()))))

    return read


def same(a: tuple, b: tuple) -> bool:
    return all(
        x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes() for x, y in zip(a, b, strict=True)
    )


@contextmanager
def named(path: Path):
    """Inside, an error of evenspan that does not name the file is none."""
    try:
        yield
    except FairError as error:
        if str(path) not in str(error):
            raise AssertionError(f"the file is not named: {error}") from error
        raise


SUBJECTS = {"moments": moments, "saved estimator": transformer, "checkpoint of a fit": checkpoint}


@pytest.mark.parametrize("subject", SUBJECTS)
def test_every_byte(subject, attack, tmp_path):
    path = tmp_path / "small.npz"
    read = SUBJECTS[subject](path)
    whole, expected = path.read_bytes(), read()
    cases = [(how, at) for at in range(len(whole)) for how in (*HOW, "cut off")]

    def body(case) -> None:
        how, at = case
        changed = HOW[how](whole[at]) + whole[at + 1 :] if how in HOW else b""
        path.write_bytes(whole[:at] + changed)
        with named(path):
            assert same(read(), expected)

    attack(subject, "file", st.sampled_from(cases), body, draws=(300, len(cases)))
    path.write_bytes(whole)
    assert same(read(), expected)
