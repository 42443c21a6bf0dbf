"""Learnability: the phases against the estimator and the exact answer, rates of the theory, verdicts that can fail."""

from itertools import islice

import numpy as np
import pandas as pd
import pytest

from compendium.experiments import lee2023_judge as judge
from compendium.experiments import lee2023_learnability as learnability
from compendium.experiments import lee2023_learnability_claims as claims
from compendium.experiments import lee2023_learnability_effects as effects
from compendium.experiments import lee2023_learnability_protocol as protocol
from compendium.experiments import records
from compendium.experiments.claim_rules import Answer
from evenspan.core.errors import ConfigurationError
from evenspan.core.streams import OneShotStream
from evenspan.representation.streaming_fair_pca import StreamingFairPCA

SIZES = (316, 1000, 3162)


@pytest.fixture(scope="module")
def small():
    """The population with prescribed gaps in fewer dimensions."""
    return protocol.gap_controlled(d=16)


@pytest.fixture(scope="module")
def slope_rows(small):
    return pd.concat(
        [learnability.slope_rows(small, which, SIZES, 10) for which in (claims.BOTH, claims.GIVEN, claims.EXACT)]
    ).assign(source="full run")


def test_the_true_answer_is_the_definition(small):
    """Eigenvectors of largest absolute value, the rest of the mean difference, and the best of what is left."""
    values, vectors = np.linalg.eigh(small.pair.covariance_difference)
    P = vectors[:, np.abs(values) > 1e-9]
    assert P.shape[1] == 4
    assert judge.subspace_sine(small.P, P) < 1e-7
    f = small.pair.mean_difference
    assert judge.subspace_sine(small.U, (f / np.linalg.norm(f))[:, None]) < 1e-7
    projector = np.eye(16) - small.U @ small.U.T
    top = np.linalg.eigh(projector @ small.pair.covariance @ projector)[1][:, -3:]
    assert judge.subspace_sine(small.V, top) < 1e-7
    assert judge.subspace_sine(small.exact(small.U), small.V) < 1e-7
    vanilla = np.linalg.eigh(small.pair.covariance)[1][:, -3:]
    found = protocol.judged(small, vanilla)
    assert found["eps_o"] < 0.0 < 0.05 < found["eps_f"], "what PCA keeps more is what is forbidden"


def test_the_phases_are_those_of_the_estimator(small):
    """Driven one by one or by the estimator on one stream that goes on: the same answer from the same start."""
    power, blocks = protocol.begin(small, (3,)), protocol.fresh(small, 400, 3)
    protocol.feed(power, blocks, 5).end_gap_phase()
    protocol.feed(power, blocks, 5)
    rows = islice(protocol.fresh(small, 400, 3), 10)
    start = np.random.default_rng((protocol.SEED, 3, 0))
    estimator = StreamingFairPCA(3, 4, center="none", n_blocks=5, block_size=400, groups=[0, 1], random_state=start)
    estimator.fit(OneShotStream(rows))
    assert judge.subspace_sine(estimator.nullified_.T, power.U) < 1e-9
    assert judge.subspace_sine(estimator.components_.T, power.basis) < 1e-9


def test_true_directions_leave_no_unfairness_at_any_size(small):
    for size in (10, 300):
        found = learnability.one_run(small, claims.GIVEN, size, 0)
        assert found["eps_f"] < 1e-10 < found["eps_o"]
    assert learnability.one_run(small, claims.EXACT, 300, 0)["eps_f"] > 1e-3, "estimated ones do"


def test_errors_fall_at_the_rates_of_the_theory(slope_rows):
    records.checked(slope_rows, "slopes")
    table = claims.slopes(slope_rows).set_index(["experiment", "metric", "sizes"])["slope"]
    assert -0.65 < table[claims.EXACT, "eps_f", "from 300 rows"] < -0.35
    assert -0.65 < table[claims.BOTH, "eps_f", "from 300 rows"] < -0.35
    assert -1.2 < table[claims.GIVEN, "eps_o", "from 300 rows"] < -0.8
    assert claims.GIVEN not in claims.slopes(slope_rows).query("metric == 'eps_f'")["experiment"].to_numpy()
    answer, evidence, _ = claims.learnable_from(slope_rows)
    assert answer == "holds"
    assert "gap-controlled, true directions given, eps_o" in evidence


