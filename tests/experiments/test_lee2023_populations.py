"""Made populations: the phases against the estimator, rates of the theory, verdicts that can fail, and one stream."""

from itertools import islice

import numpy as np
import pandas as pd
import pytest

from compendium import records
from compendium.catalogue import task_id
from compendium.claim_rules import rule
from compendium.papers.lee2023 import claims, protocol, readings
from compendium.papers.lee2023.protocol import direction_sine, fairness_gap, optimality_gap, subspace_sine
from compendium.store import MissingNumbersError, read_results
from evenspan import NullItOutPCA
from evenspan.core.errors import ConfigurationError
from evenspan.core.streams import OneShotStream
from evenspan.representation.streaming_fair_pca import StreamingFairPCA

SIZES = (316, 1000, 3162)


@pytest.fixture(scope="module")
def small():
    """The population with prescribed gaps in fewer dimensions."""
    return protocol.gap_controlled(d=16)


@pytest.fixture(scope="module")
def notebook(cells_of):
    """Names of the notebook with few runs."""
    space = cells_of("lee2023-learnability", sizes="20", runs=1, factors="m", factor_sizes="100", factor_runs=1,
                     special_runs=1)  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"SIZES": SIZES, "runs": 10}.items():
            patch.setitem(space["learned"].__globals__, name, value)
        yield space


def tidied(found, case=None, **key) -> pd.DataFrame:
    """What the notebook and the room yield, as rows."""
    key |= {"dataset": case.name, "k": case.k} if case else {}
    shared = {"k": None, "blocks": protocol.BLOCKS, "parameter": 1.0} | key
    rows = records.whole([row for at, values in found for row in records.tidy(values, **(shared | at))])
    return records.checked(rows, "made")


@pytest.fixture(scope="module")
def slope_rows(small, notebook):
    found = [tidied(notebook["slopes"](small, which), small, protocol="slopes") for which in protocol.EXPERIMENTS]
    return pd.concat(found)


def test_gaps_have_their_closed_forms_and_see_the_subspace_not_the_basis():
    E, C = np.eye(4), np.diag([5.0, 3.0, 1.0, 0.5])
    t, target, U = 0.3, E[:, :1], E[:, 2:]
    V = (np.cos(t) * E[0] + np.sin(t) * E[2])[:, None]  # turned by t from the first axis to the third
    assert optimality_gap(V, target, C) == pytest.approx(4.0 * np.sin(t) ** 2)
    assert optimality_gap(V, target, C, relative=True) == pytest.approx(0.8 * np.sin(t) ** 2)
    for sine in (fairness_gap(V, U), subspace_sine(V, target), direction_sine(-7 * V[:, 0], target[:, 0])):
        assert sine == pytest.approx(np.sin(t))
    assert optimality_gap(E[:, 1:3], E[:, :2], C, relative=True) == pytest.approx(0.5)
    # An unfair subspace may keep more than the best fair one.
    assert optimality_gap(E[:, :1], E[:, 1:2], C) == pytest.approx(-2.0)
    assert fairness_gap(E[:, 1:2], E[:, :0]) == 0.0
    rng = np.random.default_rng(3)
    V, T, R = (np.linalg.qr(rng.normal(size=shape))[0] for shape in ((4, 2), (4, 2), (2, 2)))
    for measure in (lambda V: optimality_gap(V, T, C), lambda V: fairness_gap(V, T), lambda V: subspace_sine(V, T)):
        assert measure(V @ R) == pytest.approx(measure(V), rel=1e-12)


