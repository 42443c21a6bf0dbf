"""The scale study: exponents and verdicts follow from the rows, and bytes counted agree with the model."""

import contextlib

import numpy as np
import pandas as pd
import pytest

from compendium.papers.lee2023 import scale
from compendium.records import checked, tidy, whole
from evenspan.core.streams import ArrayStream
from evenspan.representation.streaming_fair_pca import BlockReader

pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def notebook(cells_of):
    """Names of the notebook, with tiny sizes."""
    space = dict(cells_of("lee2023-scale", again=False))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(space["study"]), "whole", True)
        for name, value in {"workers": "1, 2", "FEATURES": (20, 30)}.items():
            patch.setitem(space["messages"].__globals__, name, value)
        yield space


@pytest.fixture(scope="module")
def clustered(notebook):
    """Times and messages of one worker and two on tiny tables."""
    with scale.clusters((1, 2)) as clients, pytest.MonkeyPatch.context() as patch:
        times = scale.side_by_side(clients, {"d": 20, "rows": 60, "chunks": 6}, 2)
        patch.setattr(scale, "clusters", lambda workers: contextlib.nullcontext({w: clients[w] for w in workers}))
        return checked(whole(times + notebook["messages"]()), "cluster")


def made(power: float, noise=(1.0, 1.02, 0.99)) -> pd.DataFrame:
    """Rows of a study in which seconds grow with the given power of d."""
    rows = []
    for split, factor in enumerate(noise):
        for d in (10, 20, 40):
            block, bare = 2e-3 * d ** (power * factor), 1e-3 * d
            values = {"seconds": block, "seconds, bare products": bare, "time / bare products": block / bare}
            key = {"method": scale.PHASES[0], "split": split, "protocol": "against d", "k": 5, "n": 100, "d": d, "m": 5}
            rows += tidy(values, **key)
    return pd.DataFrame(rows)


@pytest.mark.parametrize("phase", scale.PHASES)
def test_the_block_that_is_timed_is_a_block(phase):
    X, groups = scale.points(500, 30, 1)
    power = scale.begun(30, 3, 2, phase)
    reader = BlockReader(ArrayStream(X, groups, batch_size=64), power.labels)
    scale.block(reader, power)
    assert [(entry["n_rows"], entry["skipped"]) for entry in power.history] == [(500, False)]
    W = np.random.default_rng(0).normal(size=(30, 3))
    np.testing.assert_allclose(scale.products(X, W), X.T @ X @ W)


@pytest.mark.parametrize("power", [1.0, 0.6, 2.0])
def test_exponents_are_those_of_the_rows_and_can_disagree_with_one(power):
    rows = made(power)
    (line,) = scale.exponents(rows).to_dict("records")
    assert line["block"] == pytest.approx(power, rel=0.02)
    assert line["bare products"] == pytest.approx(1.0)
    assert line["low"] < power < line["high"]
    assert (line["from"], line["to"]) == (10, 40)
    assert (line["low"] < 1.0 < line["high"]) == (power == 1.0)


def test_the_model_counts_the_total_and_a_share_of_the_pairs():
    assert [scale.modelled_bytes(64, workers, 5.0) for workers in (1, 2, 4)] == [5.0, 162.5, 241.25]


def test_workers_send_what_the_model_says(clustered):
    table = scale.message_table(clustered)
    assert len(table) == 2 * 2
    # Which worker has which total is the scheduler's choice, so that single runs are beside the model now and then.
    assert 0.4 <= table["measured / model"].median() <= 1.6
