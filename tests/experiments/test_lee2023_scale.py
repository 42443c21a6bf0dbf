"""The scale study: rows are tidy, exponents and verdicts follow from them, and bytes counted agree with the model."""

import math

import numpy as np
import pandas as pd
import pytest

from compendium.experiments import lee2023_scale as scale
from compendium.experiments import lee2023_scale_model as model
from compendium.experiments.records import checked

pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def small():
    """Two studies of growth with tiny sizes."""
    base, sizes = {"n": 300, "d": 40, "k": 3, "m": 2}, {"n": (200, 400, 800), "k": (2, 4)}
    return pd.concat([scale.growth(axis, base, sizes[axis], 3) for axis in sizes], ignore_index=True)


@pytest.fixture(scope="module")
def clustered():
    """Times and messages of one worker and two on tiny tables."""
    with scale.clusters((1, 2)) as clients:
        times = scale.side_by_side(clients, {"d": 20, "rows": 60, "chunks": 6}, 3)
        sent = scale.messages(clients, (20, 30), 1)
    return pd.concat([times, sent], ignore_index=True)


def made(axis: str, power: float, noise=(1.0, 1.02, 0.99)) -> pd.DataFrame:
    """Rows of a study in which seconds grow with the given power of one size."""
    rows = []
    for split, factor in enumerate(noise):
        for size in (10, 20, 40):
            case = {"n": 100, "d": 50, "m": 5, axis: size}
            seconds = 1e-3 * size ** (power * factor)
            for metric, value in (
                ("seconds", 2 * seconds),
                ("seconds, bare products", 1e-3 * size),
                ("time / bare products", 2 * seconds / (1e-3 * size)),
            ):
                key = (scale.GENERATED, model.PHASES[0], case.get("k", 5), split, f"against {axis}", metric, value)
                rows.append((*key, case["n"], case["d"], case["m"], 0, 0))
    return pd.DataFrame(rows, columns=scale.COLUMNS)


def timed(ratios: dict[str, list[float]]) -> pd.DataFrame:
    rows = [
        (scale.GENERATED, method, 10, split, "workers", "speed-up", value, 6_400_000, 200, 10, 2, 128)
        for method, values in ratios.items()
        for split, value in enumerate(values)
    ]
    return pd.DataFrame(rows, columns=scale.COLUMNS)


def test_tasks_are_the_sizes_the_workers_and_the_messages():
    assert [task["study"] for task in scale.tasks()] == ["n", "d", "k", "m", "workers", "messages"]
    with pytest.raises(ValueError, match="10 components"):
        scale.run(11)
    gigabytes = 8e-9 * scale.TABLE["rows"] * scale.TABLE["chunks"] * scale.TABLE["d"]
    assert gigabytes >= 10
    assert scale.ROUNDS >= 3


def test_a_block_is_timed_beside_its_bare_products(small):
    checked(small, "growth")
    assert set(small["metric"]) == {"seconds", "seconds, bare products", "time / bare products"}
    assert (small["value"] > 0).all()
    assert set(small.loc[small["protocol"] == "against k", "method"]) == {model.PHASES[1]}, "m alone grows phase 1"
    table = model.exponents(small)
    assert table[["axis", "phase"]].to_numpy().tolist() == [
        ["n", model.PHASES[0]], ["n", model.PHASES[1]], ["k", model.PHASES[1]],
    ]  # fmt: skip
    relative = model.curves(small)
    assert (relative[relative["growth"] == 1.0]["median"] == 1.0).all()


def test_the_block_that_is_timed_is_a_block():
    X, groups = scale.points(500, 30, 1)
    for phase in model.PHASES:
        power = scale.begun(30, 3, 2, phase)
        reader = scale.BlockReader(scale.ArrayStream(X, groups, batch_size=64), power.labels)
        scale.block(reader, power)
        assert [(entry["n_rows"], entry["skipped"]) for entry in power.history] == [(500, False)]
    W = np.random.default_rng(0).normal(size=(30, 3))
    np.testing.assert_allclose(scale.products(X, W), X.T @ X @ W)


@pytest.mark.parametrize(
    ("power", "verdict"), [(1.0, "agree with 1"), (0.6, "lie below 1"), (2.0, "lie above 1")]
)  # fmt: skip
def test_exponents_are_those_of_the_rows_and_can_disagree_with_one(power, verdict):
    rows = made("d", power)
    (line,) = model.exponents(rows).to_dict("records")
    assert line["block"] == pytest.approx(power, rel=0.02)
    assert line["bare products"] == pytest.approx(1.0)
    assert line["block, low"] < power < line["block, high"]
    assert (line["from"], line["to"]) == (10, 40)
    told = model.proportional(rows)
    assert f"{verdict}: d in phase 1 (gap) ({line['block']:.2f})" in told
    assert told.count("none") == 2


def test_one_repetition_has_no_interval():
    (line,) = model.exponents(made("n", 1.0, (1.0,))).to_dict("records")
    assert math.isnan(line["block, low"])