def test_a_power_law_has_its_exponent_and_its_required_size():
    values = np.arange(1.0, 11.0)[:, None] * [1.0, 2.0]
    np.testing.assert_array_equal(readings.upper_quantiles(values[::-1], 0.1), [9.0, 18.0])  # the worst run is dropped
    sizes, rng = np.array([10, 100, 1000, 10_000]), np.random.default_rng(0)
    exact = np.tile(3.0 * sizes**-0.5, (20, 1))
    found = readings.quantile_slope(sizes, exact)
    assert (found.slope, found.low, found.high) == pytest.approx((-0.5, -0.5, -0.5))
    np.testing.assert_allclose(readings.required_size(sizes, exact, 0.3), 100.0)
    noisy = exact[:1] * np.exp(0.3 * rng.standard_normal((200, 4)))
    found, wide = readings.quantile_slope(sizes, noisy), readings.quantile_slope(sizes, noisy[:10])
    assert found.low < -0.5 < found.high
    assert 0.005 < found.high - found.low < 0.1
    assert wide.high - wide.low > 2 * (found.high - found.low)
    # What is not above zero has no logarithm; a line that does not fall reaches no level.
    found = readings.quantile_slope(sizes[:3], np.tile([1.0, 0.1, -1.0], (10, 1)))
    assert (found.used, found.slope) == (2, pytest.approx(-1.0))
    assert np.isnan(readings.quantile_slope(sizes[:3], -np.ones((10, 3))).slope)
    assert np.isnan(readings.required_size(sizes[:3], np.tile([0.1, 0.2, 0.3], (10, 1)), 0.01)).all()


def test_the_true_answer_is_the_definition(small):
    """Eigenvectors of largest absolute value, the rest of the mean difference, and the best of what is left."""
    values, vectors = np.linalg.eigh(small.pair.covariance_difference)
    P = vectors[:, np.abs(values) > 1e-9]
    assert P.shape[1] == 4
    assert subspace_sine(small.P, P) < 1e-7
    f = small.pair.mean_difference
    assert subspace_sine(small.U, (f / np.linalg.norm(f))[:, None]) < 1e-7
    projector = np.eye(16) - small.U @ small.U.T
    top = np.linalg.eigh(projector @ small.pair.covariance @ projector)[1][:, -3:]
    assert subspace_sine(small.V, top) < 1e-7
    assert subspace_sine(small.exact(small.U), small.V) < 1e-7
    vanilla = np.linalg.eigh(small.pair.covariance)[1][:, -3:]
    found = protocol.judged(small, vanilla)
    assert found["eps_o"] < 0.0 < 0.05 < found["eps_f"], "what PCA keeps more is what is forbidden"


def test_the_phases_are_those_of_the_estimator(small):
    """Driven one by one or by the estimator on one stream that goes on: the same answer from the same start."""
    power, blocks = protocol.estimated(small, (3, 400), 5)
    protocol.feed(power, blocks, 5)
    start = np.random.default_rng((protocol.SEED, 3, 400, 0))
    estimator = StreamingFairPCA(3, 4, center="none", n_blocks=5, block_size=400, groups=[0, 1], random_state=start)
    estimator.fit(OneShotStream(islice(protocol.fresh(small, 400, 3), 10)))
    assert subspace_sine(estimator.nullified_.T, power.U) < 1e-9
    assert subspace_sine(estimator.components_.T, power.basis) < 1e-9


def test_true_directions_leave_no_unfairness_at_any_size(small, notebook):
    for size in (10, 300):
        found = notebook["one_run"](small, protocol.GIVEN, size, 0)
        assert found["eps_f"] < 1e-10 < found["eps_o"]
    assert notebook["one_run"](small, protocol.EXACT, 300, 0)["eps_f"] > 1e-3, "estimated ones do"


def test_errors_fall_at_the_rates_of_the_theory_and_the_verdict_can_fail(slope_rows, reads):
    table = readings.slopes(slope_rows).set_index(["experiment", "metric", "sizes"])["slope"]
    for experiment, metric, low, high in (
        (protocol.EXACT, "eps_f", -0.65, -0.35), (protocol.BOTH, "eps_f", -0.65, -0.35),
        (protocol.GIVEN, "eps_o", -1.2, -0.8),
    ):  # fmt: skip
        assert low < table[experiment, metric, "from 300 rows"] < high
    assert (protocol.GIVEN, "eps_f", "all") not in table.index, "rounding noise only"
    value, fair = slope_rows["value"], slope_rows["metric"] == "eps_f"
    flat, steep = value * slope_rows["size"] ** 1.2, value.where(~fair, value / slope_rows["size"])
    for values, answer in ((value, "holds"), (flat, "does not hold"), (steep, "holds in part")):
        reads(claims, slope_rows.assign(value=values))
        assert claims.rates().here == answer