def test_verdict_on_learnability_can_fail(slope_rows):
    flat = slope_rows.assign(value=slope_rows["value"] * slope_rows["size"] ** 1.2)
    assert claims.learnable_from(flat).here == "does not hold"
    steep = slope_rows["value"].where(slope_rows["metric"] != "eps_f", slope_rows["value"] / slope_rows["size"])
    assert claims.learnable_from(slope_rows.assign(value=steep)).here == "holds in part"


def test_curves_keep_what_has_no_logarithm(slope_rows):
    some = slope_rows["value"].where(slope_rows["metric"] != "eps_o", slope_rows["value"] - 0.02)
    found = claims.curves(slope_rows.assign(value=some))
    share = found[(found["metric"] == "eps_o") & (found["experiment"] == claims.GIVEN)]["below zero"]
    assert share.max() == 1.0
    assert (found.loc[found["metric"] == "eps_f", "below zero"] == 0.0).all()


# -- growth -----------------------------------------------------------------------------------------------------------


def power_law(exponents: dict[str, float]) -> pd.DataFrame:
    """Made-up rows in which the rows needed grow exactly so in every factor, and errors as eps^-2 and eps^-1."""
    rows, rng = [], np.random.default_rng(0)
    for factor, chosen in effects.FACTORS.items():
        for level in chosen.levels:
            for metric, rate in (("eps_f", 0.5), ("eps_o", 1.0)):
                need = 20_000.0 * (level / chosen.levels[0]) ** exponents.get(f"{factor} {metric}", 0.0)
                for size in SIZES:
                    for seed in range(5):
                        value = claims.LEVELS[metric] * (need / (25 * size)) ** rate * np.exp(0.01 * rng.normal())
                        rows.append(("gap-controlled", "x", 3, seed, f"growth in {factor}", metric, value, size, 25, level))  # noqa: E501  # fmt: skip
    for metric, rate, which in (("eps_f", 0.5, claims.EXACT), ("eps_o", 1.0, claims.GIVEN)):
        for size in SIZES:
            rows += [("gap-controlled", which, 3, seed, "slopes", metric, size**-rate * (1 + 0.01 * rng.random()), size, 25, 1.0) for seed in range(5)]  # noqa: E501  # fmt: skip
    return pd.DataFrame(rows, columns=effects.COLUMNS)


def test_exponents_and_rows_needed_are_those_put_in():
    rows = power_law({"d eps_f": 1.0, "p eps_f": -0.8})
    table = claims.growth_table(rows).set_index(["factor", "metric"])
    assert table.loc[("d", "eps_f"), "exponent"] == pytest.approx(1.0, abs=0.03)
    assert table.loc[("p", "eps_f"), "exponent"] == pytest.approx(-0.8, abs=0.03)
    needs = claims.needs(rows).set_index(["factor", "metric", "against"])["rows"]
    assert needs["d", "eps_f", 30] == pytest.approx(20_000, rel=0.05)
    assert needs["d", "eps_f", 240] == pytest.approx(160_000, rel=0.05)


@pytest.mark.parametrize(
    ("exponents", "answer"),
    [
        ({"d eps_f": 0.9, "m eps_f": 0.6, "p eps_f": -0.9, "gap of groups eps_f": -2.0}, "holds"),
        ({"m eps_f": 1.5}, "holds in part"),
        ({"p eps_f": -1.6}, "holds in part"),
        ({"gap of variances eps_o": -4.0}, "holds in part"),
    ],
)
def test_verdict_on_the_sample_size_compares_growth_with_the_bound(exponents, answer):
    found, evidence, _ = claims.sample_size_from(power_law(exponents))
    assert found == answer
    assert "1/eps_f 2.0" in evidence


