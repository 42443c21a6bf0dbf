"""The scale study: exponents and verdicts follow from the rows, and bytes counted agree with the model."""

import contextlib
import math

import numpy as np
import pandas as pd
import pytest

from compendium.papers.lee2023 import scale
from compendium.records import checked, tidy, whole
from evenspan.core.streams import ArrayStream
from evenspan.representation.block_readers import BlockReader

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


@pytest.mark.parametrize(("power", "verdict"), [(1.0, "agree with 1"), (0.6, "lie below 1"), (2.0, "lie above 1")])
def test_exponents_are_those_of_the_rows_and_can_disagree_with_one(power, verdict):
    rows = made(power)
    (line,) = scale.exponents(rows).to_dict("records")
    assert line["block"] == pytest.approx(power, rel=0.02)
    assert line["bare products"] == pytest.approx(1.0)
    assert line["block, low"] < power < line["block, high"]
    assert (line["from"], line["to"]) == (10, 40)
    told = scale.proportional(rows)
    assert f"{verdict}: d in phase 1 (gap) ({line['block']:.2f})" in told
    assert told.count("none") == 2
    (line,) = scale.exponents(made(power, (1.0,))).to_dict("records")
    assert math.isnan(line["block, low"]), "one repetition has no interval"


FAST, SLOW = [1.2, 1.8, 1.9], [1.9, 1.4, 1.3]


@pytest.mark.parametrize(
    ("ratios", "answer"),
    [
        (dict.fromkeys(scale.BOTH, FAST), "holds"),
        ({scale.MOMENTS: FAST, scale.PHASES[0]: SLOW}, "holds in part"),
        (dict.fromkeys(scale.BOTH, SLOW), "does not hold"),
        (dict.fromkeys(scale.BOTH, FAST[1:]), "not judged"),
    ],
)
def test_the_median_over_three_rounds_decides_about_two_workers(ratios, answer):
    rows = [(method, split, value) for method, values in ratios.items() for split, value in enumerate(values)]
    rows = pd.DataFrame(rows, columns=["method", "split", "value"]).assign(metric="speed-up", protocol="workers")
    found, told = scale.two_workers(rows.assign(n=6_400_000, d=200, chunks=128))
    assert found == answer
    assert "10.2 GB" in told


# -- messages ----------------------------------------------------------------------------------------------------------


def test_edges_are_those_of_a_tree_in_which_eight_meet():
    assert [scale.edges(chunks) for chunks in (1, 2, 8, 9, 64, 65)] == [0, 2, 8, 8 + 1 + 2, 72, 64 + 1 + 8 + 1 + 2]
    assert [scale.edges(64, workers) for workers in (1, 2, 1000)] == [0, 36, 63]
    assert scale.modelled_bytes(64, 1, 5.0, 100.0) == 5.0
    assert scale.modelled_bytes(64, 4, 5.0, 100.0) == 300.0 + 54 * 5.0 + 5.0


def test_workers_send_what_the_model_says(clustered):
    table = scale.message_table(clustered)
    assert len(table) == 2 * 2 * 3
    assert (table["bytes sent by workers"] <= 1.01 * table["bound"]).all()
    # Which worker has which total is the scheduler's choice, so that single runs are beside the model now and then.
    assert 0.4 <= table["measured / model"].median() <= 1.6
    # A worker counts the numbers that it sends; the model has the heads of the messages, too, some hundred bytes.
    alone = table[table["workers"] == 1]
    numbers = alone["bytes of a sum"] / alone["sum / formula"]
    np.testing.assert_allclose(alone["bytes sent by workers"], numbers, rtol=0.02)
    assert table["sum / formula"].between(1.0, 1.4).all()
    assert "none lie(s) above the bound" in scale.within_model(clustered)
    # The rows of a chunk would be more than all that travels: none of them did.
    blocks = table[table["method"] != scale.MOMENTS]
    assert (blocks["bytes sent by workers"] < 8.0 * 64 * 50 * blocks["d"]).all()
    # counts above the bound are told
    values = {"bytes sent by workers": 1e6, "bytes of a sum": 1e3, "bytes of the operand": 0.0}
    key = {"method": scale.MOMENTS, "k": 10, "protocol": "messages", "n": 3200, "d": 50, "m": 10}
    assert "of 1 counts 1 lie(s) above" in scale.within_model(pd.DataFrame(tidy(values, **key, workers=2, chunks=64)))


def test_more_workers_leave_less_of_the_time_for_work():
    shares = scale.extrapolated().set_index(["workers", "link", "n"])["share of work"]
    at_100 = shares[100]
    assert (shares[1] == 1.0).all()
    assert (at_100 < 1.0).all()
    assert at_100["10 Gbit/s"][162_770] > at_100["1 Gbit/s"][162_770]
    assert at_100["1 Gbit/s"][10_000_000] > at_100["1 Gbit/s"][162_770]
    for link, bandwidth in scale.BANDWIDTHS.items():
        half = scale._travel(100) * 4.0 / bandwidth * scale.RATE * 100 / 4.0  # work and travel take as long
        assert f"{half:,.0f} rows at {link}" in scale.half_told()