def power_law(exponents: dict[str, float]) -> pd.DataFrame:
    """Made-up rows in which the rows needed grow exactly so in every factor, and errors as eps^-2 and eps^-1."""
    rng, found = np.random.default_rng(0), []
    for factor, chosen in protocol.FACTORS.items():
        for level in chosen.levels:
            for metric, rate in (("eps_f", 0.5), ("eps_o", 1.0)):
                need = 20_000.0 * (level / chosen.levels[0]) ** exponents.get(f"{factor} {metric}", 0.0)
                for size in SIZES:
                    for seed in range(5):
                        value = readings.LEVELS[metric] * (need / (25 * size)) ** rate * np.exp(0.01 * rng.normal())
                        at = {"method": "x", "protocol": f"growth in {factor}", "parameter": level}
                        found.append((at | {"split": seed, "size": size}, {metric: value}))
    for metric, rate, which in (("eps_f", 0.5, protocol.EXACT), ("eps_o", 1.0, protocol.GIVEN)):
        for size in SIZES:
            at = {"method": which, "protocol": "slopes", "size": size}
            found += [(at | {"split": n}, {metric: size**-rate * (1 + 0.01 * rng.random())}) for n in range(5)]
    return tidied(found, protocol.gap_controlled())


def test_exponents_and_rows_needed_are_those_put_in():
    scales = {"scale of group gaps eps_f": -1.2, "scale of all gaps eps_f": 0.5}
    rows = power_law({"d eps_f": 1.0, "p eps_f": -0.8} | scales)
    table = readings.growth_table(rows).set_index(["factor", "metric"])["exponent"]
    assert table["d", "eps_f"] == pytest.approx(1.0, abs=0.03)
    assert table["p", "eps_f"] == pytest.approx(-0.8, abs=0.03)
    needs = readings.needs(rows).set_index(["factor", "metric", "against"])["rows"]
    assert needs["d", "eps_f", 30] == pytest.approx(20_000, rel=0.05)
    assert needs["d", "eps_f", 240] == pytest.approx(160_000, rel=0.05)


def test_verdict_on_the_sample_size_compares_growth_with_the_bound(reads):
    for exponents, answer in (
        ({"d eps_f": 0.9, "m eps_f": 0.6, "p eps_f": -0.9, "gap of groups eps_f": -2.0}, "holds"),
        ({"m eps_f": 1.5}, "holds in part"),
        ({"p eps_f": -1.6}, "holds in part"),
        ({"gap of variances eps_o": -4.0}, "holds in part"),
        ({"m eps_f": 1.0 + rule("L04", "tolerance")}, "holds"),  # the end of the interval counts, not its middle
    ):
        reads(claims, power_law(exponents))
        assert claims.sample_size().here == answer


def test_a_block_without_a_group_destroys_what_the_released_program_learnt(small):
    """Our step leaves W as it is, to the last bit; theirs puts the first axes in its place."""
    X, groups = small.pair.sample(5000, np.random.default_rng(5))
    W, zeros = protocol.released(small, iter([(X, groups)] * 8), 8, np.random.default_rng(1))
    assert zeros == 0
    assert subspace_sine(W, small.P) < 0.2
    only = X[groups == 0], groups[groups == 0]
    lost, zeros = protocol.released(small, iter([(X, groups)] * 8 + [only]), 9, np.random.default_rng(1))
    assert zeros == 1
    np.testing.assert_allclose(abs(lost), np.eye(16)[:, :4], atol=1e-12)
    assert subspace_sine(lost, small.P) > 0.5
    for on_missing in ("skip", "carry"):
        power = protocol.begin(small, (1,), on_missing=on_missing)
        protocol.feed(power, iter([(X, groups)] * 8), 8)
        before = power.W.copy()
        protocol.feed(power, iter([only]), 1)
        np.testing.assert_array_equal(power.W, before)


def test_enough_rows_of_a_rare_group_matter_more_than_a_skipped_block(notebook):
    rows = tidied(notebook["rare_group"](range(2)), protocol="rare group")
    sine = rows[rows["metric"] == "sine of W"].groupby("method")["value"].median()
    assert sine["carry to 100 rows"] < 0.3 < 0.6 < min(sine["skip"], sine["carry"])
    without = rows[rows["metric"] == "blocks without a step"].groupby("method")["value"].mean()
    assert abs(without[protocol.RELEASED] - 0.98**50) < 0.1