def test_growth_measures_both_phases(monkeypatch):
    monkeypatch.setitem(effects.FACTORS, "d", effects.Factor((12, 20), lambda d: protocol.gap_controlled(d=int(d)), {}))
    rows = effects.growth("d", 2, (200, 400))
    records.checked(rows, "growth")
    assert rows.groupby(["parameter", "size"]).size().tolist() == [2 * 5] * 4
    wide = rows.groupby(["metric", "size"])["value"].mean()
    for metric in ("eps_f", "eps_o", "sine of V", "sine of W"):
        assert wide[metric, 400] < wide[metric, 200]


def test_monotone_is_said_of_what_falls_at_every_step():
    rows = power_law({"scale of group gaps eps_f": -1.2, "scale of all gaps eps_f": 0.5})
    found = claims.monotone(rows.assign(metric=rows["metric"].replace("eps_o", "sine of V")))
    falls = found.groupby(["factor", "metric"])["falls"].agg(set).to_dict()
    assert falls["scale of group gaps", "eps_f"] == {"yes"}
    assert falls["scale of all gaps", "eps_f"] == {"no"}
    assert ("scale of group gaps", "sine of V") not in falls


def test_every_factor_has_populations_that_differ_in_what_it_names():
    for name, factor in effects.FACTORS.items():
        cases = [factor.population(level) for level in factor.levels]
        assert len({case.pair.d for case in cases}) == (4 if name == "d" else 1)
        assert len({case.k for case in cases}) == (4 if name == "k" else 1)
        assert len({case.m for case in cases}) == (4 if name == "m" else 1)
        values = [np.sort(abs(np.linalg.eigvalsh(case.pair.covariance_difference)))[::-1] for case in cases]
        gaps = [v[case.m - 1] - v[case.m] for v, case in zip(values, cases, strict=True)]
        if name == "gap of groups":
            np.testing.assert_allclose(gaps, factor.levels)
        elif not name.startswith("scale"):
            np.testing.assert_allclose(gaps, 3.5)


# -- special effects --------------------------------------------------------------------------------------------------


def test_a_block_without_a_group_destroys_what_the_released_program_learnt(small):
    """Our step leaves W as it is, to the last bit; theirs puts the first axes in its place."""
    X, groups = small.pair.sample(5000, np.random.default_rng(5))
    start = np.random.default_rng(1)
    W, zeros = effects.released(small, iter([(X, groups)] * 8), 8, start)
    assert zeros == 0
    assert judge.subspace_sine(W, small.P) < 0.2
    only = X[groups == 0], groups[groups == 0]
    lost, zeros = effects.released(small, iter([(X, groups)] * 8 + [only]), 9, np.random.default_rng(1))
    assert zeros == 1
    np.testing.assert_allclose(abs(lost), np.eye(16)[:, :4], atol=1e-12)
    assert judge.subspace_sine(lost, small.P) > 0.5
    for on_missing in ("skip", "carry"):
        power = protocol.begin(small, (1,), on_missing=on_missing)
        protocol.feed(power, iter([(X, groups)] * 8), 8)
        before = power.W.copy()
        protocol.feed(power, iter([only]), 1)
        np.testing.assert_array_equal(power.W, before)


def test_enough_rows_of_a_rare_group_matter_more_than_a_skipped_block():
    rows = effects.rare_group(2)
    records.checked(rows, "rare")
    sine = rows[rows["metric"] == "sine of W"].groupby("method")["value"].median()
    assert sine["carry to 100 rows"] < 0.3 < 0.6 < min(sine["skip"], sine["carry"])
    without = rows[rows["metric"] == "blocks without a step"].groupby("method")["value"].mean()
    assert abs(without[effects.RELEASED] - 0.98**50) < 0.1


def test_about_zero_a_distant_mean_takes_directions_of_the_gap(monkeypatch):
    monkeypatch.setattr(effects, "SHIFTS", (0.0, 3.0))
    rows = effects.centre(1)
    records.checked(rows, "centre")
    sine = rows[rows["metric"] == "sine of W"].set_index(["parameter", "method"])["value"]
    names = list(effects.CENTRES.values())
    assert sine[3.0, names[0]] > 0.9
    for name in names[1:]:
        assert sine[3.0, name] < 0.4
        assert abs(sine[3.0, name] - sine[0.0, name]) < 0.02
    share = rows[rows["metric"] == "share of the mean in W"].set_index("method")["value"]
    assert share[names[0]] > 0.9 > 0.4 > share[names[1]]