def test_the_median_over_three_rounds_decides_about_two_workers():
    fast, slow = [1.2, 1.8, 1.9], [1.9, 1.4, 1.3]
    for ratios, answer in (
        (dict.fromkeys(model.BOTH, fast), "holds"),
        ({model.MOMENTS: fast, model.PHASES[0]: slow}, "holds in part"),
        (dict.fromkeys(model.BOTH, slow), "does not hold"),
        (dict.fromkeys(model.BOTH, fast[1:]), "not judged"),
    ):
        found, told = model.two_workers(timed(ratios))
        assert found == answer
        assert "10.2 GB" in told
    table = model.speedups(timed({model.MOMENTS: fast}))
    assert table[["median", "smallest", "largest", "rounds"]].to_numpy().tolist() == [[1.8, 1.2, 1.9, 3]]
    assert model.rounds(timed({model.MOMENTS: fast}))["value"].tolist() == fast


def test_the_full_run_is_shown_study_by_study_where_it_is_stored():
    rows = pd.concat([made("n", 1.0).assign(source="this build"), made("d", 1.0).assign(source="this build"),
                      made("n", 2.0).assign(source="full run")])  # fmt: skip
    shown = model.largest(rows)
    assert shown.groupby("protocol")["source"].unique().map(list).to_dict() == {
        "against n": ["full run"],
        "against d": ["this build"],
    }


# -- messages -----------------------------------------------------------------------------------------------------


def test_edges_are_those_of_a_tree_in_which_eight_meet():
    assert [model.edges(chunks) for chunks in (1, 2, 8, 9, 64, 65)] == [0, 2, 8, 8 + 1 + 2, 72, 64 + 1 + 8 + 1 + 2]
    assert model.edges(64, 1) == 0
    assert model.edges(64, 2) == 36
    assert model.edges(64, 1000) == 63
    assert model.modelled_bytes(64, 1, 5.0, 100.0) == 5.0
    assert model.modelled_bytes(64, 4, 5.0, 100.0) == 300.0 + 54 * 5.0 + 5.0


def test_workers_send_what_the_model_says(clustered):
    checked(clustered, "cluster")
    table = model.message_table(clustered)
    assert len(table) == 2 * 2 * 3
    assert (table["bytes sent by workers"] <= 1.01 * table["bound"]).all()
    assert table["measured / model"].between(0.4, 1.6).all()
    # A worker counts the numbers that it sends; the model has the heads of the messages, too, some hundred bytes.
    alone = table[table["workers"] == 1]
    numbers = alone["bytes of a sum"] / alone["sum / formula"]
    np.testing.assert_allclose(alone["bytes sent by workers"], numbers, rtol=0.02)
    assert table["sum / formula"].between(1.0, 1.4).all()
    assert "none lie(s) above the bound" in model.within_model(clustered)
    # The rows of a chunk would be more than all that travels: none of them did.
    moments = table[table["method"] != model.MOMENTS]
    assert (moments["bytes sent by workers"] < 8.0 * scale.CHUNKS * scale.CHUNK_ROWS * moments["d"]).all()


def test_counts_above_the_bound_are_told():
    rows = [
        (scale.GENERATED, model.MOMENTS, 10, 0, "messages", metric, value, 3200, 50, 10, 2, 64)
        for metric, value in (("bytes sent by workers", 1e6), ("bytes of a sum", 1e3), ("bytes of the operand", 0.0))
    ]
    assert "of 1 counts 1 lie(s) above" in model.within_model(pd.DataFrame(rows, columns=scale.COLUMNS))


def test_both_clusters_are_timed_in_every_round(clustered):
    times = clustered[(clustered["protocol"] == "workers") & (clustered["metric"] == "seconds")]
    assert times.groupby(["method", "split"])["workers"].unique().map(sorted).map(tuple).unique().tolist() == [(1, 2)]
    ratio = model.rounds(clustered)
    assert ratio.groupby("method").size().to_dict() == dict.fromkeys(model.BOTH, 3)
    assert model.two_workers(clustered)[0] in ("holds", "holds in part", "does not hold")


def test_more_workers_leave_less_of_the_time_for_work():
    shares = model.extrapolated()
    assert shares["workers"].max() == 100
    for _, line in shares.groupby(["link", "n"]):
        assert line["share of work"].iloc[0] == 1.0
        assert line["share of work"].iloc[-1] < 1.0
    at_100 = shares[shares["workers"] == 100].set_index(["link", "n"])["share of work"]
    assert at_100["10 Gbit/s"][162_770] > at_100["1 Gbit/s"][162_770]
    assert at_100["1 Gbit/s"][10_000_000] > at_100["1 Gbit/s"][162_770]
    for link in model.BANDWIDTHS:
        half = model.rows_for_half(100, link)
        work, travel = 4.0 * half / (model.RATE * 100), model._travel(100) * 4.0 / model.BANDWIDTHS[link]
        assert work == pytest.approx(travel)
        assert f"{half:,.0f} rows at {link}" in model.half_told()