def test_about_zero_a_distant_mean_takes_directions_of_the_gap(notebook):
    rows = tidied(notebook["shifted_mean"](range(1)), protocol.gap_controlled(), protocol="shifted mean")
    value = rows.set_index(["metric", "parameter", "method"])["value"]
    zero, *others = notebook["CENTRES"].values()
    assert value["sine of W", 3.0, zero] > 0.9
    for name in others:
        assert value["sine of W", 3.0, name] < 0.4
        assert abs(value["sine of W", 3.0, name] - value["sine of W", 0.0, name]) < 0.02
    assert value["share of the mean in W", 3.0, zero] > 0.9 > 0.4 > value["share of the mean in W", 3.0, others[0]]


def test_the_iteration_orders_by_absolute_value(notebook, reads):
    rows = tidied(notebook["order_of_eigenvalues"](range(1)), k=3, protocol="order of eigenvalues")
    swapped = rows["metric"].map({protocol.SIGNED: protocol.ABSOLUTE, protocol.ABSOLUTE: protocol.SIGNED})
    changes = (
        ({}, "holds in part", "the objection holds"),
        ({"metric": swapped}, "holds", "the statement holds"),
        ({"value": 0.9}, "does not hold", "the statement holds"),
    )
    for change, answer, outcome in changes:
        reads(claims, rows.assign(**change))
        assert claims.top_eigenvectors().here == answer
        assert claims.order_of_eigenvectors()[0] == outcome


def test_every_stored_unit_is_one_of_the_notebook(notebook, cells_of):
    over = notebook["over"] + [{"part": "growth", "factor": name} for name in protocol.FACTORS if name != "m"]
    assert {task_id(unit) for unit in over} == set(read_results("lee2023-learnability")["task"])
    assert set(notebook["results"]["protocol"]) == {"slopes", "growth in m", *notebook["SPECIAL"]}
    with pytest.raises(ConfigurationError, match="there is no n; known are d, k, m, p"):
        cells_of("lee2023-learnability", factors="n")


def test_without_stored_runs_there_is_no_answer(reads):
    reads(claims, pd.DataFrame(columns=[*records.TIDY, "task"], dtype=str))
    for named in claims.CLAIMS.values():
        for claim, answer in named.items():
            if claim not in ("L07", "L09"):  # which need none
                with pytest.raises(MissingNumbersError):
                    answer()


@pytest.fixture(scope="module")
def side_by_side(cells_of):
    return cells_of("lee2023-comparison", generator="gap-controlled", directions="2, 4", size=1000, streams=2)


def test_each_constraint_removes_what_it_names(side_by_side):
    rows = side_by_side["results"]
    measured = rows[rows["block"].eq(side_by_side["blocks"]) & ~rows["metric"].str.startswith("component")]
    table = measured.groupby(["method", "metric"])["value"].median().unstack()
    vanilla, matched, part, whole = (table.loc[name] for name in side_by_side["METHODS"])
    assert vanilla["mean gap"] > 0.5 > 0.05 > max(row["mean gap"] for row in (matched, part, whole))
    assert min(vanilla["covariance gap"], matched["covariance gap"]) > 0.5
    assert part["covariance gap"] < 0.3
    assert whole["covariance gap"] < 0.05
    assert vanilla["variance kept"] > 0.98
    assert vanilla["variance kept"] > matched["variance kept"] > whole["variance kept"] > 0.3


def test_measures_are_shares_of_the_truth(side_by_side):
    pair = side_by_side["POPULATIONS"]["authors"]
    top = np.linalg.eigh(pair.covariance)[1][:, :-3:-1]
    found, f = protocol.shares_left(pair, top), pair.mean_difference
    assert found["variance kept"] == pytest.approx(1.0)
    assert found["mean gap"] == pytest.approx(np.linalg.norm(top.T @ f) / np.linalg.norm(f))
    values = np.sort(abs(np.linalg.eigvalsh(pair.covariance_difference)))
    for m, most in ((3, values[-4] / values[-1]), (10, 0.0)):  # the gap has rank 10
        exact = protocol.shares_left(pair, NullItOutPCA(2, m).fit_moments(pair.moments()).components_.T)
        assert exact["mean gap"] < 1e-9
        assert exact["covariance gap"] <= most + 1e-9