def test_the_iteration_orders_by_absolute_value():
    rows = effects.order(1)
    records.checked(rows, "order")
    assert claims.top_eigenvectors_from(rows).here == "holds in part"
    swapped = rows["metric"].map({effects.SIGNED: effects.ABSOLUTE, effects.ABSOLUTE: effects.SIGNED})
    assert claims.top_eigenvectors_from(rows.assign(metric=swapped)).here == "holds"
    assert claims.top_eigenvectors_from(rows.assign(value=0.9)).here == "does not hold"


# -- the whole --------------------------------------------------------------------------------------------------------


def test_tasks_name_everything_once_and_reach_their_code(monkeypatch):
    tasks = learnability.tasks()
    assert len(tasks) == 9 + len(effects.FACTORS) + 3
    monkeypatch.setattr(learnability, "RUNS", 1)
    monkeypatch.setattr(learnability, "SIZES", (20,))
    rows = learnability.run_task(**next(task for task in tasks if task.get("generator") == "authors d=10"))
    assert set(rows["dataset"]) == {"authors d=10"}
    monkeypatch.setattr(effects, "RUNS", 1)
    monkeypatch.setitem(effects.FACTORS, "m", effects.Factor((1,), lambda m: protocol.gap_controlled(d=10), {}))
    assert set(learnability.run_task("growth", factor="m")["protocol"]) == {"growth in m"}
    with pytest.raises(ConfigurationError, match=r"delta=0\.2"):
        learnability.run(0.2)


def test_populations_state_the_gaps_of_the_theory():
    table = claims.populations().set_index("generator")
    first = table.loc["gap-controlled"]
    assert first[["d", "k", "m"]].tolist() == [60, 3, 4]
    assert first[["largest |gap|", "gap of groups"]].tolist() == pytest.approx([5.0, 3.5])
    assert 2.5 < first["gap of variances"] < 3.5  # what is removed of the mean difference takes a little of it
    assert (table.loc[["authors d=10", "authors d=30"], "gap of groups"] < 0.2).all()


def test_the_full_run_takes_the_place_of_this_build_and_rows_have_their_order():
    cells = [
        ("rare group", "x", "carry to 100 rows", "this build"),
        ("rare group", "x", "released", "this build"),
        ("slopes", "authors d=10", claims.EXACT, "full run"),
        ("slopes", "gap-controlled", claims.BOTH, "full run"),
        ("slopes", "gap-controlled", claims.BOTH, "this build"),
    ]
    rows = pd.DataFrame(cells, columns=["protocol", "dataset", "method", "source"])
    assert claims.best_source(rows).index.tolist() == [3, 2, 1, 0]


def test_without_stored_runs_there_is_no_answer(reads):
    empty = pd.DataFrame(columns=[*effects.COLUMNS, "task"])
    reads(claims, empty.astype({"protocol": str}))
    assert [answer() for answer in claims.claims.values()] == [None, None, None]


@pytest.mark.parametrize(
    ("rates", "equal_means", "together"),
    [
        ("holds", "holds", "holds"),
        ("holds", "does not hold", "holds in part"),
        ("does not hold", "does not hold", "does not hold"),
        ("holds in part", "holds", "holds in part"),
    ],
)
def test_learnability_is_judged_with_and_without_a_mean_gap(monkeypatch, rates, equal_means, together):
    monkeypatch.setitem(learnability.measured, "L03", lambda: Answer(rates, "Rates."))
    monkeypatch.setattr(learnability, "learns_equal_means", lambda: Answer(equal_means, "Equal means."))
    assert learnability.learnable() == Answer(together, "Rates. Equal means.")
    monkeypatch.setitem(learnability.measured, "L03", lambda: None)
    assert learnability.learnable() is None
    assert set(learnability.claims) == {"L01", "L02", "L03", "L04", "L06"}
